"""One process's share of a crawl: lease sites, serve them, extend what takes long, until nothing is owed.

It never decides that a crawl is over. It says when it finds nothing to do, and whoever watches asks the frontier.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain, repeat
from time import process_time
from typing import Final

from msgspec import Struct

from outrider.engine.brake import Brake
from outrider.engine.budget import Purse
from outrider.engine.crew import Crew, Tools, is_page
from outrider.engine.demand import cpu_demand
from outrider.engine.finisher import Finished, Finisher, Outcome, Stores
from outrider.engine.gate import Gate
from outrider.engine.orders import Orders
from outrider.engine.tally import count
from outrider.engine.troubles import Troubles
from outrider.engine.waiting import wait_for
from outrider.errors import StoreUnavailable
from outrider.fetch.hold import Hold
from outrider.model.asked import Manners
from outrider.model.event import CrawlPaused, CrawlResumed
from outrider.model.lease import Lease
from outrider.model.ledger import Leased
from outrider.model.progress import Counts, WorstBreaker
from outrider.policy.load import FEW, Load, LoadLimits, next_room
from outrider.policy.network import NetworkLimits
from outrider.ports import Clock

LEASE: Final = 30.0
"""How long a site is lent at a time; a worker that vanished keeps its sites for no longer than that."""
TASKS: Final = 16
"""URLs shown with one lease."""
_MORE: Final = 4
"""Times as many while there is room for more sites: nobody waits for a site that is held for longer."""
_IDLE: Final = 0.25
"""How often a worker with nothing to do asks whether others have found something."""
_PAUSE: Final = (5.0, 10.0, 20.0, 40.0, 60.0)
"""Waits between tries while our own network is down."""
_TRIED: Final = 3
_PATIENCE: Final = 900.0
"""After so long a pause it is no longer believed that all of them are up."""
_SCANT: Final = 8
"""Sites held at most while memory is short. None would be too few: what a process once had it seldom gives back."""
_LOOK: Final = 0.1
"""How often the load of the event loop is measured."""


class WorkerRules(Struct, frozen=True):
    """`concurrency` sites are held at most. `most_bytes` may wait to be written. `manners` go on record."""

    agent: str
    concurrency: int = 500
    most_bytes: int = 67_108_864
    network: NetworkLimits = NetworkLimits()
    load: LoadLimits = LoadLimits()
    lease: float = LEASE
    tasks: int = TASKS
    manners: Manners | None = None


class Worker:
    """`run` until `drain` or `stop`. `idle_until`: nothing can be leased before; None: nothing is owed at all."""

    def __init__(
        self,
        tools: Tools,
        stores: Stores,
        gate: Gate,
        purse: Purse,
        rules: WorkerRules,
        finished: Callable[[Finished], Awaitable[None]] | None = None,
    ) -> None:
        self._tools = tools
        self._clock = tools.clock
        self._stores = stores
        self._purse = purse
        self._rules = rules
        self._brake = Brake(rules.network)
        self._finisher = Finisher(
            stores,
            gate,
            tools.clock,
            rules.agent,
            most_bytes=rules.most_bytes,
            written=self._written,
            store_away=lambda why: self._store_away("writing", why),
            taken=finished,
            manners=rules.manners,
        )
        self._manners = "" if rules.manners is None else rules.manners.name
        self._gate = gate
        self.counts = Counts()
        self._orders = Orders(stores.frontier, tools.clock, self._ordered)
        self._crew = Crew(tools, gate, self._finisher, purse, self._brake, self._orders, self.counts.activity)
        self._held: dict[tuple[str, int], tuple[Lease, Hold, asyncio.Task[None]]] = {}
        self._giving_back: set[tuple[str, int]] = set()
        self._wake = asyncio.Event()
        self._room = min(FEW, rules.concurrency)
        self._sites_are_few = False
        self._troubles = Troubles(tools.settle.breaker)
        self._away: set[str] = set()
        self.paused = ""
        self.idle = False
        self.idle_until: float | None = None
        self.fell_idle: Callable[[], None] = _unheard
        """Called whenever there is nothing to do any more: it may be the end."""
        self.memory_is_short = False

    # what the watcher sees

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def in_flight(self) -> int:
        return self._crew.in_flight

    @property
    def held(self) -> int:
        return len(self._held)

    @property
    def broken(self) -> int:
        """Sites that are down, as far as this worker has seen lately."""
        return self._troubles.down(self._clock.now())

    @property
    def breaker(self) -> WorstBreaker:
        """Of the worst of them."""
        holds = (hold.site for _, hold, _ in self._held.values())
        return self._troubles.worst(self._clock.now(), holds)

    @property
    def silenced(self) -> tuple[str, ...]:
        """Sites that have something to do, and that an operator has paused."""
        return self._orders.silenced

    # what the watcher does

    def drain(self) -> None:
        """Start no more visits, finish those that are under way."""
        self._crew.stopping = True
        self._purse.close()
        self._wake.set()

    def stop(self) -> None:
        """Now: requests that are under way are given up, their tasks stay owed; so does what no store takes."""
        self.drain()
        self._finisher.hurry()
        for _, _, serving in self._held.values():
            serving.cancel()

    async def run(self) -> None:
        """Raises `StoreError` when a store is broken; nothing is lost then, and nothing half done."""
        try:
            async with asyncio.TaskGroup() as group:
                writing = group.create_task(self._finisher.run())
                meanwhile = (self._extend(), self._let_go(), self._watch_load(), self._orders.keep_hearing())
                helpers = [group.create_task(helper) for helper in meanwhile]
                try:
                    await self._lease_and_serve(group)
                    await self._served()
                finally:
                    for helper in helpers:
                        helper.cancel()
                    self._finisher.close()
                await writing
        except BaseExceptionGroup as broken:
            if isinstance(broken.exceptions[0], StoreUnavailable):
                await self._finisher.give_back()
            raise broken.exceptions[0] from broken

    # leasing

    async def _lease_and_serve(self, group: asyncio.TaskGroup) -> None:
        await self._orders.hear()  # before the first request
        while not self._crew.stopping:
            if self._brake.is_on:
                await self._sit_out(group)
                continue
            room = (min(self._room, _SCANT) if self.memory_is_short else self._room) - len(self._held)
            if room <= 0:
                await self._nap(_IDLE)
                continue
            leased = await self._lease(room)
            for lease in leased.leases:
                self._serve(lease, group)
            was_idle = self.idle
            self.idle = not (leased.leases or self._held or self._giving_back)
            self.idle_until = leased.next_at
            if self.idle and not was_idle:
                self.fell_idle()
            if len(leased.leases) < room:
                await self._nap(self._until(leased))

    async def _served(self) -> None:
        """All sites that are held have been given back."""
        while self._held:
            await asyncio.wait([serving for _, _, serving in self._held.values()])

    async def _lease(self, room: int) -> Leased:
        asked_at = self._clock.now()
        tasks = self._rules.tasks * (_MORE if self._sites_are_few else 1)
        try:
            leased = await self._stores.frontier.lease(sites=room, tasks=tasks, seconds=self._rules.lease)
        except StoreUnavailable as error:
            self._frontier_away(str(error))
            return Leased((), self._clock.now() + 1.0, self._clock.now())
        self._frontier_away(None)
        self._sites_are_few = len(leased.leases) < room
        self._clock.hear(leased.at, asked_at=asked_at, heard_at=self._clock.now())
        return leased

    def _until(self, leased: Leased) -> float:
        if leased.next_at is None:
            return _IDLE
        return min(max(leased.next_at - self._clock.now(), 0.005), _IDLE)

    async def _nap(self, seconds: float) -> None:
        """Until something changes here, or for so long: others may have changed something, too.

        What changed while the frontier was asked counts as well: its answer may be older than that.
        """
        if not self._wake.is_set():
            await wait_for(self._wake, seconds, self._clock)
        self._wake.clear()

    def _serve(self, lease: Lease, group: asyncio.TaskGroup) -> None:
        key = lease.site.key, lease.token
        hold = Hold(
            lease.site,
            self._clock,
            lease.deadline,
            is_lent=True,
            manners=self._manners,
            orders=self._orders.in_force,
        )
        self._troubles.note(lease.site, self._clock.now())

        def served(_: asyncio.Task[None]) -> None:
            # Also when it was cancelled, even before it began: requests may have been sent, and their pause is kept.
            del self._held[key]
            self._giving_back.add(key)
            self._finisher.finish(Finished(lease, hold.site, last=True, traffic=hold.traffic()))

        serving = group.create_task(self._crew.serve(lease, hold))
        self._held[key] = lease, hold, serving
        serving.add_done_callback(served)

    # what must go on meanwhile

    async def _extend(self) -> None:
        """Well before a lease runs out, a third of its time at the latest."""
        while True:
            await self._clock.sleep(self._rules.lease / 4)
            soon = self._clock.now() + self._rules.lease * 2 / 3
            held = [(lease, hold) for lease, hold, _ in self._held.values() if hold.until < soon]
            if not held:
                continue
            try:
                extended = await self._stores.frontier.extend([lease for lease, _ in held], self._rules.lease)
            except StoreUnavailable as error:
                self._frontier_away(str(error))
                continue
            for (lease, hold), new in zip(held, extended, strict=True):
                if new is None:
                    self._drop(lease)
                else:
                    hold.until = new.deadline

    async def _let_go(self) -> None:
        """A lease that could not be extended has ended: another may ask the site now, so a request of ours is given up.

        It does not wait for the store, as `_extend` may have to: when the line is cut, nobody says so.
        """
        while True:
            await self._clock.sleep(self._rules.lease / 30)
            now = self._clock.now()
            for lease, hold, _ in list(self._held.values()):
                if hold.until <= now:
                    self._drop(lease)

    async def _watch_load(self) -> None:
        """Limits of a request are seconds of ours, too: a loop that lags makes good sites look slow."""
        loop = asyncio.get_running_loop()
        while True:
            before, worked, wanted = loop.time(), process_time(), cpu_demand()
            await asyncio.sleep(_LOOK)
            took = loop.time() - before
            busy, wanted = (process_time() - worked) / took, (cpu_demand() - wanted) / took
            load = Load(max(0.0, took - _LOOK), busy, wanted, full=self._finisher.was_full())
            room = next_room(self._room, len(self._held), load, self._rules.concurrency, self._rules.load)
            if room > self._room:
                self._wake.set()
            self._room = room

    async def _sit_out(self, group: asyncio.TaskGroup) -> None:
        """Our own network is down: nobody is asked, and nobody is blamed. Now and then a few sites are tried."""
        self._pause("our own network seems to be down: most sites cannot be reached")
        began = self._clock.now()
        for wait in chain(_PAUSE, repeat(_PAUSE[-1])):
            await self._nap_through(wait)
            if self._crew.stopping:
                return
            if self._clock.now() - began > _PATIENCE:
                # So many sites may be down for good; then they are found out one by one.
                self._brake.ignore(self._clock.now() + 10 * _PATIENCE)
            self._brake.on_trial = True
            for lease in (await self._lease(_TRIED)).leases:
                self._serve(lease, group)
            await self._served()
            self._brake.on_trial = False
            if not self._brake.is_on:
                break
        self._resume()

    async def _nap_through(self, seconds: float) -> None:
        until = self._clock.now() + seconds
        while not self._crew.stopping and (left := until - self._clock.now()) > 0:
            await self._nap(left)

    # what comes back

    def _ordered(self) -> None:
        self._gate.excluded = self._orders.excluded

    def _written(self, batch: Sequence[Finished], outcome: Outcome) -> None:
        self.counts.urls += outcome.new_urls
        now = self._clock.now()
        lost = {(lease.site.key, lease.token) for lease in outcome.lost}
        for item in batch:
            key = item.lease.site.key, item.lease.token
            if item.last:
                self._giving_back.discard(key)
                # What came before of it may have been refused already: a lease is lost once.
                self.counts.lost_leases += key in lost
            if item.permit:
                size = len(item.capture.body) if item.capture is not None else 0
                self._purse.account_for(is_page=is_page(item), size=size)
            if key not in lost:
                self._troubles.note(item.site, now)
            count(self.counts, item)
        for lease in outcome.lost:
            self._drop(lease)
        self._wake.set()

    def _drop(self, lease: Lease) -> None:
        """Another has the site by now: whatever we would still do there would be impolite."""
        held = self._held.get((lease.site.key, lease.token))
        if held is not None:
            held[2].cancel()

    def _frontier_away(self, why: str | None) -> None:
        self._store_away("leasing", why)

    def _store_away(self, who: str, why: str | None) -> None:
        """A store that is back says nothing of another, which may still be waited for."""
        if why is not None:
            self._away.add(who)
            self._pause(f"a store is away: {why}")
        elif who in self._away:
            self._away.discard(who)
            self._resume()

    def _pause(self, cause: str) -> None:
        if not self.paused:
            self._finisher.tell(CrawlPaused(at=self._clock.now(), cause=cause))
        self.paused = cause

    def _resume(self) -> None:
        if self.paused and not self._away and not self._brake.is_on:
            self._finisher.tell(CrawlResumed(at=self._clock.now(), cause=self.paused))
            self.paused = ""


def _unheard() -> None:
    """Nobody wants to know."""
