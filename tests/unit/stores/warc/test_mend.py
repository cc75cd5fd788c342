"""Where is a file cut, and what is listed then?"""

import pytest

from outrider.model.url import Url
from outrider.stores.warc.mend import Found, Mended, decide

URL = Url("http://example.com/")
LISTED = [Found(100, 200, b"1"), Found(200, 300, b"2")]
UNLISTED = [
    Found(300, 400, b"3", ("f3", (URL,))),
    Found(400, 500, b"4", ("f4", (URL,))),
    Found(500, 600, b"5", ("f5", (URL,))),
]


@pytest.mark.parametrize(
    ("settled", "end", "lines", "mended"),
    [
        ((0, 0, 0), 300, (b"1", b"2"), Mended(1, kept=2, cut=3, bytes_cut=350)),
        ((1, 0, 0), 400, (b"1", b"2", b"3"), Mended(1, kept=3, rescued=1, cut=2, bytes_cut=250)),
        ((1, 1, 1), 600, (b"1", b"2", b"3", b"4", b"5"), Mended(1, kept=5, rescued=3, bytes_cut=50)),
        ((0, 1, 0), 500, (b"1", b"2", b"4"), Mended(1, kept=3, rescued=1, cut=1, left=1, bytes_cut=150)),
    ],
)
def test_a_file_ends_with_its_last_settled_capture(
    settled: tuple[int, ...], end: int, lines: tuple[bytes, ...], mended: Mended
) -> None:
    plan = decide(650, [*LISTED, *UNLISTED], [True, True, *map(bool, settled)])

    assert (plan.end, plan.lines, plan.mended) == (end, lines, mended)


def test_a_file_without_a_settled_capture_has_no_end() -> None:
    plan = decide(650, UNLISTED, [False, False, False])

    assert (plan.end, plan.lines, plan.mended) == (0, (), Mended(1, cut=3, bytes_cut=650))
