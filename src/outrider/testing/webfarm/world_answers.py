"""What does the server say at a node of a world? The description becomes bytes; nothing is decided here."""

import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

from outrider.testing.webfarm.behaviours import HTML, Fixed, page
from outrider.testing.webfarm.encodings import bomb, encode, mislabelled
from outrider.testing.webfarm.faults import (
    broken_chunks,
    close_early,
    endless_body,
    garbage_status_line,
    hang,
    header_bomb,
    reset,
)
from outrider.testing.webfarm.generated import prose
from outrider.testing.webfarm.kinds import Behaviour, Place
from outrider.testing.webfarm.waits import dribble
from outrider.testing.webfarm.wire import Asked, Reply, render
from outrider.testing.webfarm.world_nodes import (
    Fault,
    Faulty,
    Link,
    Listing,
    Page,
    Redirect,
    Robots,
    Spelling,
    Spot,
    Status,
)

_DATE: Final = "Sun, 06 Nov 2005 08:49:37 GMT"
_MIB: Final = 1_048_576
_BROKEN: Final = 0
"""As a status: the answer is no whole answer."""


class Answer(Struct, frozen=True):
    """`status` is what the log will say; `retry_after` what the site asked for with it."""

    behaviour: Behaviour
    status: int
    retry_after: float | None = None


Answerable: TypeAlias = Page | Redirect | Status | Robots | Listing | Faulty


def answer(node: Answerable | None, asked: Asked, place: Place) -> Answer:
    match node:
        case Page():
            return _page(node, asked, place)
        case Redirect():
            return _redirect(node, asked, place)
        case Status(code):
            return said(code)
        case Robots():
            return _whole(200, "text/plain", robots_txt(node, asked, place))
        case Listing():
            return _whole(
                200, "application/gzip" if node.zipped else "application/xml", listing_body(node, asked, place)
            )
        case Faulty(fault):
            return _faulty(fault)
        case None:
            return said(404)
        case _:
            assert_never(node)


def said(code: int, retry_after: int | None = None) -> Answer:
    """A bare status."""
    headers = {"Content-Type": "text/plain"} | ({} if retry_after is None else {"Retry-After": str(retry_after)})
    return Answer(Fixed(render(code, headers, b"so be it")), code, retry_after)


def cut_off() -> Answer:
    """The connection is reset before a byte of an answer."""
    return Answer(reset(), _BROKEN)


def html(node: Page, asked: Asked, place: Place) -> bytes:
    """The page itself, at most `size` long unless its links alone are longer."""
    base = f'<base href="{node.base}">' if node.base else ""
    canonical = f'<link rel="canonical" href="{asked.target}">' if node.canonical else ""
    feed = f'<link rel="alternate" type="application/rss+xml" href="{node.feed}">' if node.feed else ""
    start = node.base or asked.path
    items = "\n".join([_item(link, start, place, tls=asked.tls) for link in node.links])
    top = (
        f"<!doctype html><html><head><title>Page {node.number}</title>{base}{canonical}{feed}</head>"
        f"<body><h1>Page {node.number}</h1><ul>\n{items}\n</ul><p>"
    ).encode()
    rest = max(0, node.size - len(top))
    offset = node.number * 97 % 4096
    return top + prose(node.size)[offset : offset + rest]


def href(link: Link, start: str, place: Place, *, tls: bool) -> str:
    """The link as its author spells it, on a page whose relative links begin at the path `start`."""
    target = link.to.target
    match link.spelling:
        case Spelling.ROOTED:
            return target
        case Spelling.ABSOLUTE:
            return place.url(link.to.host, target, tls=tls)
        case Spelling.RELATIVE:
            return "../" * (start.count("/") - 1) + target[1:] or "./"
        case Spelling.FRAGMENT:
            return f"{target}#part"
        case Spelling.SCHEMELESS:
            return place.url(link.to.host, target, tls=tls).partition(":")[2]
        case Spelling.DOTTED:
            return f"/by/./way/../..{target}"
        case _:
            assert_never(link.spelling)


def robots_txt(node: Robots, asked: Asked, place: Place) -> bytes:
    lines = ["User-agent: greedybot", "Disallow: /", "", "User-agent: *"]
    lines += [f"Disallow: {rule}" for rule in node.disallow] or ["Disallow:"]
    lines += [f"Allow: {rule}" for rule in node.allow]
    if node.crawl_delay is not None:
        lines.append(f"Crawl-delay: {node.crawl_delay:g}")
    lines += ["", *(f"Sitemap: {_url(spot, asked, place)}" for spot in node.sitemaps)]
    return "\n".join(lines).encode() + b"\n" + b"# and so on and so on and so on\n" * (node.padding // 32)


def listing_body(node: Listing, asked: Asked, place: Place) -> bytes:
    urls = [_url(spot, asked, place) for spot in node.entries]
    match node.kind:
        case "urlset":
            text = _sitemap("urlset", "url", urls)
        case "index":
            text = _sitemap("sitemapindex", "sitemap", urls)
        case "rss":
            items = "".join(f"<item><title>News</title><link>{url}</link></item>" for url in urls)
            text = f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{items}</channel></rss>'
        case _:
            assert_never(node.kind)
    return encode(text.encode(), "gzip") if node.zipped else text.encode()


def _sitemap(root: str, each: str, urls: list[str]) -> str:
    rows = "".join(f"<{each}><loc>{url}</loc></{each}>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="{space}">{rows}</{root}>'


def _item(link: Link, start: str, place: Place, *, tls: bool) -> str:
    rel = ' rel="nofollow"' if link.nofollow else ""
    return f'<li><a href="{href(link, start, place, tls=tls)}"{rel}>a page</a>'


def _url(spot: Spot, asked: Asked, place: Place) -> str:
    return place.url(spot.host, spot.target, tls=asked.tls)


def _whole(code: int, content_type: str, body: bytes) -> Answer:
    return Answer(Fixed(render(code, {"Content-Type": content_type}, body)), code)


def _page(node: Page, asked: Asked, place: Place) -> Answer:
    headers = {"Content-Type": HTML}
    if node.validator == "etag":
        headers["ETag"] = etag = f'"{node.seed}-{node.number}"'
        if asked.header("If-None-Match") == etag:
            return Answer(Fixed(render(304, headers)), 304)
    elif node.validator == "date":
        headers["Last-Modified"] = _DATE
        if asked.header("If-Modified-Since") == _DATE:
            return Answer(Fixed(render(304, headers)), 304)
    body = html(node, asked, place)
    if node.encoding and node.encoding in (asked.header("Accept-Encoding") or ""):
        headers["Content-Encoding"] = node.encoding
        body = zlib.compress(body, 1, 31) if node.encoding == "gzip" else encode(body, node.encoding)
    return Answer(Fixed(render(200, headers, body)), 200)


def _redirect(node: Redirect, asked: Asked, place: Place) -> Answer:
    where = node.raw
    if node.to is not None:
        # Inside a site a path is enough, and both forms are met.
        is_near = node.to.host == asked.host and node.code != 301
        where = node.to.target if is_near else _url(node.to, asked, place)
    headers = {"Content-Type": "text/plain"} | ({} if where is None else {"Location": where})
    return Answer(Fixed(render(node.code, headers, b"moved")), node.code)


_FAULTS: Final[dict[Fault, tuple[Callable[[], Behaviour], int]]] = {
    Fault.BOMB: (lambda: bomb("gzip", 64 * _MIB), _BROKEN),
    Fault.HEADER_BOMB: (lambda: header_bomb(1_000), _BROKEN),
    Fault.GARBAGE: (garbage_status_line, _BROKEN),
    Fault.RESET: (lambda: reset("half"), _BROKEN),
    Fault.CUT: (close_early, _BROKEN),
    Fault.BROKEN_CHUNKS: (broken_chunks, _BROKEN),
    Fault.DRIBBLE: (lambda: dribble(Fixed(_long_reply()), size=2, every=0.25), _BROKEN),
    Fault.SILENCE: (hang, _BROKEN),
    Fault.MISLABELLED: (mislabelled, 200),
    Fault.BINARY: (lambda: page(bytes(range(256)) * 20), 200),
    Fault.BLOB: (lambda: page(b"%PDF-1.7 " * 50, content_type="application/octet-stream"), 200),
    Fault.EMPTY: (lambda: page(b""), 200),
    Fault.ENDLESS: (endless_body, _BROKEN),
}


@lru_cache(maxsize=len(Fault))
def _faulty(fault: Fault) -> Answer:
    make, status = _FAULTS[fault]
    return Answer(make(), status)


def _long_reply() -> Reply:
    return render(200, {"Content-Type": HTML}, prose(20_000))
