"""Where is a crawl that somebody wants to look into, or act upon? A directory or store URLs in, open stores out.

Nothing is made: a store that is not there is an error. The crawl may run meanwhile, in other processes.
"""

from asyncio import Lock
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from outrider.app.directory import CrawlDirectory
from outrider.app.rules import Memory, frontier_rules
from outrider.app.workers import directory_places
from outrider.errors import ConfigError
from outrider.model.event import Event
from outrider.model.url import Url
from outrider.ports import EventSink, Records
from outrider.settings import Settings
from outrider.stores.events import open_events
from outrider.stores.none import NoRecords
from outrider.stores.records import RECORDS, open_records
from outrider.stores.registry import FrontierStore, open_frontier

OPERATOR: Final = 99
"""In the names of event files: what was said to a crawl from outside of it."""


class Sources(Struct, frozen=True):
    """Without `records`, those that may lie beside the frontier are looked for. `events` is a folder, if there is one.

    Without seeds there is no scope: whatever somebody proposes is meant. `sink` is where what an operator does is
    told; None: nowhere.
    """

    frontier: str
    records: str | None = None
    seeds: tuple[Url, ...] = ()
    events: Path | None = None
    sink: str | None = None


class Operated(Struct, frozen=True):
    """Open stores. Without a place for events, `events` drops what it is given: the act stands, and nobody is told."""

    frontier: FrontierStore
    records: Records
    events: EventSink
    has_records: bool = True
    has_events: bool = True


class LateEvents:
    """Opens its sink with the first event: whoever only looks makes no file and calls no broker."""

    def __init__(self, url: str | None, stack: AsyncExitStack) -> None:
        self._url = url
        self._stack = stack
        self._sink: EventSink | None = None
        self._opening = Lock()

    async def publish(self, events: Sequence[Event]) -> None:
        if self._url is None or not events:
            return
        async with self._opening:
            if self._sink is None:
                self._sink = await self._stack.enter_async_context(open_events(self._url))
        await self._sink.publish(events)


def directory_sources(settings: Settings, home: CrawlDirectory) -> Sources:
    """Raises `ConfigError` when no crawl is there."""
    if settings.frontier is None and not home.database.exists():
        raise ConfigError(
            f"{home.path}: holds no {home.database.name}; name the directory of a crawl, or --frontier URL "
            "if its frontier is elsewhere"
        )
    places = directory_places(settings, home, OPERATOR, Memory(database_cache=4 << 20, known=1 << 20))
    folder = home.events if home.events.is_dir() else None
    return Sources(places.frontier, places.records, tuple(home.seeds()), folder, places.events)


def store_sources(settings: Settings) -> Sources:
    """Raises `ConfigError` when the settings name no frontier."""
    if settings.frontier is None:
        raise ConfigError("there is no crawl here; name its directory, or --frontier URL")
    return Sources(settings.frontier, settings.records, sink=settings.events)


@asynccontextmanager
async def open_operated(settings: Settings, sources: Sources) -> AsyncIterator[Operated]:
    """Raises `ConfigError` for a store that is not there, and `StoreError` for one that cannot be read.

    The sink of events is opened by the first of them.
    """
    async with AsyncExitStack() as stack:
        opened = open_frontier(sources.frontier, frontier_rules(settings), must_exist=True)
        frontier = await stack.enter_async_context(opened)
        records = await stack.enter_async_context(known_records(sources))
        events = LateEvents(sources.sink, stack)
        yield Operated(frontier, records, events, not isinstance(records, NoRecords), sources.sink is not None)


@asynccontextmanager
async def known_records(sources: Sources) -> AsyncIterator[Records]:
    named = sources.records
    if named is None:
        named = await _beside(sources.frontier)
    async with open_records(named, create=False) as records:
        yield records


async def _beside(frontier: str) -> str:
    """Records live in the frontier's own database, or nobody said where: then the ledger alone can speak."""
    scheme = frontier.partition(":")[0]
    if scheme not in RECORDS or scheme == "memory":
        return "none:"
    try:
        async with open_records(frontier, create=False):
            return frontier
    except ConfigError:
        return "none:"
