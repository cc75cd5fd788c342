"""Is this a list of URLs for crawlers: a sitemap, an index of sitemaps, a feed? Its first element tells.

HTML, and whatever else is no list, is told by its first bytes and costs a microsecond.
"""

from enum import StrEnum

from msgspec import Struct

from outrider.extract.entries import Entry, unpack
from outrider.extract.feed import feed_of
from outrider.extract.sitemap import INDEX, sitemap_of
from outrider.model.url import Url


class ListingKind(StrEnum):
    SITEMAP = "sitemap"
    INDEX = "sitemap_index"
    FEED = "feed"


class Listing(Struct, frozen=True):
    """`entries` are pages, or in an index further listings. `cut`: there was more than was read."""

    kind: ListingKind
    entries: tuple[Entry, ...] = ()
    cut: bool = False

    @property
    def pages(self) -> tuple[Url, ...]:
        return () if self.kind is ListingKind.INDEX else tuple(entry.url for entry in self.entries)

    @property
    def listings(self) -> tuple[Url, ...]:
        return tuple(entry.url for entry in self.entries) if self.kind is ListingKind.INDEX else ()


def read_listing(content: bytes, url: Url, *, expected: bool = False) -> Listing | None:
    """None when it is no list. Text with a URL on each line is one only where a sitemap is `expected`."""
    document = unpack(content)
    if feed := feed_of(document, url):
        return Listing(ListingKind.FEED, feed.pages, feed.cut)
    sitemap = sitemap_of(document, url, expected=expected)
    if sitemap is None:
        return None
    if document.root == INDEX:
        return Listing(ListingKind.INDEX, sitemap.listings, sitemap.cut)
    return Listing(ListingKind.SITEMAP, sitemap.pages, sitemap.cut)
