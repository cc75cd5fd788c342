"""A link extractor, put together: pages that others fetched, their contents, the frontier that their links go to."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from outrider.app.rules import frontier_rules, gate_rules
from outrider.clock import SystemClock
from outrider.engine.extractor import Extractor, KeptContents
from outrider.engine.gate import Gate, GateRules
from outrider.errors import ConfigError
from outrider.model.event import Event
from outrider.policy.admit import Reach
from outrider.settings import Settings
from outrider.stores.contents import open_contents
from outrider.stores.pages import open_pages
from outrider.stores.place import Place, with_option
from outrider.stores.registry import open_frontier


class ExtractPlaces(Struct, frozen=True):
    """Store URLs: the settings' own, or the service's Redis and Kafka."""

    frontier: str
    contents: str
    events: str


def extract_places(settings: Settings, group: str) -> ExtractPlaces:
    """`group` is who shares the pages; that of the place itself wins."""
    if not group.strip():
        raise ConfigError("--group: expected a name; those who share the pages give the same one")
    events = settings.events or f"kafka://{settings.kafka_servers}/{settings.webpage_topic}"
    return ExtractPlaces(
        settings.frontier or settings.redis_url,
        settings.contents or settings.redis_url,
        with_option(events, "group", group),
    )


def extract_rules(settings: Settings) -> GateRules:
    """There are no seeds: the scope is measured from each page, also for listings. Following links is what it is for.

    Raises `ConfigError` where nothing could ever be followed.
    """
    reach = Reach(settings.scope)
    if reach is Reach.PAGE:
        raise ConfigError("scope = page: a single page leads nowhere; expected prefix, host, domain or any")
    rules = gate_rules(settings.model_copy(update={"follow_links": True}), ())
    listing = replace(rules.listing, reach=Reach.HOST if reach is Reach.PREFIX else reach)
    return replace(rules, listing=listing, from_page=True)


@asynccontextmanager
async def open_extractor(
    settings: Settings, where: ExtractPlaces, tell: Callable[[Sequence[Event]], None]
) -> AsyncIterator[Extractor]:
    """Raises `ConfigError` for what cannot be meant, and `StoreError` for a store that cannot be used."""
    rules = extract_rules(settings)
    async with AsyncExitStack() as stack:
        frontier = await stack.enter_async_context(open_frontier(where.frontier, frontier_rules(settings)))
        contents = await stack.enter_async_context(open_contents(where.contents))
        if not isinstance(contents, KeptContents):
            raise ConfigError(f"{Place(where.contents)}: contents are read by their key from redis: alone")
        # Last: whoever joins the group gets pages, and must be able to read them.
        pages = await stack.enter_async_context(open_pages(where.events))
        gate = Gate(rules, frontier.rules.identity)
        yield Extractor(pages, contents, frontier, gate, SystemClock(), tell)
