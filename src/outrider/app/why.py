"""Where is what is known of a URL kept, and by which rules is it judged? Settings and a place in, its story out.

Nothing is made: a store that is not there is an error.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from outrider.app.directory import CrawlDirectory
from outrider.app.rules import Memory, admission, frontier_rules, listing_admission
from outrider.app.workers import directory_places
from outrider.clock import SystemClock
from outrider.errors import ConfigError
from outrider.model.url import Url
from outrider.ops.retries import with_retries
from outrider.ops.story import Story
from outrider.ops.why import Terms, why
from outrider.policy.admit import Reach
from outrider.policy.robots import Unreachable
from outrider.ports import Records
from outrider.settings import Settings
from outrider.stores.none import NoRecords
from outrider.stores.records import RECORDS, open_records
from outrider.stores.registry import open_frontier


class Sources(Struct, frozen=True):
    """Without `records`, those that may lie beside the frontier are looked for. `events` is a folder, if there is one.

    Without seeds there is no scope: whatever somebody proposes is meant.
    """

    frontier: str
    records: str | None = None
    seeds: tuple[Url, ...] = ()
    events: Path | None = None


def directory_sources(settings: Settings, home: CrawlDirectory) -> Sources:
    """Raises `ConfigError` when no crawl is there."""
    if settings.frontier is None and not home.database.exists():
        raise ConfigError(
            f"{home.path}: holds no {home.database.name}; name the directory of a crawl, or --frontier URL "
            "if its frontier is elsewhere"
        )
    places = directory_places(settings, home, 0, Memory(database_cache=4 << 20, known=1 << 20))
    return Sources(places.frontier, places.records, tuple(home.seeds()), home.events if home.events.is_dir() else None)


def store_sources(settings: Settings) -> Sources:
    """Raises `ConfigError` when the settings name no frontier."""
    if settings.frontier is None:
        raise ConfigError("there is no crawl here; name its directory, or --frontier URL")
    return Sources(settings.frontier, settings.records)


def terms_of(settings: Settings, seeds: Sequence[Url]) -> Terms:
    """As a crawl judges, and without seeds as a service does: whatever somebody proposes is in scope."""
    return Terms(
        admit=admission(settings, Reach(settings.scope) if seeds else Reach.ANY, seeds),
        listing=listing_admission(settings, seeds),
        agent=settings.agent_token,
        site_by=settings.site_by,
        respects_robots=settings.respect_robots,
        unreachable=Unreachable(settings.robots_unreachable),
    )


async def story_of(url: Url, settings: Settings, sources: Sources) -> tuple[Story, bool]:
    """The story, and whether there are records at all. Raises `ConfigError` for a store that is not there.

    Raises `StoreError` for one that cannot be read.
    """
    async with (
        open_frontier(sources.frontier, frontier_rules(settings), must_exist=True) as frontier,
        _records(sources) as records,
    ):
        story = await why(url, frontier, records, terms_of(settings, sources.seeds), SystemClock().now())
    has_records = not isinstance(records, NoRecords)
    return (story if sources.events is None else with_retries(story, sources.events)), has_records


@asynccontextmanager
async def _records(sources: Sources) -> AsyncIterator[Records]:
    named = sources.records
    if named is None:
        named = await _beside(sources.frontier)
    async with open_records(named, create=False) as records:
        yield records


async def _beside(frontier: str) -> str:
    """Records live in the frontier's own database, or nobody said where: then the ledger alone can speak."""
    parts = urlsplit(frontier)
    if parts.scheme not in RECORDS or parts.scheme == "memory":
        return "none:"
    try:
        async with open_records(frontier, create=False):
            return frontier
    except ConfigError:
        return "none:"
