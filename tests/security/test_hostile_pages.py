"""No page, sitemap or feed can stop us: the work grows with the bytes, and both have an end.

A hundred kilobytes of each go in, and two megabytes. What takes the square of that does not fail here: it does not come
back. What can be counted is: calls of Python, which grow as the page does, and never faster.
"""

import gzip
import sys
from collections.abc import Callable
from types import FrameType

import pytest
from tests.security.hostile_pages import PAGES, REACHED

from outrider.extract.entries import MOST_EVENTS
from outrider.extract.links import MOST_BYTES, MOST_LINKS, read_page
from outrider.extract.listing import read_listing
from outrider.extract.sitemap import read_sitemap
from outrider.model.url import Url

HERE = Url("https://example.org/dir/page.html")


def calls(act: Callable[[], object]) -> int:
    """How many calls, of Python and of C, it takes."""
    seen = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal seen
        seen += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        act()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", PAGES)
def test_the_work_grows_no_faster_than_the_page(name: str) -> None:
    small, large = PAGES[name](75_000), PAGES[name](150_000)
    # On hosts of their own: where links lead is remembered.
    here, there = (Url(f"https://{size}.{name.replace(' ', '-').replace(',', '')}.example/x/") for size in (75, 150))

    few, many = calls(lambda: read_page(small, "utf-8", here)), calls(lambda: read_page(large, "utf-8", there))

    assert many <= 2.1 * few + 200
    assert many <= 2 * len(large)


@pytest.mark.parametrize("charset", ["utf-8", "windows-1252", "utf-16le"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_largest_size_comes_back(name: str, charset: str) -> None:
    page = PAGES[name](MOST_BYTES * 9 // 8)

    facts = read_page(page, charset, HERE)

    assert facts.cut
    assert len(facts.links) <= MOST_LINKS
    assert facts.title is None or len(facts.title) <= 300
    assert len(facts.directives) <= 32 * 2_000


@pytest.mark.parametrize("name", REACHED)
def test_what_comes_behind_a_trick_is_still_read(name: str) -> None:
    facts = read_page(REACHED[name](75_000), "utf-8", HERE)

    assert facts.links[-1] == "https://example.org/after"
    assert not facts.cut


LAUGHS = (
    b'<!DOCTYPE urlset [<!ENTITY l0 "ha">'
    + b"".join(b'<!ENTITY l%d "%s">' % (level, b"&l%d;" % (level - 1) * 10) for level in range(1, 12))
    + b"]>"
)
LAST = b"<url><loc>/after</loc></url></urlset>"


@pytest.mark.parametrize(
    "content",
    [
        LAUGHS + b"<urlset><url><loc>/x&l11;</loc></url><url><loc a='&l11;'>/after</loc></url></urlset>",
        b'<!DOCTYPE urlset [<!ENTITY e SYSTEM "file:///etc/hostname">]><urlset><url><loc>/x?&e;</loc></url>' + LAST,
        b'<!DOCTYPE urlset [<!ENTITY % e SYSTEM "http://127.0.0.1:9/e.dtd"> %e;]><urlset>' + LAST,
        b'<!DOCTYPE urlset SYSTEM "file:///dev/zero"><urlset><url><loc>/x</loc></url>' + LAST,
    ],
)
def test_a_sitemap_expands_nothing_and_opens_nothing(content: bytes) -> None:
    found = read_sitemap(content, HERE)

    assert found is not None
    assert [entry.url.path for entry in found.pages][-1] == "/after"
    assert all(len(entry.url) < 80 for entry in found.pages)


@pytest.mark.parametrize(
    "unit", [b"<url>", b"</url>", b"<a/>", b"&", b"&#65;", b"<![CDATA[]]>", b"<!---->", b" a='1'", b"<", b"\0", b"\xff"]
)
@pytest.mark.parametrize("root", [b"<urlset>", b"<rss><item><link>", b"<urlset ", b"<sitemapindex><!DOCTYPE ["])
def test_a_listing_of_one_megabyte_of_anything_comes_back(root: bytes, unit: bytes) -> None:
    found = read_listing(root + unit * (1_000_000 // len(unit)), HERE)

    assert found is None or found.entries == () or len(found.entries) == 1


def test_a_listing_is_listened_to_only_so_long() -> None:
    content = gzip.compress(b"<urlset><url><loc>/a</loc></url>" + b"<a/>" * (MOST_EVENTS + 10))

    found = read_listing(content, HERE)

    assert found is not None
    assert (found.pages, found.cut) == ((Url("https://example.org/a"),), True)
