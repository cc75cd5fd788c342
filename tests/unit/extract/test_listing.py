"""The first element tells what a document lists; most documents list nothing."""

import gzip

import pytest

from outrider.extract.listing import Listing, ListingKind, read_listing
from outrider.model.url import Url

HERE = Url("https://example.org/x")


def kind_and_urls(listing: Listing | None) -> tuple[ListingKind, list[str], list[str]] | None:
    return (listing.kind, list(listing.pages), list(listing.listings)) if listing else None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"<urlset><url><loc>/a</loc></url></urlset>", (ListingKind.SITEMAP, ["https://example.org/a"], [])),
        (
            gzip.compress(b"<sitemapindex><sitemap><loc>/a</loc></sitemap></sitemapindex>", mtime=0),
            (ListingKind.INDEX, [], ["https://example.org/a"]),
        ),
        (b"<rss><item><link>/a</link></item></rss>", (ListingKind.FEED, ["https://example.org/a"], [])),
        (b"<feed/>", (ListingKind.FEED, [], [])),
        (b"<!DOCTYPE html><html><urlset><url><loc>/a</loc></url></urlset>", None),
        (b"<svg/>", None),
        (b"https://example.org/a", None),
        (b"", None),
    ],
)
def test_the_first_element_tells(content: bytes, expected: tuple[ListingKind, list[str], list[str]] | None) -> None:
    assert kind_and_urls(read_listing(content, HERE)) == expected


def test_lines_are_a_listing_where_one_is_expected() -> None:
    found = read_listing(b"https://example.org/a\nhttps://example.org/b", HERE, expected=True)

    assert kind_and_urls(found) == (ListingKind.SITEMAP, ["https://example.org/a", "https://example.org/b"], [])
