"""Which page leads where? Every answer is read from the archive again, by the same code that read it in the crawl.

A page that had not changed since an earlier visit is not told twice: the edges of that visit still hold.
"""

from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from hashlib import sha256
from typing import Final

from msgspec import Struct

from outrider.errors import BodyTooLarge, StoreError, StoreUnavailable, Undecodable
from outrider.extract.charset import sniff_charset
from outrider.extract.directives import NOFOLLOW
from outrider.extract.links import read_page
from outrider.extract.listing import ListingKind, read_listing
from outrider.fetch.body import content_type
from outrider.model.capture import Capture
from outrider.model.record import Page, PageFilter, PageStatus, Record
from outrider.model.task import Origin
from outrider.model.url import Url
from outrider.ops.content import decoded_again
from outrider.ops.export.redirects import steps_of
from outrider.ops.formats import Kind, Sheet, flat
from outrider.ops.walks import walking
from outrider.ports import ExportsRecords
from outrider.stores.contents import KeptAnswers

_BATCH: Final = 1_000


class EdgeKind(StrEnum):
    """`link` is whatever a page links to, frames and refreshes included; `feed` is one that it names as its own."""

    LINK = "link"
    CANONICAL = "canonical"
    FEED = "feed"
    SITEMAP_ENTRY = "sitemap_entry"
    FEED_ENTRY = "feed_entry"
    REDIRECT = "redirect"


class Edge(Struct, frozen=True, rename="camel"):
    """`source` is where the page was found, after all redirects; these have edges of their own.

    `nofollow`: the link asks not to be followed, or the whole page does.
    """

    source: str
    target: str
    kind: EdgeKind
    nofollow: bool
    fetch_id: str
    fetched_at: str


EDGES: Final[Sheet[Edge]] = flat(Edge, {"nofollow": Kind.SWITCH, "fetchedAt": Kind.MOMENT})


class Unread(Struct):
    """Pages whose links are missing: their answers are `gone` or `damaged`. `complaint` is about the first of these."""

    gone: int = 0
    damaged: int = 0
    complaint: str = ""


async def edges(
    records: ExportsRecords, answers: KeptAnswers, wanted: PageFilter, unread: Unread
) -> AsyncIterator[list[Edge]]:
    """What could not be read is counted in `unread`, and costs only itself."""
    waiting: list[Edge] = []
    async with walking(records.visits(wanted)) as found:
        async for visits in found:
            for record in visits:
                waiting += await _edges_of(record, answers, unread)
                if len(waiting) >= _BATCH:
                    yield waiting
                    waiting = []
    yield waiting


def edges_in(page: Page, content: bytes) -> Iterator[Edge]:
    """What its content leads to: each once, links in the order of the document."""
    data = page.metadata
    url = Url.trusted(data.final_url)
    if data.origin == Origin.LISTING:
        listing = read_listing(content, url, expected=True)
        if listing is not None:
            kind = EdgeKind.FEED_ENTRY if listing.kind is ListingKind.FEED else EdgeKind.SITEMAP_ENTRY
            yield from (_edge(page, target, kind) for target in (*listing.listings, *listing.pages))
        return
    charset = sniff_charset(content, content_type(data.content_type, b"")[1]).name
    facts = read_page(content, charset, url)
    keeps_off = NOFOLLOW in data.directives
    yield from (_edge(page, target, EdgeKind.LINK, nofollow=keeps_off) for target in facts.links)
    yield from (_edge(page, target, EdgeKind.LINK, nofollow=True) for target in facts.nofollow)
    if facts.canonical is not None:
        yield _edge(page, facts.canonical, EdgeKind.CANONICAL, nofollow=keeps_off)
    yield from (_edge(page, target, EdgeKind.FEED, nofollow=keeps_off) for target in facts.feeds)


async def _edges_of(record: Record, answers: KeptAnswers, unread: Unread) -> list[Edge]:
    page = record.page
    if page is None:
        return []
    found = list(_redirects(record, page))
    if page.metadata.status is PageStatus.FETCHED:
        found += await _read(page, answers, unread)
    return found


async def _read(page: Page, answers: KeptAnswers, unread: Unread) -> list[Edge]:
    try:
        capture = await answers.get(page.metadata.content_key) if page.metadata.content_key else None
        if capture is not None and capture.unchanged is not None:
            return []
        content = None if capture is None else _content(page, capture)
        if content is None:
            unread.gone += 1
            return []
        return list(edges_in(page, content))
    except StoreUnavailable:
        raise
    except (StoreError, BodyTooLarge, Undecodable) as error:
        unread.damaged += 1
        unread.complaint = unread.complaint or f"{page.url}: {error}"
        return []


def _content(page: Page, capture: Capture) -> bytes | None:
    """As it was read then. None where a later visit has put its own in the place of it. Raises `Undecodable`."""
    data = page.metadata
    content = capture.content
    if content is None:
        content = decoded_again(capture, data.content_length, truncated=data.truncated).data
    if sha256(content).hexdigest() == data.content_hash:
        return content
    if capture.content is not None:
        return None
    raise Undecodable(f"the content is not the one of the hash on record, {data.content_hash}")


def _redirects(record: Record, page: Page) -> Iterator[Edge]:
    for step in steps_of(record):
        if step.target is not None:
            yield Edge(step.source, step.target, EdgeKind.REDIRECT, False, page.fetch_id, page.metadata.fetched_at)


def _edge(page: Page, target: Url, kind: EdgeKind, *, nofollow: bool = False) -> Edge:
    data = page.metadata
    return Edge(data.final_url, str(target), kind, nofollow, page.fetch_id, data.fetched_at)
