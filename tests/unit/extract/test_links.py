"""A page's links, in its order and each once, and what it says of itself."""

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.extract.charset import sniff_charset
from outrider.extract.directives import NOFOLLOW, NOINDEX
from outrider.extract.links import MOST_BYTES, PageFacts, read_page
from outrider.model.url import Url

HERE = Url("https://example.org/dir/page.html?q=1")

WHOLE = b"""<!DOCTYPE html><html><head><meta charset=utf-8><title>
  A &amp; B\n</title><base href="/other/"><meta name="Robots" content="noindex">
<meta name=outrider content="nofollow, noarchive"><meta name=otherbot content="nosnippet">
<meta http-equiv=Refresh content="5; URL='/moved'"><link rel="canonical" href="//example.org/canon">
<link rel=alternate type="application/rss+xml" href=feed.xml><link rel=alternate hreflang=de href=/de>
<link rel="stylesheet" href="/s.css"><link rel=next href="?page=2"></head><body>
<a href="one">1</a><a href="/two#x">2</a><A HREF=/two>2 again</A><a href="#top">up</a><a>none</a><a href>empty</a>
<a href="javascript:x()">js</a><a href="mailto:a@b">mail</a><a href="http://[">bad</a>
<a rel="ugc NoFollow" href="/paid">ad</a><a rel=nofollow href=/two>both</a>
<map><area href="three"></map><iframe src="//other.example/frame"></iframe></body></html>"""


def links_of(content: bytes, url: Url = HERE, charset: str | None = "utf-8") -> list[str]:
    return list(read_page(content, charset, url).links)


def test_a_page_tells_all_of_this() -> None:
    assert read_page(WHOLE, "utf-8", HERE, agent="Outrider") == PageFacts(
        links=(
            Url("https://example.org/moved"),
            Url("https://example.org/other/?page=2"),
            Url("https://example.org/other/one"),
            Url("https://example.org/two"),
            Url("https://example.org/other/three"),
            Url("https://other.example/frame"),
        ),
        written=6,
        nofollow=(Url("https://example.org/paid"),),
        feeds=(Url("https://example.org/other/feed.xml"),),
        canonical=Url("https://example.org/canon"),
        title="A & B",
        directives=frozenset({NOINDEX, NOFOLLOW, "noarchive"}),
        dropped=3,
        cut=False,
    )


@pytest.mark.parametrize("content", [b"", b" \n", b"\0", b"<", b"<!--", b"plain words", b"\x89PNG\r\n\x1a\n\0\0\0"])
def test_what_is_hardly_a_page_has_no_facts(content: bytes) -> None:
    assert read_page(content, None, HERE) == PageFacts()


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("<base href='http://other.example/x/y'>", "http://other.example/x/l"),
        ("<base target=_blank><base href=/b/><base href=/c/>", "https://example.org/b/l"),
        ("<base href='http://['>", "https://example.org/dir/l"),
        ("<base href='mailto:x'>", "https://example.org/dir/l"),
        ("<base href=''>", "https://example.org/dir/l"),
    ],
)
def test_the_first_base_that_is_a_url_holds_for_every_link(base: str, expected: str) -> None:
    before, after = links_of(f"<a href=l>x</a>{base}".encode()), links_of(f"{base}<a href=l>x</a>".encode())

    assert before == after == [expected]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0;url=/x", ["https://example.org/x"]),
        (" 3.5 , URL = '/x' ", ["https://example.org/x"]),
        ("1; /x", ["https://example.org/x"]),
        ("5", []),
        ("5;", []),
        ("5; url=", []),
        ("url=/x", []),
        ("5" + " " * 100_000, []),
    ],
)
def test_a_refresh_is_a_link(content: str, expected: list[str]) -> None:
    assert links_of(f'<meta http-equiv="refresh" content="{content}">'.encode()) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<title>One</title><title>Two</title>", "One"),
        ("<TITLE lang=en>\n One\t two&nbsp;three </TITLE>", "One two three"),
        ("<!-- <title>no</title> --><title>Yes</title>", "Yes"),
        ("<script>'<title>no</title>'</script><title>Yes</title>", "Yes"),
        ("<svg><title>icon</title></svg>", None),
        ("<title>Unclosed", "Unclosed"),
        ("<title> </title>", None),
        ("<p>none", None),
        (f"<title>{'x' * 5000}</title>", "x" * 300),
        ("<title>größer</title>", "größer"),
    ],
)
def test_a_title_is_one_line_of_the_first_title(content: str, expected: str | None) -> None:
    assert read_page(content.encode(), "utf-8", HERE).title == expected


@pytest.mark.parametrize(
    ("charset", "codec"),
    [("utf-8", "utf-8"), ("windows-1252", "cp1252"), ("utf-16le", "utf-16-le"), ("shift_jis", "cp932"), ("gbk", "gbk")],
)
def test_a_page_is_read_in_its_own_character_set(charset: str, codec: str) -> None:
    letter = "の" if charset in {"shift_jis", "gbk"} else "ö"

    facts = read_page(f"<title>{letter}</title><a href='/{letter}'>".encode(codec), charset, HERE)

    assert (facts.title, facts.links) == (letter, (Url(f"/{letter}", HERE),))


@pytest.mark.parametrize("charset", [None, "", "no-such-thing", "iso-8859-8-i", "x-user-defined", "replacement"])
def test_a_character_set_that_nobody_knows_costs_no_link(charset: str | None) -> None:
    assert links_of(b"<meta charset=utf-8><p>\xc3\xb6 \xff<a href=/x>", charset=charset) == ["https://example.org/x"]


def test_bytes_that_mean_nothing_cost_no_link() -> None:
    links = links_of(b"<p>\xff\xfe\x80<a href=/1>\0<a href=/2>\xc3<a href=/3>")

    assert links == ["https://example.org/1", "https://example.org/2", "https://example.org/3"]


def test_what_is_too_long_is_cut_and_said_to_be() -> None:
    facts = read_page(b"<a href=/first>" + b" " * MOST_BYTES + b"<a href=/last>", "utf-8", HERE)

    assert (facts.links, facts.cut) == ((Url("https://example.org/first"),), True)


def test_what_has_too_many_links_is_cut_and_said_to_be() -> None:
    page = "".join(f"<a href=/{number % 20}>" for number in range(100)).encode()

    whole, part = read_page(page, "utf-8", HERE, most_links=20), read_page(page, "utf-8", HERE, most_links=19)

    assert (len(whole.links), whole.cut) == (20, False)
    assert (len(part.links), part.cut) == (19, True)


def test_a_page_is_read_as_if_none_had_been_read_before() -> None:
    alone = read_page(b"<p><a href=one>", "utf-8", HERE)

    for before in (WHOLE, b"", b"\0", b"<svg><title>", b"<table><a href=/x>" * 300):
        read_page(before, "utf-8", HERE, most_links=5)

        assert read_page(b"<p><a href=one>", "utf-8", HERE) == alone


@given(st.binary(max_size=400), st.sampled_from([None, "utf-8", "utf-16le", "gbk", "iso-2022-jp", "nonsense"]))
def test_no_bytes_make_it_raise(content: bytes, charset: str | None) -> None:
    facts = read_page(content, charset, HERE)

    assert all(link == Url(link) for link in facts.links)


@given(
    st.lists(
        st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 60), st.sampled_from([b"", b"<", b">", b"'", b"\0"])),
        max_size=6,
    )
)
def test_no_mutilated_page_makes_it_raise(cuts: list[tuple[int, int, bytes]]) -> None:
    page = WHOLE
    for at, length, instead in cuts:
        page = page[:at] + instead + page[at + length :]

    facts = read_page(page, sniff_charset(page, None).name, HERE)

    assert all(link == Url(link) for link in (*facts.links, *facts.nofollow, *facts.feeds))


def test_nothing_of_a_page_waits_for_the_garbage_collector() -> None:
    """Thousands of pages would: fifty links each, and a look through all of them."""
    read_page(WHOLE, "utf-8", HERE)
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            read_page(WHOLE, "utf-8", HERE)
        left = gc.collect()
    finally:
        gc.enable()

    assert left == 0
