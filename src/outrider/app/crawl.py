"""A whole crawl, put together: its directory, its stores, its workers, and the one who watches over them."""

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from outrider.app.directory import CrawlDirectory
from outrider.app.recrawl import begins_recrawl, owe_fetched, without_recrawl
from outrider.app.rules import (
    Memory,
    crawl_limits,
    frontier_rules,
    gate_rules,
    memory_of,
)
from outrider.app.workers import Hooks, Job, directory_places, open_worker
from outrider.clock import SystemClock
from outrider.engine.budget import Keeper
from outrider.engine.forked import ForkedProcess, Prepared
from outrider.engine.gate import Found, Gate
from outrider.engine.inside import Inside
from outrider.engine.mates import Mate, Terms
from outrider.engine.messages import Channel
from outrider.engine.processes import Process
from outrider.engine.story import fetch_id
from outrider.engine.supervisor import Supervisor
from outrider.errors import ConfigError
from outrider.model.ledger import Filter, State
from outrider.model.progress import Progress
from outrider.model.record import PageStatus, Record
from outrider.model.task import Candidate, Origin
from outrider.model.url import Url
from outrider.observe.heard import Heard
from outrider.observe.log import open_log
from outrider.observe.memory import resident
from outrider.policy.admit import Reach
from outrider.policy.pace import ready_at
from outrider.ports import Records
from outrider.settings import Settings, require_contact
from outrider.settings.describe import spoken
from outrider.stores.events import open_events
from outrider.stores.records import open_records
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.stores.warc.mend import Mended, Story, mend

WATCHER: Final = 99
"""The number under which the one who watches writes its events; workers count from 0."""


_UNSETTLED: Final = "killed before it was settled: the visit is still owed"


class Crawling(Struct):
    """A crawl that is set up: seeds are in the frontier, `supervisor.run()` does the rest.

    `owed_again` pages were fetched before, and wait for another visit because `recrawl` is new.
    """

    supervisor: Supervisor
    frontier: FrontierStore
    records: Records
    directory: CrawlDirectory
    refused: Found
    mended: Mended | None
    resumed: bool
    owed_again: int = 0


def require_name(settings: Settings, seeds: Sequence[Url]) -> None:
    """Raises `ConfigError` when somebody may be visited who could not reach us."""
    require_contact(settings, seeds)
    if Reach(settings.scope) is Reach.ANY:
        require_contact(settings, [Url("https://example.org/")])


def worker_count(settings: Settings) -> int:
    return settings.workers or len(os.sched_getaffinity(0))


@asynccontextmanager
async def open_crawl(
    settings: Settings,
    seeds: Sequence[Url],
    directory: CrawlDirectory,
    *,
    shown: Callable[[Progress], None],
    hooks: Hooks | None = None,
    prepared: list[Prepared] | None = None,
) -> AsyncIterator[Crawling]:
    """Begin a crawl in its directory, or go on with it. With `hooks` it runs inside this process, on one core.

    Workers that are `prepared` are taken first.

    The directory must be held. Raises `ConfigError` for what cannot be begun, `StoreError` for stores that cannot be
    used; nothing is asked of the web before all of it stands.
    """
    resumed = directory.is_begun
    if not seeds and not resumed:
        raise ConfigError("nothing to crawl: give a URL, or --seeds FILE")
    require_name(settings, [*directory.seeds(), *seeds])
    directory.refuse_changes(settings)
    begins_again = begins_recrawl(settings, directory)
    workers = 1 if hooks is not None else worker_count(settings)
    clock = SystemClock()
    where = directory_places(settings, directory, WATCHER, Memory(database_cache=4 << 20, known=1 << 20))
    async with AsyncExitStack() as stack:
        frontier = await stack.enter_async_context(open_frontier(where.frontier, frontier_rules(settings)))
        records = await stack.enter_async_context(open_records(where.records))
        sink = await stack.enter_async_context(open_events(where.events))
        log = stack.enter_context(open_log(directory.logs / "crawl.log"))
        events = Heard(sink, log, hooks.told if hooks else None)
        # Only now: stores that cannot be opened must not bind whoever mends the settings.
        seeds = directory.remember(without_recrawl(settings) if begins_again else settings, seeds)
        mended = await _take_up(settings, directory, frontier, records) if resumed else None
        owed_again = 0
        if begins_again:
            owed_again = await owe_fetched(frontier, records, frontier.rules)
            directory.remember(settings, seeds)
        gate = Gate(gate_rules(settings, seeds), frontier.rules.identity)
        proposed = gate.judge([Candidate(seed, origin=Origin.SEED) for seed in seeds], clock.now())
        await frontier.add(proposed.tasks, proposed.refused)
        if proposed.decisions:
            await records.write([Record(decisions=tuple(proposed.decisions))])
            if not resumed:
                await events.publish(proposed.events)

        async def spawn(number: int) -> Mate:
            if hooks is not None:
                return Inside(lambda channel: _work_inside(settings, seeds, directory, channel, hooks))
            job = Job(spoken(settings), workers, list(map(str, seeds)), str(directory.path.resolve()))
            log = directory.logs / f"worker-{number:02}.stderr"
            while prepared:
                if (forked := await ForkedProcess.start(prepared.pop(), number, encode(job), log)) is not None:
                    return forked
            return await Process.start(number, encode(job), log)

        limits = crawl_limits(settings)
        terms = Terms(
            workers=workers,
            pages=settings.max_pages,
            seconds=settings.time_limit,
            recrawls=settings.recrawl,
            resumed=resumed,
            directory=str(directory.path),
        )
        supervisor = Supervisor(
            terms,
            frontier,
            events,
            clock,
            spawn=spawn,
            keeper=Keeper(limits, workers) if limits.exist else None,
            tally=records.tally,
            memory=resident,
            shown=shown,
            waits_for=lambda: _waits_for(frontier, clock.now()),
            tidied=lambda: _mend(directory, frontier, records),
        )
        yield Crawling(supervisor, frontier, records, directory, proposed, mended, resumed, owed_again)


async def _work_inside(
    settings: Settings,
    seeds: Sequence[Url],
    directory: CrawlDirectory,
    channel: Channel,
    hooks: Hooks,
) -> None:
    memory = memory_of(settings, 1)
    where = directory_places(settings, directory, 0, memory)
    with open_log(directory.logs / "worker-00.log") as log:
        async with open_worker(settings, seeds, where, memory, channel, log, hooks=hooks) as (worker, reporting):
            await reporting.run(worker)


async def _take_up(settings: Settings, directory: CrawlDirectory, frontier: FrontierStore, records: Records) -> Mended:
    """Whatever the last run left: half written answers, leases of processes that are gone, a crawl without a page."""
    mended = await _mend(directory, frontier, records)
    reclaim = getattr(frontier, "reclaim", None)
    if settings.frontier is None and reclaim is not None:
        await reclaim()
    census = await frontier.census()
    if census.is_finished and not census.fetched:
        # Whoever begins again after that has mended something: a name, a rule, a network.
        await frontier.revive(Filter())
    return mended


async def _mend(directory: CrawlDirectory, frontier: FrontierStore, records: Records) -> Mended:
    """Cut off what a kill left half done: an answer whose visit is still owed will be fetched again."""
    secret = frontier.rules.identity.seed

    async def is_owed(url: Url, name: str) -> bool:
        entry = await frontier.find(url)
        if entry is None or entry.task is None or entry.state not in {State.PENDING, State.WAITING}:
            return False
        return fetch_id(entry.task, secret) == name

    async def is_settled(stories: Sequence[Story]) -> list[bool]:
        answers = [not any([await is_owed(url, name) for url in urls]) for name, urls in stories]
        owed = [story for story, settled in zip(stories, answers, strict=True) if not settled]
        # Before anything is cut: whoever dies in between must not leave a record of what is no longer there.
        await _take_back(owed, records)
        return answers

    return await mend(directory.archive, directory.indexes, is_settled)


async def _take_back(stories: Sequence[Story], records: Records) -> None:
    """A page without its answer was not had: else it would count against a limit, and never be fetched again."""
    taken: dict[str, Record] = {}
    for name, urls in stories:
        # All of them: a redirect that leads away is on record by where it began and led, not by the hop between.
        for record in [record for url in dict.fromkeys(urls) for record in await records.find(url)]:
            page = record.page
            if page is not None and page.fetch_id == name:
                metadata = replace(
                    page.metadata, status=PageStatus.FAILED, error=_UNSETTLED, content_key=None, wire_length=0
                )
                taken[name] = replace(record, page=replace(page, metadata=metadata))
    if taken:
        await records.write(list(taken.values()))


async def _waits_for(frontier: FrontierStore, now: float) -> str:
    """What a crawl with nothing to do waits for: the site whose turn comes first, and why not now."""
    first = None
    looked_at = 0
    async for sites in frontier.sites():
        for site in sites:
            if not site.set_aside and ready_at(site) > now and (first is None or ready_at(site) < ready_at(first)):
                first = site
        looked_at += len(sites)
        if looked_at > 50_000:
            break
    if first is None:
        return "URLs that are put off"
    wait = ready_at(first) - now
    why = "is down" if first.breaker.down_since is not None and first.breaker.openings else "wants a pause"
    return f"{first.key}, which {why}: {wait:.0f} s"


__all__ = ["Crawling", "Hooks", "open_crawl", "require_name", "worker_count"]
