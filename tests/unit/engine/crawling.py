"""A whole worker in one process: a web by its script, stores in memory, and a clock that nobody waits for."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from outrider.app.rules import Memory as MemoryShares
from outrider.app.rules import (
    admission,
    frontier_rules,
    gate_rules,
    listing_visit_rules,
    worker_rules,
)
from outrider.app.visits import visits_over
from outrider.clock import SharedClock
from outrider.engine.budget import Purse, Unlimited
from outrider.engine.common import Common
from outrider.engine.crew import Tools
from outrider.engine.finisher import Finished, Stores
from outrider.engine.gate import Gate
from outrider.engine.worker import Worker
from outrider.fetch.sent import RequestHeads
from outrider.fetch.visit import Visitor
from outrider.model.event import Event
from outrider.model.ledger import Entry
from outrider.model.task import Candidate, Origin
from outrider.model.url import Url
from outrider.policy.admit import Reach
from outrider.ports import ContentStore, EventSink, Frontier, Records, Request, Response, Transport
from outrider.settings import settings_of
from outrider.stores.memory.contents import MemoryContents
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.clock import FakeClock
from outrider.testing.site import Script, ScriptedSite, page

T = TypeVar("T", bound=Event)

ROOT: Final = "http://example.com"
START: Final = 1_000_000.0
_STEPS: Final = 20_000


def linking(*paths: str, title: str = "a page") -> Response:
    """A page that leads to these."""
    return page(f"<title>{title}</title>" + "".join(f"<a href='{path}'>x</a>" for path in paths))


class Web:
    """A scripted site whose answers take `seconds`, so that visits overlap; counts who is inside at once."""

    def __init__(self, site: Transport, clock: FakeClock, seconds: float) -> None:
        self._site = site
        self._clock = clock
        self.seconds = seconds
        self.inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.began: list[tuple[float, Request]] = []

    async def request(self, request: Request) -> Response:
        site = request.url.site()
        self.inside[site] += 1
        self.most[site] = max(self.most[site], self.inside[site])
        self.began.append((self._clock.now(), request))
        try:
            if self.seconds:
                await self._clock.sleep(self.seconds)
            return await self._site.request(request)
        finally:
            self.inside[site] -= 1


class Scene:
    """`seeds` are in the frontier; `worker` is ready to run. What a case is about is given by name."""

    def __init__(
        self,
        table: Mapping[str, Script],
        seeds: Iterable[str] = (f"{ROOT}/",),
        *,
        clock: FakeClock | None = None,
        frontier: Frontier | None = None,
        records: Records | None = None,
        contents: ContentStore | None = None,
        events: EventSink | None = None,
        purse: Purse | None = None,
        seconds: float = 0.0,
        transport: Callable[[Transport], Transport] | None = None,
        **keys: object,
    ) -> None:
        self.clock = clock or FakeClock(START)
        self.settings = settings = settings_of(**{"delay": 0, "scope": "any", **keys})
        self.site = ScriptedSite(table, self.clock)
        self.web = Web(transport(self.site) if transport else self.site, self.clock, seconds)
        self.memory = MemoryFrontier(frontier_rules(settings), self.clock)
        self.frontier: Frontier = frontier or self.memory
        if isinstance(frontier, MemoryFrontier):
            self.memory = frontier
        self.sink = MemoryEvents()
        self.kept = MemoryRecords()
        self.bodies = MemoryContents()
        self.seeds = list(map(Url, seeds))
        self.stores = Stores(self.frontier, events or self.sink, records or self.kept, contents or self.bodies)
        admit = admission(settings, Reach(settings.scope), self.seeds)
        shared = SharedClock(self.clock)
        visits = visits_over(self.web, settings, shared, admit)
        listings = Visitor(visits.asker, visits.robots, shared, listing_visit_rules(settings, self.seeds), lambda: "")
        self.identity = self.memory.rules.identity
        self.common = Common(1 << 10)
        self.gate = Gate(gate_rules(settings, self.seeds), self.identity, common=self.common)
        self.tools = Tools(
            visitor=visits.visitor,
            listings=listings,
            asker=visits.asker,
            clock=shared,
            settle=visits.settle,
            identity=self.identity,
            heads=RequestHeads(settings.agent),
            site_pages=settings.max_site_pages,
            site_concurrency=settings.site_concurrency,
        )
        self.rules = worker_rules(settings, MemoryShares())
        self.seen: list[Finished] = []
        self.worker = self.another(purse)

    def another(self, purse: Purse | None = None) -> Worker:
        """One more worker on the same stores."""
        return Worker(self.tools, self.stores, self.gate, purse or Unlimited(), self.rules, self._take)

    async def _take(self, finished: Finished) -> None:
        self.seen.append(finished)

    async def propose(self, *seeds: str) -> None:
        urls = map(Url, seeds) if seeds else self.seeds
        found = self.gate.judge([Candidate(url, origin=Origin.SEED) for url in urls], self.clock.now())
        await self.memory.add(found.tasks, found.refused)

    async def crawl(self) -> None:
        """Until nothing is owed."""
        await self.propose()
        async with self.running():
            await self.until_finished()

    @asynccontextmanager
    async def running(self, worker: Worker | None = None) -> AsyncIterator[Worker]:
        """A worker at work; it is drained at the end, and what broke it is raised."""
        worker = worker or self.worker
        task = asyncio.ensure_future(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            await task

    async def until(self, holds: Callable[[], bool]) -> None:
        for _ in range(_STEPS):
            if holds():
                return
            await self.clock.sleep(0.05)
        raise AssertionError("it never came to that")

    async def until_finished(self) -> None:
        for _ in range(_STEPS):
            census = await self.memory.census()
            if census.is_finished and not census.leased:
                return
            await self.clock.sleep(1.0)
        raise AssertionError("the crawl never ended")

    async def entry(self, url: str) -> Entry:
        entry = await self.memory.find(Url(url))
        assert entry is not None
        return entry

    def told(self, kind: type[T]) -> list[T]:
        return [event for event in self.sink.events if isinstance(event, kind)]

    @property
    def asked(self) -> list[str]:
        return [f"{request.method} {request.url.removeprefix(ROOT)}" for _, request in self.web.began]

    def asked_at(self, url: str) -> list[float]:
        return [at - START for at, request in self.web.began if request.url == url]
