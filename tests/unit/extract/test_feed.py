"""A feed announces the pages of its items, whichever of the three languages it speaks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.extract.entries import Entry
from outrider.extract.feed import Feed, read_feed
from outrider.model.url import Url

HERE = Url("https://example.org/feed.xml")
RSS = b"""<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>News &nbsp; more</title><link>https://example.org/home</link><atom:link href="/feed.xml" rel="self"/>
<item><title>One</title><link>https://example.org/1?a=1&b=2</link>
<pubDate>Thu, 01 Jan 1970 00:01:00 GMT</pubDate></item>
<item><link><![CDATA[ /2 ]]></link><guid>https://example.org/other</guid><pubDate>soon</pubDate></item>
<item><guid>https://example.org/3</guid></item>
<item><guid isPermaLink="false">https://example.org/no</guid></item>
<item><guid>tag:example.org,3</guid><media:group><link>/no</link></media:group></item>
</channel></rss>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><channel rdf:about="/"><link>/home</link></channel>
<item rdf:about="/1"><link>/1</link><dc:date>1970-01-02</dc:date></item></rdf:RDF>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://example.org/blog/"><link href="/"/>
<entry><link rel="edit" href="/no"/><link href="1"/><updated>1970-01-01T00:01:00Z</updated>
<published>1970-01-01T00:00:00Z</published></entry>
<entry><link rel="alternate" type="text/html" href="/2"/><content type="xhtml"><link href="/no"/></content></entry>
</feed>"""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            RSS,
            [
                Entry(Url("https://example.org/1?a=1&b=2"), 60.0),
                Entry(Url("https://example.org/2")),
                Entry(Url("https://example.org/3")),
            ],
        ),
        (RDF, [Entry(Url("https://example.org/1"), 86400.0)]),
        (ATOM, [Entry(Url("https://example.org/blog/1"), 60.0), Entry(Url("https://example.org/2"))]),
    ],
)
def test_a_feed_announces_its_items(content: bytes, expected: list[Entry]) -> None:
    assert read_feed(content, HERE) == Feed(tuple(expected))


@pytest.mark.parametrize("content", [b"", b"<html>", b"<urlset/>", b"<!doctype html><feed>", b"feed", b"{}"])
def test_what_is_no_feed_is_none(content: bytes) -> None:
    assert read_feed(content, HERE) is None


def test_a_feed_that_breaks_off_gives_what_could_be_read() -> None:
    found = read_feed(RSS[: RSS.index(b"<item><guid>")], HERE)

    assert found is not None
    assert [entry.url for entry in found.pages] == ["https://example.org/1?a=1&b=2", "https://example.org/2"]


@given(
    st.sampled_from([RSS, RDF, ATOM]),
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 60), st.binary(max_size=3)), max_size=6),
)
def test_no_mutilated_feed_makes_it_raise(content: bytes, cuts: list[tuple[int, int, bytes]]) -> None:
    for at, length, instead in cuts:
        content = content[:at] + instead + content[at + length :]

    found = read_feed(content, HERE)

    assert found is None or all(entry.url == Url(entry.url) for entry in found.pages)


@given(st.text(max_size=70))
def test_no_date_makes_it_raise(date: str) -> None:
    content = f"<rss><item><link>/1</link><pubDate><![CDATA[{date}]]></pubDate></item></rss>"

    assert read_feed(content.encode(), HERE) is not None
