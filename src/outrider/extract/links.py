"""What does a page say of itself, and where does it lead? One pass over its text, no tree, and it never raises.

Links are resolved after the last tag, because `base` holds for all of them.
"""

import html
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import repeat
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.extract.charset import Charset, canonical, sniff_charset, to_text
from outrider.extract.directives import meta_directives
from outrider.extract.resolve import Base
from outrider.extract.tags import attributes_of, heard_tags
from outrider.model.url import Url

MOST_BYTES: Final = 2_097_152
MOST_LINKS: Final = 10_000
_TITLE: Final = 300
_TITLE_WRITTEN: Final = 4_096
"""Room for an entity of some length for each character that is kept, and for no number that `int` would refuse."""


Unknown: TypeAlias = Callable[[Base, Collection[str]], Iterable[tuple[str, int]]]
"""Of links as they are written in a page, those that are not known yet, each with the number it will be known by."""


class PageFacts(Struct, frozen=True):
    """Links in the order of the document, each once; one that is also written without nofollow is in `links` alone.

    `written` counts the links as they are written, also those that were known. `dropped` counts those that lead to no
    page: other schemes, texts that are no URLs. `cut`: the page was longer, or had more links, than were read. `ways`
    are the numbers of `links`, where there are any.
    """

    links: tuple[Url, ...] = ()
    ways: tuple[int, ...] = ()
    written: int = 0
    nofollow: tuple[Url, ...] = ()
    feeds: tuple[Url, ...] = ()
    canonical: Url | None = None
    title: str | None = None
    directives: frozenset[str] = frozenset()
    dropped: int = 0
    cut: bool = False


def read_page(
    content: bytes,
    charset: str | None,
    url: Url,
    *,
    agent: str = "outrider",
    most_links: int = MOST_LINKS,
    unknown: Unknown | None = None,
) -> PageFacts:
    """The facts of an HTML page. `charset` is what the visit found; where it is none that we know, we look again.

    `unknown` leaves out of `links` those that need not be resolved.
    """
    page = _as_text(content[:MOST_BYTES], charset)
    tags = _Tags(agent, most_links)
    links, keep = tags.links, tags.keep
    for name, written, end in heard_tags(page):
        if not name:
            keep(links, written)
        elif name in _READERS:
            _READERS[name](tags, attributes_of(written))
        elif name == "title" and not tags.in_svg and tags.title_at is None:
            tags.title_at = end
    return _facts(page, url, tags, unknown, cut=len(content) > MOST_BYTES)


def _facts(page: str, url: Url, tags: "_Tags", unknown: Unknown | None, *, cut: bool) -> PageFacts:
    base = Base(_base_url(url, tags.base))
    resolve = base.resolve
    links: dict[Url, int] = {}
    astray = 0
    for href, way in zip(tags.links, repeat(0)) if unknown is None else unknown(base, tags.links):
        link = resolve(href)
        if link is None:
            astray += 1
        else:
            links.setdefault(link, way)
    nofollow = _resolved(tags.nofollow, base)
    return PageFacts(
        links=tuple(links),
        ways=() if unknown is None else tuple(links.values()),
        written=len(tags.links) - astray,
        nofollow=tuple(link for link in dict.fromkeys(nofollow) if link not in links),
        feeds=tuple(dict.fromkeys(_resolved(tags.feeds, base))),
        canonical=base.resolve(tags.canonical) if tags.canonical else None,
        title=_title(page, tags.title_at) if tags.title_at is not None else None,
        directives=meta_directives(tags.robots) if tags.robots else frozenset(),
        dropped=astray + len(tags.nofollow) - len(nofollow),
        cut=cut or tags.cut,
    )


class _Tags:
    """It keeps texts as they are written, the first of its kind where one counts."""

    def __init__(self, agent: str, most_links: int) -> None:
        self.links: dict[str, None] = {}
        self.nofollow: dict[str, None] = {}
        self.feeds: dict[str, None] = {}
        self.robots: list[str] = []
        self.base: str | None = None
        self.canonical: str | None = None
        self.title_at: int | None = None
        self.in_svg = False
        self.cut = False
        self._named = frozenset({"robots", agent.lower()})
        self._room = most_links

    def on_anchor(self, attributes: Mapping[str, str]) -> None:
        href, rel = attributes.get("href"), attributes.get("rel")
        self.keep(self.nofollow if rel and "nofollow" in rel.lower().split() else self.links, href)

    def on_frame(self, attributes: Mapping[str, str]) -> None:
        self.keep(self.links, attributes.get("src"))

    def on_link(self, attributes: Mapping[str, str]) -> None:
        href, rel = attributes.get("href"), attributes.get("rel")
        if not href or not rel:
            return
        rels = rel.lower().split()
        if "canonical" in rels:
            self.canonical = self.canonical or href
        elif "next" in rels or "prev" in rels:
            self.keep(self.nofollow if "nofollow" in rels else self.links, href)
        elif "alternate" in rels and attributes.get("type", "").strip().lower() in _FEEDS:
            self.keep(self.feeds, href)

    def on_meta(self, attributes: Mapping[str, str]) -> None:
        content = attributes.get("content")
        if not content:
            return
        if attributes.get("name", "").strip().lower() in self._named:
            if len(self.robots) < _MOST_METAS:
                self.robots.append(content)
        elif attributes.get("http-equiv", "").strip().lower() == "refresh":
            target = _REFRESH.match(content)
            if target:
                self.keep(self.links, target["quoted"] or target["plain"])

    def on_base(self, attributes: Mapping[str, str]) -> None:
        if self.base is None:
            self.base = attributes.get("href")

    def on_svg(self, _attributes: Mapping[str, str]) -> None:
        # An image has titles of its own. What comes first decides.
        self.in_svg = True

    def keep(self, kind: dict[str, None], href: str | None) -> None:
        # A place in the same page is the one kind of link worth telling apart here: some pages have thousands.
        if not href or href[0] == "#":
            return
        if "#" in href:
            href = href[: href.index("#")]
        if href in kind:
            return
        if self._room:
            self._room -= 1
            kind[href] = None
        else:
            self.cut = True


# Of the class: one that held its own methods would wait for the garbage collector, with all links of its page.
_READERS: Final[Mapping[str, Callable[[_Tags, Mapping[str, str]], None]]] = {
    "a": _Tags.on_anchor,
    "area": _Tags.on_anchor,
    "link": _Tags.on_link,
    "meta": _Tags.on_meta,
    "iframe": _Tags.on_frame,
    "frame": _Tags.on_frame,
    "base": _Tags.on_base,
    "svg": _Tags.on_svg,
}
_FEEDS: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_MOST_METAS: Final = 32
# HTML Standard, "shared declarative refresh steps": a time, a separator, and `url=`, which may be left out.
_REFRESH: Final = re.compile(
    r"""\s*+[0-9.]++(?:\s*+[;,]\s*+|\s++)(?>(?:url\s*+=\s*+)?)(?:["'](?P<quoted>[^"']+)|(?P<plain>[^\s"'].*))""",
    re.IGNORECASE | re.DOTALL,
)
_TITLE_ENDS: Final = re.compile(r"</title", re.IGNORECASE)


def _as_text(content: bytes, charset: str | None) -> str:
    name = canonical(charset) if charset else None
    if name is None:
        name = sniff_charset(content, None).name
    page = content.decode("utf-8", "replace") if name == "utf-8" else to_text(content, Charset(name, "header"))
    return page.replace("\0", "\ufffd")


def _base_url(url: Url, href: str | None) -> Url:
    """HTML Standard 2.4.3: the first base element that has an href; one that cannot be resolved counts for nothing."""
    if not href:
        return url
    try:
        return url.resolve(href)
    except InvalidUrl:
        return url


def _resolved(hrefs: Iterable[str], base: Base) -> list[Url]:
    return [link for href in hrefs if (link := base.resolve(href)) is not None]


def _title(page: str, at: int) -> str | None:
    """In one line."""
    end = _TITLE_ENDS.search(page, at, at + _TITLE_WRITTEN)
    written = page[at : end.start() if end else at + _TITLE_WRITTEN]
    return " ".join(html.unescape(written).split())[:_TITLE].rstrip() or None
