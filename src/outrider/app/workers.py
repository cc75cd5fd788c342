"""One worker, put together: the same for a crawl in a directory and for a service; only the places differ."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct
from msgspec.json import decode

from outrider.app.directory import CrawlDirectory
from outrider.app.rules import (
    Memory,
    admission,
    crawl_limits,
    frontier_rules,
    gate_rules,
    listing_visit_rules,
    memory_of,
    worker_rules,
)
from outrider.app.visits import open_transport, visits_over
from outrider.clock import SharedClock, SteadyClock
from outrider.engine.budget import Unlimited
from outrider.engine.common import Common
from outrider.engine.crew import Tools
from outrider.engine.finisher import Finished, Stores
from outrider.engine.gate import Gate
from outrider.engine.messages import Broke, Channel, Done, Report, Start
from outrider.engine.reporting import Reporting
from outrider.engine.worker import Worker
from outrider.errors import OutriderError, StoreUnavailable
from outrider.fetch.sent import RequestHeads
from outrider.fetch.visit import Visitor
from outrider.model.event import Event
from outrider.model.progress import Counts
from outrider.model.url import Url
from outrider.observe.heard import Both, Heard
from outrider.observe.log import EventLog, LogFormat, log_to_stderr, open_log
from outrider.observe.memory import resident
from outrider.policy.admit import Reach
from outrider.ports import EventSink
from outrider.settings import Settings, settings_of
from outrider.stores.contents import CONTENTS, open_contents
from outrider.stores.events import EVENTS, open_events
from outrider.stores.letters import open_letters
from outrider.stores.place import Place
from outrider.stores.records import RECORDS, open_records
from outrider.stores.registry import FRONTIERS, backend_for, open_frontier

KEEPS_NOTHING: Final = "none:"
_LEAST_CACHE: Final = 1_048_576
_BETWEEN_TRIES: Final = 1.0


class Job(Struct, frozen=True):
    """What a worker process is told, secrets included: it goes over a socket, never to a file.

    Without a `directory` it belongs to a service, whose URLs come from a queue: there are no seeds then, and `places`
    says where everything is.
    """

    settings: Mapping[str, object]
    workers: int
    seeds: list[str] = []
    directory: str | None = None
    places: "Places | None" = None
    log_format: LogFormat = "text"


class Hooks(Struct, frozen=True):
    """Who wants to see it all, in this process: each visit once it is written, and every event once it is published."""

    finished: Callable[[Finished], Awaitable[None]]
    told: Callable[[Sequence[Event]], Awaitable[None]] | None = None


class Places(Struct, frozen=True):
    """Store URLs: the settings' own, or parts of the directory. `letters` are told to other programs, if at all."""

    frontier: str
    records: str
    contents: str
    events: str
    letters: str | None = None


def directory_places(settings: Settings, directory: CrawlDirectory, number: int, memory: Memory) -> Places:
    home = directory.path.resolve()
    operator = quote(settings.contact or "", safe="")
    database = f"sqlite://{quote(str(home))}/crawl.db?cache={_megabytes(memory.database_cache)}"
    return Places(
        frontier=settings.frontier or f"{database}&known={_megabytes(memory.known)}&recent={memory.new_hashes}",
        records=settings.records or database,
        contents=settings.contents
        or f"warc://{quote(str(home))}/archive?worker={number}&indexes={quote(str(home / 'indexes'), safe='')}"
        f"&agent={quote(settings.agent, safe='')}&operator={operator}",
        events=settings.events or f"file://{quote(str(home))}/events?worker={number}",
    )


def load_backends(where: Places) -> None:
    """Import what these need, for processes that are forked later. What is wrong is told when they are opened."""
    for url, known in (
        (where.frontier, FRONTIERS),
        (where.records, RECORDS),
        (where.contents, CONTENTS),
        (where.events, EVENTS),
    ):
        with suppress(OutriderError):
            place = Place(url)
            if place.scheme in known:
                backend_for(place, "store", known, "")


def _megabytes(size: int) -> int:
    return max(1, size // _LEAST_CACHE)


@asynccontextmanager
async def open_worker(  # noqa: PLR0913 - all that differs from worker to worker
    settings: Settings,
    seeds: Sequence[Url],
    where: Places,
    memory: Memory,
    channel: Channel,
    log: EventLog,
    *,
    hooks: Hooks | None = None,
    common: Common | None = None,
) -> AsyncIterator[tuple[Worker, Reporting]]:
    """Without seeds, whatever the frontier holds is wanted, and links are measured from their pages.

    `common` is what all workers of this machine know.
    """
    clock = SharedClock(SteadyClock())
    reach = Reach(settings.scope) if seeds else Reach.ANY
    async with AsyncExitStack() as stack:
        frontier = await stack.enter_async_context(open_frontier(where.frontier, frontier_rules(settings)))
        records = await stack.enter_async_context(open_records(where.records))
        contents = await stack.enter_async_context(open_contents(where.contents))
        events: EventSink = await stack.enter_async_context(open_events(where.events))
        if where.letters is not None:
            letters = await stack.enter_async_context(open_letters(where.letters, settings.dlq_queue))
            events = Both(events, letters)
        transport = await stack.enter_async_context(open_transport(settings, clock))
        visits = visits_over(transport, settings, clock, admission(settings, reach, seeds), memory.robots)
        listings = Visitor(visits.asker, visits.robots, clock, listing_visit_rules(settings, seeds), lambda: "")
        gate = Gate(
            gate_rules(settings, seeds),
            frontier.rules.identity,
            common=common or Common(memory.common // 8),
            shows_links=hooks is not None,
        )
        reporting = Reporting(channel, resident, memory.most)
        tools = Tools(
            visitor=visits.visitor,
            listings=listings,
            asker=visits.asker,
            clock=clock,
            settle=visits.settle,
            identity=frontier.rules.identity,
            heads=RequestHeads(settings.agent),
            site_pages=settings.max_site_pages,
            site_concurrency=settings.site_concurrency,
            keeps_content=hooks is not None,
            decodes=getattr(contents, "decodes", False),
        )
        purse = reporting.purse() if crawl_limits(settings).exist else Unlimited()
        heard = Heard(events, log, hooks.told if hooks else None)
        stores = Stores(frontier, heard, records, contents)
        finished = hooks.finished if hooks else None
        yield Worker(tools, stores, gate, purse, worker_rules(settings, memory), finished), reporting


async def work(channel: Channel, common: Common | None = None) -> None:
    """The whole life of a worker process."""
    start = await channel.receive()
    if not isinstance(start, Start):
        return
    job = decode(start.job, type=Job)
    settings = settings_of(**job.settings)
    memory = memory_of(settings, job.workers)
    try:
        async with AsyncExitStack() as stack:
            if job.places is not None:
                where = job.places
                log = stack.enter_context(log_to_stderr(job.log_format))
            else:
                directory = CrawlDirectory(Path(job.directory or "."))
                where = directory_places(settings, directory, start.number, memory)
                log = stack.enter_context(open_log(directory.logs / f"worker-{start.number:02}.log"))
            seeds = list(map(Url.trusted, job.seeds))

            def opening() -> AbstractAsyncContextManager[tuple[Worker, Reporting]]:
                return open_worker(settings, seeds, where, memory, channel, log, common=common)

            opened = await _opened(opening, stack, channel, patient=job.places is not None)
            if opened is not None:
                worker, reporting = opened
                await reporting.run(worker)
    except OutriderError as error:
        # What cannot be opened here cannot be opened by another in our place either.
        await channel.send(Broke(type(error).__name__, str(error)))


async def _opened(
    opening: Callable[[], AbstractAsyncContextManager[tuple[Worker, Reporting]]],
    stack: AsyncExitStack,
    channel: Channel,
    *,
    patient: bool,
) -> tuple[Worker, Reporting] | None:
    """A service had its stores when it began, and will have them again: `patient`. None when it is to end first."""
    while True:
        try:
            return await stack.enter_async_context(opening())
        except StoreUnavailable as error:
            if not patient:
                raise
            if not await _told_to_wait(channel, str(error)):
                return None


async def _told_to_wait(channel: Channel, why: str) -> bool:
    """For a moment, unless the one who watches wants us to end, or is gone; whatever else it says can wait too."""
    await channel.send(Report(Counts(), paused=f"a store is away: {why}"))
    listening = asyncio.ensure_future(channel.receive())
    await asyncio.wait([listening], timeout=_BETWEEN_TRIES)
    if not listening.done():
        listening.cancel()
        return True
    await channel.send(Done())
    return False
