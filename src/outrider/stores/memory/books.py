"""The books of the frontier in memory: who is owed, what has ended, whose turn it is; and the counts that add up."""

from collections import Counter
from heapq import heappop, heappush

from outrider.model.ledger import Entry, State
from outrider.model.reason import Reason
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.policy.pace import fresh_pace
from outrider.policy.transition import set_aside_entry, state_of
from outrider.ports import FrontierRules
from outrider.stores.agreement import with_seed
from outrider.stores.memory.queue import SiteQueue


class Books:
    """`_owed` says in whose queue a URL is; `_ended` and `_hashes` have those that are in none."""

    def __init__(self, rules: FrontierRules) -> None:
        self.rules = with_seed(rules)
        self._queues: dict[str, SiteQueue] = {}
        self._owed: dict[int, str] = {}
        self._ended: dict[int, Entry] = {}
        self._hashes: set[int] = set()
        self._counts: Counter[tuple[State, Reason | None]] = Counter()
        self._ready: list[tuple[float, str]] = []

    def _knows(self, key: int) -> bool:
        return key in self._owed or key in self._ended or key in self._hashes

    def _queue(self, site: str) -> SiteQueue:
        queue = self._queues.get(site)
        if queue is None:
            fresh = Site(site, pace=fresh_pace(self.rules.settle.pace))
            queue = self._queues[site] = SiteQueue(fresh)
        return queue

    def _owe(self, key: int, task: Task, queue: SiteQueue) -> None:
        self._owed[key] = queue.site.key
        queue.put(key, task)
        self._counts[self._counted(queue, task)] += 1

    def _disown(self, key: int, task: Task, queue: SiteQueue) -> None:
        del self._owed[key]
        self._counts[self._counted(queue, task)] -= 1

    def _end(self, key: int, entry: Entry) -> None:
        self._ended[key] = entry
        self._counts[entry.state, entry.reason] += 1

    def _unend(self, key: int) -> Entry:
        entry = self._ended.pop(key)
        self._counts[entry.state, entry.reason] -= 1
        return entry

    def _counted(self, queue: SiteQueue, task: Task) -> tuple[State, Reason | None]:
        return (State.SKIPPED, Reason.SITE_UNREACHABLE) if queue.site.set_aside else (state_of(task), None)

    def _line_of(self, queue: SiteQueue, task: Task) -> Entry:
        if queue.site.set_aside:
            return set_aside_entry(task, queue.site.key)
        return Entry(task.url, state_of(task), queue.site.key, task, visits=task.visits)

    def _line_up(self, queue: SiteQueue) -> None:
        """Its place among the ready; places that are no longer true are passed over when they come up."""
        ready_at = queue.ready_at
        if ready_at is not None:
            heappush(self._ready, (ready_at, queue.site.key))

    def _next_ready(self, now: float) -> SiteQueue | None:
        next_at = self._next_at()
        if next_at is None or next_at > now:
            return None
        return self._queues[heappop(self._ready)[1]]

    def _next_at(self) -> float | None:
        while self._ready and self._queues[self._ready[0][1]].ready_at != self._ready[0][0]:
            heappop(self._ready)
        return self._ready[0][0] if self._ready else None

    def _count_aside(self, queue: SiteQueue, *, was_aside: bool) -> None:
        if queue.site.set_aside == was_aside:
            return
        for task in queue.tasks():
            aside, owed = (State.SKIPPED, Reason.SITE_UNREACHABLE), (state_of(task), None)
            self._counts[aside] += 1 if queue.site.set_aside else -1
            self._counts[owed] += -1 if queue.site.set_aside else 1
