"""One site's queue in memory: what is due, what is due later, and what its holder is shown."""

from collections.abc import Collection
from heapq import heapify, heappop, heappush

from outrider.model.site import Site
from outrider.model.task import Task
from outrider.policy.select import order


class SiteQueue:
    """`deadline` is None while nobody holds the site. `shown` are the tasks that its lease shows, by identity."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.token = 0
        self.deadline: float | None = None
        self.shown: dict[int, Task] = {}
        self._sequence = 0
        self._later: list[tuple[float, int, int, Task]] = []
        self._due: list[tuple[tuple[int, float, int], int, int, Task]] = []
        # When the tasks in `_due` became so: the earliest says since when the site has been ready. A task that leaves
        # marks its serial, and the moment is dropped when it comes to the top.
        self._moments: list[tuple[float, int]] = []
        self._left: set[int] = set()
        self._serial = 0

    def __len__(self) -> int:
        return len(self._due) + len(self._later) + len(self.shown)

    def next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence

    def tasks(self) -> list[Task]:
        resting = [entry[-1] for entry in self._due] + [entry[-1] for entry in self._later]
        return sorted([*resting, *self.shown.values()], key=lambda task: task.sequence)

    @property
    def ready_at(self) -> float | None:
        """When the site may next be lent; None while it owes nothing or must be left alone."""
        if not len(self) or self.site.set_aside or self.site.excluded:
            return None
        if self.deadline is not None:
            return max(self.site.not_before, self.deadline + self.site.pace.interval)
        return max(self.site.not_before, self._first_due())

    def put(self, key: int, task: Task) -> None:
        if task.due_at:
            heappush(self._later, (task.due_at, task.sequence, key, task))
        else:
            self._put_due(key, task)

    def show(self, now: float, most: int) -> tuple[Task, ...]:
        """The first of the due tasks: they stay owed until they are settled."""
        while self._later and self._later[0][0] <= now:
            _, _, key, task = heappop(self._later)
            self._put_due(key, task)
        while self._due and len(self.shown) < most:
            _, serial, key, task = heappop(self._due)
            self.shown[key] = task
            self._left.add(serial)
        return tuple(self.shown.values())

    def hide(self) -> None:
        """The lease is over: what it showed and nobody settled goes back to its place."""
        shown, self.shown = self.shown, {}
        for key, task in shown.items():
            self.put(key, task)

    def take(self, keys: Collection[int]) -> dict[int, Task]:
        """Those of them that are here leave the queue, shown or not."""
        taken = {key: self.shown.pop(key) for key in list(self.shown) if key in keys}
        taken |= {key: task for *_, key, task in (*self._due, *self._later) if key in keys}
        self._left |= {serial for _, serial, key, _ in self._due if key in keys}
        self._due = [entry for entry in self._due if entry[2] not in keys]
        self._later = [entry for entry in self._later if entry[2] not in keys]
        heapify(self._due)
        heapify(self._later)
        return taken

    def _put_due(self, key: int, task: Task) -> None:
        self._serial += 1
        heappush(self._due, (order(task), self._serial, key, task))
        heappush(self._moments, (task.due_at, self._serial))

    def _first_due(self) -> float:
        while self._moments and self._moments[0][1] in self._left:
            self._left.discard(heappop(self._moments)[1])
        return min(heap[0][0] for heap in (self._moments, self._later) if heap)
