"""A slice ends when enough was found or enough was looked at, and says where to go on."""

import pytest
from msgspec.msgpack import Decoder

from outrider.model.ledger import Entry, Search, State
from outrider.model.url import Url
from outrider.stores.bookmark import Bookmarks
from outrider.stores.slicing import Gathering, slice_of

BOOKMARKS = Bookmarks("lines", Decoder(int))
LINES = [(n, Entry(Url(f"http://a.org/{n}"), State.PENDING, "a.org") if n % 2 else None) for n in range(10)]


@pytest.mark.parametrize(
    ("most", "look", "found", "looked", "last"),
    [
        (100, 100, [1, 3, 5, 7, 9], 10, None),
        (5, 100, [1, 3, 5, 7, 9], 10, None),
        (2, 100, [1, 3], 4, 3),
        (100, 5, [1, 3], 5, 4),
        (100, 10, [1, 3, 5, 7, 9], 10, None),
        (0, 0, [], 1, 0),
    ],
)
def test_a_slice_ends_with_the_line_that_filled_it(
    most: int, look: int, found: list[int], looked: int, last: int | None
) -> None:
    one = slice_of(LINES, Gathering(Search(), most=most, look=look), BOOKMARKS)

    assert [entry.url for entry in one.entries] == [f"http://a.org/{n}" for n in found]
    assert one.looked_at == looked
    assert (one.after and BOOKMARKS.read(one.after)) == last
