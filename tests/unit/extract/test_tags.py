"""Which tags a page has is what the HTML Standard's tokenizer says, whatever the page."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from outrider.extract.tags import attributes_of, heard_tags

PIECES = st.sampled_from(
    [
        *"<>'\"=/-!?&;#é1 \n",
        *("</", "<!", "<?", "<!--", "-->", "--!>", "<!-->", "<!--->", "<![CDATA[", "]]>"),
        *("<p", "<a", "<A", "<a ", "<areas>", "<ar>", "<b>", "</p>", "</a >", "<svg>", "<scripty>", "<a/href=x>"),
        *("href=", 'href="x"', "HREF='y'", " href=z", " rel=nofollow", "<link rel=next href=n>", "<base href=/b/>"),
        *("<iframe src=f>", "</iframe>", "<frame src=g>", "<meta name=robots content=none>", "<plaintext>"),
        *("<script>", "</script>", "<script ", "</script/>", "<style>", "</style >", "<textarea>", "</TEXTAREA>"),
        *("<title>", "</title>", "<xmp>", "</xmp>", "<noembed>", "</noembed>", "<noframes>", "</noframes>"),
        *("&amp;", "&ampx", "&amp=", "&copy", "&copy=1", "&notit;", "&#65;", "&#x41", "&#1;", "&#128;", "&#0;"),
        *("&#xd800;", "&#99999999999999;", "<p title='<a href=no>'>", '<p title="a>b">'),
    ]
)
HEARD = frozenset(
    {"a", "area", "base", "frame", "iframe", "link", "meta", "noembed", "noframes", "plaintext", "script", "style"}
    | {"svg", "textarea", "title", "xmp"}
)


def read(page: str) -> list[tuple[str, dict[str, str]]]:
    return [(name or "a", attributes_of(text) if name else {"href": text}) for name, text, _ in heard_tags(page)]


class Target:
    """Another tokenizer's start tags: those that are heard here."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, dict[str, str]]] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in HEARD:
            self.heard.append((tag, dict(attributes)))

    def close(self) -> list[tuple[str, dict[str, str]]]:
        return self.heard


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<a href="/x">', [("a", {"href": "/x"})]),
        ("<A\nHREF = '/x'/>", [("a", {"href": "/x"})]),
        ("<a href=/x/>", [("a", {"href": "/x/"})]),
        ('<a class="b" href="/x" title="y">', [("a", {"href": "/x"})]),
        ('<a rel="nofollow" href="/x">', [("a", {"rel": "nofollow", "href": "/x"})]),
        ('<a href="/x" href="/y">', [("a", {"href": "/x"})]),
        ("<a href>", [("a", {"href": ""})]),
        ("<a href=>", [("a", {"href": ""})]),
        ("<a a='b'href=/x>", [("a", {"a": "b", "href": "/x"})]),
        ("<a =href=/x>", [("a", {"=href": "/x"})]),
        ("<a href='/x", []),
        ("<a href=/x", []),
        ("<abbr href=/x><ahref=/x><a.b>", []),
        ("<p title='<a href=/no>'><p title=\"<a href=/no>\"><p '<a href=/x>", []),
        ("<p it's><a href=/x>", [("a", {"href": "/x"})]),
        ("<!-- <a href=/no> --><a href=/x>", [("a", {"href": "/x"})]),
        ("<!--><a href=/x><!---><base>", [("a", {"href": "/x"}), ("base", {})]),
        ("<!-- <a href=/no> --!><a href=/x>", [("a", {"href": "/x"})]),
        ("<!doctype html 'a>'><a href=/x>", [("a", {"href": "/x"})]),
        ("<![CDATA[<a href=/no>]]><?a><a href=/x>", [("a", {"href": "/x"})]),
        ("</ a><a href=/x></><base>", [("a", {"href": "/x"}), ("base", {})]),
        ("a < b <a href=/x><<base>", [("a", {"href": "/x"}), ("base", {})]),
        ("<style><a href=/no></STYLE ><a href=/x>", [("style", {}), ("a", {"href": "/x"})]),
        ("<style></styles><a href=/no></style><base>", [("style", {}), ("base", {})]),
        ("<script>'<a href=/no>'</script><base>", [("script", {}), ("base", {})]),
        ("<script><!--<script></script><a href=/no></script><base>", [("script", {}), ("base", {})]),
        ("<script><!--<script>--></script><base>", [("script", {}), ("base", {})]),
        ("<script><!--></script><base>", [("script", {}), ("base", {})]),
        ("<plaintext><a href=/no>", [("plaintext", {})]),
    ],
)
def test_a_page_is_split_as_the_standard_says(page: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    assert read(page) == expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?a=1&amp;b=2", "?a=1&b=2"),
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("?a=1&copyright", "?a=1&copyright"),
        ("?a=1&copy", "?a=1©"),
        ("?a=1&nosuch;", "?a=1&nosuch;"),
        ("&#x41;&#66&#0;&#128;&#1;", "AB\ufffd€\x01"),
        ("&#" + "9" * 5_000, "\ufffd"),
        ("&&amp;;", "&&;"),
    ],
)
def test_references_mean_what_they_mean_in_a_value(written: str, meant: str) -> None:
    assert attributes_of(f' x="{written}"') == {"x": meant}


@given(st.lists(PIECES, max_size=30).map("".join))
def test_another_tokenizer_finds_the_same_tags(page: str) -> None:
    parser = etree.HTMLParser(target=cast("Any", Target()), encoding="utf-8")
    expected = etree.fromstring(f" {page}".encode(), parser)

    found = list(heard_tags(page))

    assert [name or "a" for name, _, _ in found] == [name for name, _ in expected]
    for (name, written, _), (_, theirs) in zip(found, expected, strict=True):
        if name:
            assert attributes_of(written) == theirs
        else:
            assert (written, None) == (theirs["href"], theirs.get("rel"))
