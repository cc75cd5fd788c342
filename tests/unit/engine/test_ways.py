"""Two links of one way lead to one page, wherever they stand; and one that has the way of a URL leads to it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outrider.engine import ways as module
from outrider.engine.ways import NO_WAY, ways
from outrider.errors import InvalidUrl
from outrider.extract.resolve import Base
from outrider.model.url import Url

BASES = st.sampled_from(
    [
        "http://example.org/",
        "http://example.org/a/",
        "http://example.org/a/b",
        "http://example.org/a/b?c=/d/",
        "http://example.org/a/b/c",
        "http://example.org:8080/a/b",
        "https://example.org/a/b",
        "https://other.example/a/b",
    ]
)
HREFS = st.text(st.sampled_from(list("ah/.?#: \t\\é%@")), min_size=1, max_size=8) | st.sampled_from(
    ["http://example.org/x", "https://example.org/x", "http:x", "https:x", "http:/x", "//example.org/x", "?x", "httpx"]
)


@given(BASES, BASES, HREFS)
def test_one_way_leads_to_one_page(one: str, other: str, href: str) -> None:
    here, there = Base(Url(one)), Base(Url(other))

    if ways(here, [href], 1) == ways(there, [href], 1) != [NO_WAY]:
        assert here.resolve(href) == there.resolve(href)


@given(BASES, HREFS)
@example("http://example.org/a/b", "//example.org/x")
@example("http://example.org/a/b", "http:x")
@example("http://example.org/a/b", "mailto:x")
@example("http://example.org/a/b", "../x")
def test_the_way_of_a_url_leads_to_it(page: str, href: str) -> None:
    """Nothing is ever taken for known that is not: here a hash is the text itself."""
    base = Base(Url(page))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "xxh3_64_intdigest", lambda text, _key: text.decode())
        text = str(ways(base, [href], 1)[0])

    try:
        is_url = Url(text) == text
    except InvalidUrl:
        is_url = False
    if is_url:
        assert base.resolve(href) == text


def test_it_is_as_wide_as_the_link_allows() -> None:
    pages = [Base(Url(f"http://{page}")) for page in ("a.example/x/1", "a.example/x/2", "a.example/y/1", "b.example/")]

    met = {href: len({ways(page, [href], 1)[0] for page in pages}) for href in ("http://c.example/", "/c", "c", "?c")}

    assert met == {"http://c.example/": 1, "/c": 2, "c": 3, "?c": 1}
    assert ways(pages[0], ["?c", " c"], 1) == [NO_WAY, NO_WAY]


def test_nobody_can_tell_what_is_known_without_the_key() -> None:
    base = Base(Url("http://a.example/"))

    assert len({ways(base, ["/x"], key)[0] for key in range(10)}) == 10
