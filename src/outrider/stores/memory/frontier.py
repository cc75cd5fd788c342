"""The frontier in this process: the shortest true one, and the one that the others are compared with."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from msgspec.structs import replace

from outrider.clock import SystemClock
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Census, Entry, Filter, Leased, Search, Settled, SiteLine, Slice, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Settlement
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.pace import reserve
from outrider.policy.settle import expired, rested, restored, written_back
from outrider.policy.transition import (
    Ended,
    Next,
    Owed,
    alias,
    apply,
    dismissed,
    matches,
    renamed,
    revived,
    revived_site,
)
from outrider.ports import Clock, FrontierRules
from outrider.stores.memory.books import Books
from outrider.stores.memory.browsing import Browsing, surveyed
from outrider.stores.memory.queue import SiteQueue
from outrider.stores.place import Place

_BATCH = 1_000


class MemoryFrontier(Books):
    def __init__(self, rules: FrontierRules, clock: Clock) -> None:
        super().__init__(rules)
        self._clock = clock
        self._orders: dict[str, SiteOrder] = {}
        self._leased = 0
        self._stale = 0

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, rules: FrontierRules, clock: Clock | None) -> AsyncIterator[Self]:
        place.end()
        yield cls(rules, clock or SystemClock())

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        touched: dict[str, SiteQueue] = {}
        answers = [self._add(task, touched) for task in tasks]
        for url, reason in refused:
            key = self.rules.identity.hash(url)
            if not self._knows(key):
                self._end(key, Entry(url, State.SKIPPED, url.site(self.rules.site_by), reason=reason))
        for queue in touched.values():
            self._line_up(queue)
        return answers

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        now = self._clock.now()
        leases: list[Lease] = []
        while len(leases) < sites and (queue := self._next_ready(now)):
            self._recover(queue)
            shown = queue.show(now, tasks)
            if shown:
                queue.token += 1
                queue.deadline = now + seconds
                self._leased += 1
                leases.append(Lease(queue.site, shown, queue.token, now, queue.deadline))
                queue.site = reserve(queue.site, now)
            self._line_up(queue)
        return Leased(tuple(leases), self._next_at(), now)

    async def extend(self, leases: Sequence[Lease], seconds: float) -> list[Lease | None]:
        deadline = self._clock.now() + seconds
        extended: list[Lease | None] = []
        for lease in leases:
            queue = self._held(lease)
            if queue is not None:
                queue.deadline = deadline
                self._line_up(queue)
            extended.append(replace(lease, deadline=deadline) if queue is not None else None)
        return extended

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        return [self._settle(account) for account in accounts]

    async def release(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            queue = self._held(lease)
            if queue is not None:
                self._give_back(queue)

    async def revive(self, wanted: Filter) -> int:
        count = sum(self._revive_site(queue) for queue in self._queues.values() if self._is_wanted(queue, wanted))
        for key, entry in list(self._ended.items()):
            revivable = entry.state in {State.SKIPPED, State.DEAD} and entry.task is not None
            if revivable and matches(wanted, entry.state, entry.reason, entry.site):
                self._revive(key, entry)
                count += 1
        return count

    async def owe_again(self, tasks: Sequence[Task], *, ended: bool = False) -> int:
        # Who is owed is asked before anything changes: a site that comes back to life brings all that it owes.
        wanted: dict[int, Task] = {}
        for task in tasks:
            key = self.rules.identity.hash(task.url)
            if self._is_over(key, ended=ended):
                wanted.setdefault(key, task)
        for key, task in wanted.items():
            self._owe_again(key, task, ended=ended)
        return len(wanted)

    async def order(self, order: SiteOrder) -> None:
        self._orders.pop(order.site, None)
        if order:
            self._orders[order.site] = order

    async def orders(self) -> list[SiteOrder]:
        return sorted(self._orders.values(), key=lambda order: order.site)

    async def dismiss(self, urls: Sequence[tuple[Url, Reason]]) -> list[bool]:
        answers: list[bool] = []
        wanted: dict[int, Reason] = {}
        for url, reason in urls:
            key = self.rules.identity.hash(url)
            answers.append(key not in wanted and self._is_dismissible(key))
            if answers[-1]:
                wanted[key] = reason
        for key in wanted.keys() & self._ended.keys():
            self._end(key, dismissed(self._unend(key), wanted[key]))
        for site in {self._owed[key] for key in wanted.keys() & self._owed.keys()}:
            queue = self._queues[site]
            for key, task in queue.take(wanted.keys()).items():
                self._end(key, dismissed(self._line_of(queue, task), wanted[key]))
                self._disown(key, task, queue)
            self._line_up(queue)
        return answers

    async def census(self) -> Census:
        count = self._counts
        return Census(
            discovered=len(self._owed) + len(self._ended) + len(self._hashes),
            pending=count[State.PENDING, None],
            waiting=count[State.WAITING, None],
            fetched=count[State.FETCHED, None],
            alias=count[State.ALIAS, None],
            skipped=self._by_reason(State.SKIPPED),
            dead=self._by_reason(State.DEAD),
            sites=len(self._queues),
            leased=self._leased,
            stale=self._stale,
        )

    async def find(self, url: Url) -> Entry | None:
        key = self.rules.identity.hash(url)
        if key not in self._owed:
            return self._ended.get(key)
        queue = self._queues[self._owed[key]]
        task = next(task for task in queue.tasks() if self.rules.identity.hash(task.url) == key)
        return self._line_of(queue, task)

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        return [self._knows(self.rules.identity.hash(url)) for url in urls]

    async def entries(self, wanted: Filter | None = None) -> AsyncIterator[list[Entry]]:
        wanted = wanted or Filter()
        owed = [self._line_of(queue, task) for queue in self._queues.values() for task in queue.tasks()]
        lines = [line for line in (*owed, *self._ended.values()) if matches(wanted, line.state, line.reason, line.site)]
        for start in range(0, len(lines), _BATCH):
            yield lines[start : start + _BATCH]

    async def hashes(self) -> AsyncIterator[list[int]]:
        hashes = list(self._hashes)
        for start in range(0, len(hashes), _BATCH):
            yield hashes[start : start + _BATCH]

    async def sites(self) -> AsyncIterator[list[Site]]:
        sites = [queue.site for queue in self._queues.values()]
        for start in range(0, len(sites), _BATCH):
            yield sites[start : start + _BATCH]

    async def look_at(self, site: str) -> tuple[Site, float | None] | None:
        """One site, and until when it is lent."""
        queue = self._queues.get(site)
        return None if queue is None else (queue.site, queue.deadline)

    async def browse(self, search: Search, after: str | None = None, *, most: int = 100, look: int = 100_000) -> Slice:
        browsing = Browsing(self._queues, self._ended, self._line_of, self.rules.identity.seed)
        return browsing.slice(search, after, most=most, look=look)

    async def survey(self) -> AsyncIterator[list[SiteLine]]:
        queues = list(self._queues.values())
        for start in range(0, len(queues), _BATCH):
            yield [surveyed(queue) for queue in queues[start : start + _BATCH]]

    async def restore(
        self, entries: Sequence[Entry] = (), sites: Sequence[Site] = (), hashes: Sequence[int] = ()
    ) -> int:
        for site in sites:
            queue = self._queue(site.key)
            was_aside = queue.site.set_aside
            queue.site = restored(queue.site, site)
            self._count_aside(queue, was_aside=was_aside)
            self._line_up(queue)
        return sum(map(self._restore, entries)) + sum(map(self._restore_hash, hashes))

    # what the methods above are made of

    def _add(self, task: Task, touched: dict[str, SiteQueue]) -> Added:
        key = self.rules.identity.hash(task.url)
        if self._knows(key):
            return Added.KNOWN
        queue = self._queue(task.url.site(self.rules.site_by))
        quota = self.rules.site_quota
        if quota is not None and queue.site.admitted >= quota:
            self._end(key, Entry(task.url, State.SKIPPED, queue.site.key, task, Reason.SITE_QUOTA))
            return Added.OVER_QUOTA
        queue.site = replace(queue.site, admitted=queue.site.admitted + 1)
        self._owe(key, replace(task, sequence=queue.next_sequence()), queue)
        touched[queue.site.key] = queue
        return Added.NEW

    def _recover(self, queue: SiteQueue) -> None:
        """A lease that ran out: its tasks count one recovery more, its site has rested."""
        if queue.deadline is None:
            return
        queue.site = rested(queue.site, queue.deadline)
        for key, task in list(queue.shown.items()):
            match expired(task, queue.deadline, self.rules.settle):
                case Dead() as dead:
                    self._finish(key, task, dead, queue)
                case _:
                    queue.shown[key] = replace(task, recoveries=task.recoveries + 1)
        self._give_back(queue)

    def _held(self, lease: Lease) -> SiteQueue | None:
        queue = self._queues.get(lease.site.key)
        is_held = queue is not None and queue.deadline is not None and queue.token == lease.token
        return queue if is_held else None

    def _give_back(self, queue: SiteQueue) -> None:
        queue.deadline = None
        queue.hide()
        self._leased -= 1
        self._line_up(queue)

    def _settle(self, account: Settled) -> bool:
        queue = self._held(account.lease)
        if queue is None:
            self._stale += 1
            return False
        for task, settlement in account.settlements:
            key = self.rules.identity.hash(task.url)
            shown = queue.shown.get(key)
            if shown is not None:
                self._finish(key, shown, settlement, queue)
        was_aside = queue.site.set_aside
        queue.site = written_back(queue.site, account.site)
        self._count_aside(queue, was_aside=was_aside)
        if account.keep and not queue.site.set_aside:
            self._line_up(queue)
        else:
            self._give_back(queue)
        return True

    def _finish(self, key: int, task: Task, settlement: Settlement, queue: SiteQueue) -> None:
        del queue.shown[key]
        self._disown(key, task, queue)
        after = apply(task, settlement, queue.site.key)
        if isinstance(settlement, Done):
            key, after = self._named(key, task, after, settlement.url)
        match after:
            case Owed(next_task):
                self._owe(key, next_task, queue)
            case Ended(entry):
                self._end(key, entry)

    def _named(self, key: int, task: Task, after: Next, url: Url) -> tuple[int, Next]:
        """Under its final name, with the asked one as alias; or, when that name is taken, noting whose it is."""
        new_key = self.rules.identity.hash(url)
        if new_key == key:
            return key, after
        if self._knows(new_key):
            return key, Ended(replace(after.entry, of=url)) if isinstance(after, Ended) else after
        self._end(key, alias(task, url, url.site(self.rules.site_by)))
        return new_key, renamed(after, url)

    def _is_wanted(self, queue: SiteQueue, wanted: Filter) -> bool:
        aside = queue.site.set_aside
        return aside and matches(wanted, State.SKIPPED, Reason.SITE_UNREACHABLE, queue.site.key)

    def _revive_site(self, queue: SiteQueue) -> int:
        queue.site = revived_site(queue.site)
        self._count_aside(queue, was_aside=True)
        self._line_up(queue)
        return len(queue)

    def _revive(self, key: int, entry: Entry) -> None:
        if entry.task is None:
            return
        self._unend(key)
        queue = self._queue(entry.site)
        self._owe(key, revived(entry.task, queue.next_sequence()), queue)
        self._line_up(queue)

    def _is_dismissible(self, key: int) -> bool:
        entry = self._ended.get(key)
        return key in self._owed or (entry is not None and entry.task is not None)

    def _is_over(self, key: int, *, ended: bool) -> bool:
        if key in self._owed:
            return ended and self._queues[self._owed[key]].site.set_aside
        entry = self._ended.get(key)
        return key in self._hashes or (entry is not None and (ended or entry.state is State.FETCHED))

    def _owe_again(self, key: int, task: Task, *, ended: bool) -> None:
        queue = self._queue(self._owed.get(key) or task.url.site(self.rules.site_by))
        if ended and queue.site.set_aside:
            self._revive_site(queue)
        if key in self._owed:
            return
        over = self._ended.pop(key, None)
        self._hashes.discard(key)
        self._counts[(over.state, over.reason) if over is not None else (State.FETCHED, None)] -= 1
        self._owe(key, replace(task, sequence=queue.next_sequence()), queue)
        self._line_up(queue)

    def _restore(self, entry: Entry) -> bool:
        key = self.rules.identity.hash(entry.url)
        if self._knows(key):
            return False
        known = self._queues.get(entry.site)
        is_aside = known is not None and known.site.set_aside and entry.reason is Reason.SITE_UNREACHABLE
        if entry.task is not None and (entry.state in {State.PENDING, State.WAITING} or is_aside):
            queue = self._queue(entry.site)
            self._owe(key, replace(entry.task, sequence=queue.next_sequence()), queue)
            self._line_up(queue)
        else:
            self._end(key, entry)
        return True

    def _restore_hash(self, key: int) -> bool:
        if self._knows(key):
            return False
        self._hashes.add(key)
        self._counts[State.FETCHED, None] += 1
        return True

    def _by_reason(self, state: State) -> dict[Reason, int]:
        return {reason: n for (counted, reason), n in self._counts.items() if counted is state and reason and n}
