"""A sitemap gives what could be read of it, and never more than the protocol allows."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.extract.entries import MOST_BYTES, MOST_ENTRIES, Entry
from outrider.extract.sitemap import Sitemap, read_sitemap, w3c_time
from outrider.model.url import Url

HERE = Url("https://example.org/sitemap.xml")
URLSET = b"""<?xml version="1.0" encoding="UTF-8"?>
<!-- made by hand -->
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> https://example.org/a?x=1&amp;y=2 </loc><lastmod>2024-05-01</lastmod><priority>0.8</priority></url>
  <url><image:image><image:loc>https://example.org/i.png</image:loc></image:image><loc>/b</loc>
    <lastmod>yesterday</lastmod><priority>7</priority></url>
  <url><lastmod>2024</lastmod></url>
  <url><loc><![CDATA[https://example.org/c?x=1&y=2]]></loc></url>
  <url><loc>https://example.org/a?x=1&amp;y=2</loc></url>
  <url><loc>mailto:a@example.org</loc></url>
</urlset>"""


def pages(content: bytes) -> list[str]:
    found = read_sitemap(content, HERE)
    return [entry.url for entry in found.pages] if found else []


def urls(*paths: str) -> bytes:
    return "".join(f"<url><loc>https://example.org{path}</loc></url>" for path in paths).encode()


def test_a_urlset_lists_pages() -> None:
    assert read_sitemap(URLSET, HERE) == Sitemap(
        pages=(
            Entry(Url("https://example.org/a?x=1&y=2"), 1714521600.0, 0.8),
            Entry(Url("https://example.org/b")),
            Entry(Url("https://example.org/c?x=1&y=2")),
        )
    )


def test_an_index_lists_further_sitemaps() -> None:
    content = (
        b"<sitemapindex><sitemap><loc>/s1.xml.gz</loc><lastmod>2024-05-01T00:00:00Z</lastmod></sitemap></sitemapindex>"
    )

    found = read_sitemap(content, HERE)

    assert found == Sitemap(listings=(Entry(Url("https://example.org/s1.xml.gz"), 1714521600.0),))


@pytest.mark.parametrize(
    "content",
    [
        b"<s:urlset xmlns:s='urn:x'><s:url><s:loc>/a</s:loc></s:url></s:urlset>",
        b"<s:urlset><s:url><s:loc>/a</s:loc></s:url></s:urlset>",
        b"\n <?xml version='1.0'?><UrlSet><URL><Loc>/a</Loc></URL></UrlSet>",
        b"\xef\xbb\xbf<urlset><url><loc>/a</loc></url></urlset>",
        "<?xml version='1.0' encoding='utf-16'?><urlset><url><loc>/a</loc></url></urlset>".encode("utf-16"),
        b"<?xml version='1.0' encoding='no-such'?><urlset><url><loc>/a</loc></url></urlset>",
        b"<!DOCTYPE urlset SYSTEM 'http://127.0.0.1/x.dtd'><urlset><url><loc>/a</loc></url></urlset>",
        gzip.compress(b"<urlset><url><loc>/a</loc></url></urlset>", mtime=0),
        gzip.compress(b"<urlset><url><lo", mtime=0) + gzip.compress(b"c>/a</loc></url></urlset>", mtime=0),
    ],
)
def test_a_sitemap_is_known_however_it_is_written(content: bytes) -> None:
    assert pages(content) == ["https://example.org/a"]


@pytest.mark.parametrize(
    "content",
    [
        b"<urlset>" + urls("/a", "/b"),
        b"<urlset>" + urls("/a", "/b") + b"<url><loc>https://exam",
        b"<urlset>" + urls("/a") + b"<url></urll>" + urls("/b") + b"</urlset>",
        b"<urlset>" + urls("/a") + b"\xff\x01" + urls("/b") + b"</urlset>",
        gzip.compress(b"<urlset>" + urls("/a", "/b") + bytes(range(256)) * 99)[:-40],
    ],
)
def test_broken_xml_gives_what_could_be_read(content: bytes) -> None:
    assert pages(content)[:2] == ["https://example.org/a", "https://example.org/b"]


def test_an_ampersand_that_was_not_escaped_is_part_of_the_url() -> None:
    assert pages(b"<urlset>" + urls("/?a=1&b=2&copy=3&amp;c=%26&#38;d") + b"</urlset>") == [
        "https://example.org/?a=1&b=2&copy=3&c=%26&d"
    ]


def test_an_article_in_another_character_set_is_read_in_it() -> None:
    content = "<?xml version='1.0' encoding='iso-8859-1'?><urlset><url><loc>/ö</loc></url></urlset>".encode("latin-1")

    assert pages(content) == ["https://example.org/%C3%B6"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html><body><urlset>",
        b"<!doctype html><p>",
        b"<rss/>",
        b"https://example.org/a",
        b"\x1f\x8b",
        b"<",
        b"\0<",
    ],
)
def test_what_is_no_sitemap_is_none(content: bytes) -> None:
    assert read_sitemap(content, HERE) is None


def test_lines_of_urls_are_a_sitemap_where_one_is_expected() -> None:
    content = b"\xef\xbb\xbfhttps://example.org/a\r\n\r\n  https://example.org/b \nhttps://[\nhttps://example.org/a\n"

    found = read_sitemap(content, HERE, expected=True)

    assert found == Sitemap(pages=(Entry(Url("https://example.org/a")), Entry(Url("https://example.org/b"))))
    assert read_sitemap(content, HERE) is None
    assert read_sitemap(b"Not found\nhttps://example.org/a", HERE, expected=True) is None


def test_more_entries_than_the_protocol_allows_are_cut() -> None:
    content = b"<urlset>" + urls(*(f"/{number}" for number in range(MOST_ENTRIES + 5))) + b"</urlset>"
    lines = b"\n".join(b"https://example.org/%d" % number for number in range(MOST_ENTRIES + 5))

    xml, text = read_sitemap(content, HERE), read_sitemap(lines, HERE, expected=True)

    assert xml is not None
    assert (len(xml.pages), xml.cut) == (MOST_ENTRIES, True)
    assert text is not None
    assert (len(text.pages), text.cut) == (MOST_ENTRIES, True)


def test_a_bomb_is_cut() -> None:
    bomb = gzip.compress(b"<urlset>" + urls("/a") + b" " * (MOST_BYTES + 1_000_000))

    found = read_sitemap(bomb, HERE)

    assert found == Sitemap(pages=(Entry(Url("https://example.org/a")),), cut=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970", 0.0),
        ("1970-02", 2678400.0),
        ("1970-01-02", 86400.0),
        ("1970-01-01T00:01Z", 60.0),
        ("1970-01-01T01:00:30.25+01:00", 30.0),
        ("1970-01-01 00:00:30", 30.0),
        ("1969-12-31T23:00:00-0100", 0.0),
        ("1970-13-01", None),
        ("1970-01-01T25:00Z", None),
        ("1970-01-01T00:00+99:00", None),
        ("0000-01-01", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_date_is_seconds_since_the_epoch(text: str, expected: float | None) -> None:
    assert w3c_time(text) == expected


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_make_it_raise(content: bytes, expected: bool) -> None:  # noqa: FBT001 - hypothesis draws it
    read_sitemap(b"<urlset>" + content, HERE, expected=expected)
    read_sitemap(content, HERE, expected=expected)
    read_sitemap(b"\x1f\x8b" + content, HERE, expected=expected)


@given(
    st.lists(
        st.tuples(st.integers(0, len(URLSET) - 1), st.integers(0, 60), st.sampled_from([b"", b"<", b"</url>", b"&x;"])),
        max_size=6,
    )
)
def test_no_mutilated_sitemap_makes_it_raise(cuts: list[tuple[int, int, bytes]]) -> None:
    content = URLSET
    for at, length, instead in cuts:
        content = content[:at] + instead + content[at + length :]

    found = read_sitemap(content, HERE)

    assert found is None or all(entry.url == Url(entry.url) for entry in found.pages)
