"""Acknowledge last: body → records → links → events → settle, for many visits at once.

Each step is idempotent and durable before the next begins. Whoever is killed in between repeats visits, and loses
none. While a batch is being written the next one gathers, so the batches grow by themselves when a store is slow.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from outrider.engine.gate import Found, Gate
from outrider.engine.story import events_of, record_of
from outrider.engine.waiting import PATIENCE, wait_for
from outrider.errors import StoreError, StoreUnavailable
from outrider.fetch.visit import Haul
from outrider.model.asked import Asked, Manners, RobotsAnswer, Traffic
from outrider.model.capture import Capture
from outrider.model.event import Event
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Settled
from outrider.model.record import Record
from outrider.model.settlement import Done, Settlement
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.ports import Clock, ContentStore, EventSink, Frontier, Records

T = TypeVar("T")

MOST: Final = 512
"""Visits in one batch."""
ENOUGH: Final = 64
"""Visits that are worth a batch."""
GATHER: Final = 0.05
"""For so long a batch waits to become one, unless somebody waits for it: each costs as much as several visits do."""


class Finished(Struct):
    """A visit that is over, with the site as it was left. `last`: the site is given back with it.

    `permit`: the visit took one from the purse, which is accounted for once this is written. `record` is what was.
    `traffic` is what was asked meanwhile, by whichever visit of the site.
    """

    lease: Lease
    site: Site
    task: Task | None = None
    haul: Haul | None = None
    settlement: Settlement | None = None
    found: Found | None = None
    capture: Capture | None = None
    events: list[Event] = []
    last: bool = False
    permit: bool = False
    size: int = 0
    record: Record | None = None
    traffic: Traffic | None = None


class Stores(Struct, frozen=True):
    """Where it all goes."""

    frontier: Frontier
    events: EventSink
    records: Records
    contents: ContentStore


class Outcome(Struct, frozen=True):
    """What became of a batch: how many URLs were new, and which leases were lost."""

    new_urls: int
    lost: tuple[Lease, ...]


class Finisher:
    """`finish` takes one more; `room` waits while there is too much in memory. `run` is the loop.

    `taken` is awaited for each item once it is written: whoever is slow there slows the crawl.
    """

    def __init__(  # noqa: PLR0913 - what it writes to, and whom it tells
        self,
        stores: Stores,
        gate: Gate,
        clock: Clock,
        agent: str,
        *,
        most_bytes: int,
        written: Callable[[Sequence[Finished], Outcome], None],
        store_away: Callable[[str | None], None],
        taken: Callable[[Finished], Awaitable[None]] | None = None,
        manners: Manners | None = None,
    ) -> None:
        self._stores = stores
        self._manners = manners
        self._gate = gate
        self._clock = clock
        self._agent = agent
        self._most_bytes = most_bytes
        self._written = written
        self._store_away = store_away
        self._taken = taken
        self._queue: list[Finished] = []
        self._batch: list[Finished] = []
        self._hurry = asyncio.Event()
        self._set_aside: set[tuple[str, int]] = set()
        self._bytes = 0
        self._news = asyncio.Event()
        self._urgent = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._was_full = False
        self._closing = False
        self.loose: list[Event] = []
        """Events without a visit, such as a bug: published with the next batch."""

    def finish(self, item: Finished) -> None:
        self._queue.append(item)
        if item.found is not None:
            # What stands behind it in the queue is written after it or with it, so nobody who leaves out a link of
            # this page is settled before the link is in the frontier.
            self._gate.remember(item.found.hashes)
        self._bytes += item.size
        if self._bytes > self._most_bytes:
            self._room.clear()
            self._was_full = True
        if item.last or len(self._queue) >= ENOUGH or not self._room.is_set():
            self._urgent.set()
        self._news.set()

    def tell(self, event: Event) -> None:
        self.loose.append(event)
        self._news.set()

    async def room(self) -> None:
        """Back-pressure: nobody starts a visit while too many bytes wait to be written."""
        await self._room.wait()

    def was_full(self) -> bool:
        """Has there been too much in memory since this was asked last, or is there now?"""
        was, self._was_full = self._was_full, False
        return was or not self._room.is_set()

    def close(self) -> None:
        """Write what is there, then end."""
        self._closing = True
        self._urgent.set()
        self._news.set()

    def hurry(self) -> None:
        """A store that is away is not waited for any longer."""
        self._hurry.set()

    async def give_back(self) -> None:
        """After a store failed us: what was not written stays owed, and its sites are given back as they were left."""
        accounts = [
            replace(account, settlements=(), keep=False) for account in self._accounts(self._batch + self._queue)
        ]
        with suppress(StoreError):  # then they come back by themselves, when their leases run out
            await self._stores.frontier.settle(accounts)

    async def run(self) -> None:
        """Raises what a store raises, unless it is only away: then everything waits for it."""
        while not self._closing or self._queue or self.loose:
            await self._news.wait()
            if not self._urgent.is_set():
                await wait_for(self._urgent, GATHER, self._clock)
            self._news.clear()
            self._urgent.clear()
            batch, self._queue = self._queue[:MOST], self._queue[MOST:]
            loose, self.loose = self.loose, []
            self._batch = batch
            if batch or loose:
                await self._write(batch, loose)
            self._batch = []
            self._bytes -= sum(item.size for item in batch)
            if self._bytes <= self._most_bytes:
                self._room.set()
            if self._queue or self.loose or self._closing:
                self._go_on()

    def _go_on(self) -> None:
        """There is more, which may have waited for this batch to be written."""
        self._news.set()
        if self._closing or len(self._queue) >= ENOUGH or any(item.last for item in self._queue):
            self._urgent.set()

    async def _write(self, batch: Sequence[Finished], loose: Sequence[Event]) -> None:
        stores = self._stores
        keys = await self._put(batch)
        records: list[Record] = self._traffic(batch)
        await self._fall_silent(batch)
        events: list[Event] = list(loose)
        for item in batch:
            events += item.events
            if item.task is None or item.haul is None or item.settlement is None or item.found is None:
                continue
            visit = item.haul.visit
            key = keys.get(visit.id) or None
            record = record_of(item.task, item.haul, item.found, self._agent, key)
            records.append(record)
            item.record = record
            events += events_of(item.task, visit, item.settlement, item.site.key, record, item.found.directives)
            events += item.found.events
        if records:
            await self._insist(lambda: stores.records.write(records))
        new_urls = await self._propose(batch)
        if events:
            await self._insist(lambda: stores.events.publish(events))
        accounts = self._accounts(batch)
        answers = await self._insist(lambda: stores.frontier.settle(accounts)) if accounts else []
        if keys:
            await self._insist(lambda: stores.contents.confirm(list(keys.values())))
        lost = tuple(account.lease for account, taken in zip(accounts, answers, strict=True) if not taken)
        self._written(batch, Outcome(new_urls, lost))
        if self._taken is not None:
            for item in batch:
                await self._taken(item)

    def _traffic(self, batch: Sequence[Finished]) -> list[Record]:
        """What was asked, and once also by which manners."""
        requests: list[Asked] = []
        robots: list[RobotsAnswer] = []
        for item in batch:
            if item.traffic is not None:
                requests += item.traffic.requests
                robots += item.traffic.robots
        if not requests and not robots:
            return []
        manners = () if self._manners is None else (self._manners,)
        self._manners = None
        return [Record(requests=tuple(requests), robots=tuple(robots), manners=manners)]

    async def _fall_silent(self, batch: Sequence[Finished]) -> None:
        """A site that asked us to wait is believed before it is on record that it did.

        Whoever is killed between the two would leave a silence to others that they know nothing of.
        """
        accounts: dict[tuple[str, int], Settled] = {}
        unsettled: Counter[tuple[str, int]] = Counter()
        for item in batch:
            key = item.lease.site.key, item.lease.token
            unsettled[key] += isinstance(item.settlement, Done)
            asked = item.traffic is not None and any(one.asked_to_wait for one in item.traffic.requests)
            if (asked or key in accounts) and not item.site.set_aside:
                # Its pages count when they are settled.
                site = replace(item.site, fetched=item.site.fetched - unsettled[key])
                accounts[key] = Settled(item.lease, site, (), keep=True)
        if accounts:
            await self._insist(lambda: self._stores.frontier.settle(list(accounts.values())))

    def _accounts(self, batch: Sequence[Finished]) -> list[Settled]:
        """One for each lease: its last known site, and all that was finished under it.

        A site that is set aside is given back with that: who has nothing else to say about it says nothing.
        """
        by_lease: dict[tuple[str, int], list[Finished]] = {}
        for item in batch:
            by_lease.setdefault((item.lease.site.key, item.lease.token), []).append(item)
        accounts = []
        for lease, items in by_lease.items():
            last = items[-1]
            settlements = tuple((item.task, item.settlement) for item in items if item.task and item.settlement)
            if lease not in self._set_aside or settlements:
                accounts.append(Settled(last.lease, last.site, settlements, keep=not last.last))
            if last.last:
                self._set_aside.discard(lease)
            elif last.site.set_aside:
                self._set_aside.add(lease)
        return accounts

    async def _put(self, batch: Sequence[Finished]) -> dict[str, str]:
        contents = self._stores.contents
        captures = [item.capture for item in batch if item.capture is not None]
        if not captures:
            return {}
        keys = await self._insist(lambda: contents.put(captures))
        return {capture.fetch_id: key for capture, key in zip(captures, keys, strict=True)}

    async def _propose(self, batch: Sequence[Finished]) -> int:
        founds = [item.found for item in batch if item.found is not None]
        tasks = [task for found in founds for task in found.tasks]
        refused = [pair for found in founds for pair in found.refused]
        if not tasks and not refused:
            return 0
        answers = await self._insist(lambda: self._stores.frontier.add(tasks, refused))
        for found in founds:
            self._gate.confirm(found.hashes)
        return answers.count(Added.NEW)

    async def _insist(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """A store that is away pauses the crawl, it does not end it. Every act here may be repeated."""
        tries = 0
        trouble: StoreUnavailable | None = None
        while True:
            try:
                answer = await (act() if trouble is None else self._unless_hurried(act, trouble))
            except StoreUnavailable as error:
                if self._hurry.is_set() or (self._closing and tries >= len(PATIENCE)):
                    raise
                trouble = error
                self._store_away(str(error))
                await wait_for(self._hurry, PATIENCE[min(tries, len(PATIENCE) - 1)], self._clock)
                tries += 1
            else:
                if tries:
                    self._store_away(None)
                return answer

    async def _unless_hurried(self, act: Callable[[], Coroutine[Any, Any, T]], trouble: StoreUnavailable) -> T:
        """Such an act may take as long as its store has patience, which is longer than ours when we are to stop."""
        acting, hurry = asyncio.ensure_future(act()), asyncio.ensure_future(self._hurry.wait())
        try:
            await asyncio.wait([acting, hurry], return_when=asyncio.FIRST_COMPLETED)
            if acting.done():
                return acting.result()
            raise trouble
        finally:
            acting.cancel()
            hurry.cancel()
