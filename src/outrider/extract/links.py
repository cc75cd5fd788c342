"""What does a page say of itself, and where does it lead? One pass over its bytes, no tree, and it never raises.

The parser tells of start tags only. Text would cost a quarter more for the title alone, which is cut out of the bytes
instead. A target class keeps the work linear whatever the page: a tree has a limit of 256 open elements, behind which
links are lost, and other parsers can be stopped for seconds by a page of 75 KB. Links are resolved after the last tag,
because `base` holds for all of them.
"""

import html
import re
from collections.abc import Iterable, Mapping
from inspect import Parameter, Signature
from typing import Any, Final, cast

from lxml import etree
from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.extract.charset import Charset, canonical, sniff_charset, to_text
from outrider.extract.directives import meta_directives
from outrider.extract.resolve import Base
from outrider.model.url import Url

MOST_BYTES: Final = 2_097_152
MOST_LINKS: Final = 10_000
_TITLE: Final = 300
_TITLE_WITHIN: Final = 262_144


class PageFacts(Struct, frozen=True):
    """Links in the order of the document, each once; one that is also written without nofollow is in `links` alone.

    `dropped` counts links that lead to no page: other schemes, texts that are no URLs. `cut`: the page was longer, or
    had more links, than were read.
    """

    links: tuple[Url, ...] = ()
    nofollow: tuple[Url, ...] = ()
    feeds: tuple[Url, ...] = ()
    canonical: Url | None = None
    title: str | None = None
    directives: frozenset[str] = frozenset()
    dropped: int = 0
    cut: bool = False


def read_page(
    content: bytes, charset: str | None, url: Url, *, agent: str = "outrider", most_links: int = MOST_LINKS
) -> PageFacts:
    """The facts of an HTML page. `charset` is what the visit found; where it is none that we know, we look again."""
    page, cut = _as_utf_8(content, charset)
    try:
        parser, tags = _READY.pop()
    except IndexError:
        parser, tags = _new_parser()
    tags.begin(agent, most_links)
    try:
        etree.fromstring(page, parser)
    except etree.LxmlError:
        # The parser gave up, which it may do on bytes that are no page at all; what it told before holds. Nobody says
        # in which state it is now, so the next page gets another.
        return _facts(page, url, tags, cut=True)
    facts = _facts(page, url, tags, cut=cut)
    _READY.append((parser, tags))
    return facts


def _facts(page: bytes, url: Url, tags: "_Tags", *, cut: bool) -> PageFacts:
    base = Base(_base_url(url, tags.base))
    dropped = 0
    links: dict[Url, None] = {}
    nofollow: dict[Url, None] = {}
    resolve = base.resolve
    for hrefs, found in ((tags.links, links), (tags.nofollow, nofollow)):
        for href in hrefs:
            link = resolve(href)
            if link is None:
                dropped += 1
            else:
                found[link] = None
    return PageFacts(
        links=tuple(links),
        nofollow=tuple(link for link in nofollow if link not in links),
        feeds=_resolved(tags.feeds, base),
        canonical=base.resolve(tags.canonical) if tags.canonical else None,
        title=_title(page) if tags.has_title else None,
        directives=meta_directives(tags.robots) if tags.robots else frozenset(),
        dropped=dropped,
        cut=cut or tags.cut,
    )


def _new_parser() -> "tuple[etree.HTMLParser, _Tags]":
    tags = _Tags()
    # The stub wants a target with every method. What a target has not is not called, and that is the point.
    return etree.HTMLParser(target=cast("Any", tags), encoding="utf-8"), tags


class _Tags:
    """The parser's target. It keeps texts as they are written, the first of its kind where one counts."""

    def begin(self, agent: str, most_links: int) -> None:
        """Another page: nothing is known of it."""
        self.links: dict[str, None] = {}
        self.nofollow: dict[str, None] = {}
        self.feeds: dict[str, None] = {}
        self.robots: list[str] = []
        self.base: str | None = None
        self.canonical: str | None = None
        self.has_title = False
        self.cut = False
        self._in_svg = False
        self._named = frozenset({"robots", agent.lower()})
        self._room = most_links

    def __init__(self) -> None:
        self.begin("", 0)
        readers = {
            "a": self._on_anchor,
            "area": self._on_anchor,
            "link": self._on_link,
            "meta": self._on_meta,
            "iframe": self._on_frame,
            "frame": self._on_frame,
            "base": self._on_base,
            "title": self._on_title,
            "svg": self._on_svg,
        }

        def start(tag: str, attributes: Mapping[str, str]) -> None:
            if tag in readers:
                readers[tag](attributes)

        # The parser asks of every target whether it takes two arguments or three: here is the answer.
        vars(start)["__signature__"] = _SIGNATURE
        self.start = start

    def close(self) -> None:
        """Nothing is built, so there is nothing to hand out."""

    def _on_anchor(self, attributes: Mapping[str, str]) -> None:
        href = attributes.get("href")
        # A place in the same page is the one kind of link worth telling apart here: some pages have thousands.
        if href and href[0] != "#":
            rel = attributes.get("rel")
            self._keep(self.nofollow if rel and "nofollow" in rel.lower().split() else self.links, href)

    def _on_frame(self, attributes: Mapping[str, str]) -> None:
        src = attributes.get("src")
        if src:
            self._keep(self.links, src)

    def _on_link(self, attributes: Mapping[str, str]) -> None:
        href, rel = attributes.get("href"), attributes.get("rel")
        if not href or not rel:
            return
        rels = rel.lower().split()
        if "canonical" in rels:
            self.canonical = self.canonical or href
        elif "next" in rels or "prev" in rels:
            self._keep(self.nofollow if "nofollow" in rels else self.links, href)
        elif "alternate" in rels and attributes.get("type", "").strip().lower() in _FEEDS:
            self._keep(self.feeds, href)

    def _on_meta(self, attributes: Mapping[str, str]) -> None:
        content = attributes.get("content")
        if not content:
            return
        if attributes.get("name", "").strip().lower() in self._named:
            if len(self.robots) < _MOST_METAS:
                self.robots.append(content)
        elif attributes.get("http-equiv", "").strip().lower() == "refresh":
            target = _REFRESH.match(content)
            if target:
                self._keep(self.links, target["quoted"] or target["plain"])

    def _on_base(self, attributes: Mapping[str, str]) -> None:
        if self.base is None:
            self.base = attributes.get("href")

    def _on_title(self, _attributes: Mapping[str, str]) -> None:
        self.has_title = self.has_title or not self._in_svg

    def _on_svg(self, _attributes: Mapping[str, str]) -> None:
        # An image has titles of its own. What comes first decides, for the bytes are searched for the first title.
        self._in_svg = True

    def _keep(self, kind: dict[str, None], href: str) -> None:
        if href in kind:
            return
        if self._room:
            self._room -= 1
            kind[href] = None
        else:
            self.cut = True


_READY: Final[list[tuple[etree.HTMLParser, _Tags]]] = []
"""Parsers that nobody uses just now, one for each thread at most. Making one takes a fifth of reading a plain page."""

_SIGNATURE: Final = Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("tag", "attributes")])
_FEEDS: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_MOST_METAS: Final = 32
# HTML Standard, "shared declarative refresh steps": a time, a separator, and `url=`, which may be left out.
_REFRESH: Final = re.compile(
    r"""\s*+[0-9.]++(?:\s*+[;,]\s*+|\s++)(?:url\s*+=\s*+)?+(?:["'](?P<quoted>[^"']+)|(?P<plain>[^\s"'].*))""",
    re.IGNORECASE | re.DOTALL,
)
_TITLE_AT: Final = re.compile(
    rb"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1|\Z)|<(title)(?:[\t\n\f\r /][^<>]*)?>", re.IGNORECASE | re.DOTALL
)
_TITLE_ENDS: Final = re.compile(rb"</title", re.IGNORECASE)


def _as_utf_8(content: bytes, charset: str | None) -> tuple[bytes, bool]:
    """Of a known length and in the one encoding that the parser is told of; was something cut?"""
    page = content[:MOST_BYTES]
    name = canonical(charset) if charset else None
    if name is None:
        name = sniff_charset(page, None).name
    if name != "utf-8":
        page = to_text(page, Charset(name, "header")).encode("utf-8", "replace")[: 2 * MOST_BYTES]
    return page, len(content) > MOST_BYTES


def _base_url(url: Url, href: str | None) -> Url:
    """HTML Standard 2.4.3: the first base element that has an href; one that cannot be resolved counts for nothing."""
    if not href:
        return url
    try:
        return url.resolve(href)
    except InvalidUrl:
        return url


def _resolved(hrefs: Iterable[str], base: Base) -> tuple[Url, ...]:
    return tuple(dict.fromkeys(link for href in hrefs if (link := base.resolve(href)) is not None))


def _title(page: bytes) -> str | None:
    """The text of the first title that is in no comment and no script, in one line."""
    for found in _TITLE_AT.finditer(page, 0, _TITLE_WITHIN):
        if found[2]:
            start = found.end()
            # Room for a character of four bytes, or an entity of some length, for each that is kept.
            end = _TITLE_ENDS.search(page, start, start + 16 * _TITLE)
            raw = page[start : end.start() if end else start + 16 * _TITLE]
            return " ".join(html.unescape(raw.decode("utf-8", "replace")).split())[:_TITLE].rstrip() or None
    return None
