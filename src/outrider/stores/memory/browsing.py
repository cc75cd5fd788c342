"""The ledger in memory, page by page: what is owed by site and in order of coming, then what has ended by its hash."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder

from outrider.model.ledger import Entry, Search, SiteLine, Slice
from outrider.model.task import Task
from outrider.policy.search import may_have_ended, queued_states
from outrider.stores.bookmark import Bookmarks
from outrider.stores.memory.queue import SiteQueue
from outrider.stores.slicing import Gathering, slice_of


class _Owed(Struct, array_like=True, tag="owed"):
    """`sequence` 0: before its first task."""

    site: str = ""
    sequence: int = 0


class _Ended(Struct, array_like=True, tag="ended"):
    key: int


_Place: TypeAlias = _Owed | _Ended
_decoder: Decoder[_Place] = Decoder(_Place)


class Browsing:
    """Over the frontier's own tables. It sorts what it shows: this is for small crawls."""

    def __init__(
        self,
        queues: Mapping[str, SiteQueue],
        ended: Mapping[int, Entry],
        line_of: Callable[[SiteQueue, Task], Entry],
        seed: int,
    ) -> None:
        self._queues = queues
        self._ended = ended
        self._line_of = line_of
        self._bookmarks: Bookmarks[_Place] = Bookmarks("memory", _decoder, seed)

    def slice(self, search: Search, after: str | None, *, most: int, look: int) -> Slice:
        start = _Owed() if after is None else self._bookmarks.read(after)
        return slice_of(self._lines(search, start), Gathering(search, most=most, look=look), self._bookmarks)

    def _lines(self, search: Search, start: _Place) -> Iterator[tuple[_Place, Entry]]:
        if isinstance(start, _Owed) and queued_states(search):
            yield from self._owed(search, start)
        if may_have_ended(search):
            yield from self._over(start.key if isinstance(start, _Ended) else None)

    def _owed(self, search: Search, start: _Owed) -> Iterator[tuple[_Place, Entry]]:
        for key in sorted(self._queues) if search.site is None else [search.site]:
            if key < start.site or key not in self._queues:
                continue
            queue = self._queues[key]
            tasks = queue.tasks()
            first = bisect_right(tasks, start.sequence, key=_sequence) if key == start.site else 0
            yield from ((_Owed(key, task.sequence), self._line_of(queue, task)) for task in tasks[first:])

    def _over(self, after: int | None) -> Iterator[tuple[_Place, Entry]]:
        keys = sorted(self._ended)
        first = 0 if after is None else bisect_right(keys, after)
        yield from ((_Ended(key), self._ended[key]) for key in keys[first:])


def surveyed(queue: SiteQueue) -> SiteLine:
    """A site that is set aside owes nothing."""
    tasks = [] if queue.site.set_aside else queue.tasks()
    waiting = sum(task.due_at != 0.0 for task in tasks)
    return SiteLine(queue.site, len(tasks) - waiting, waiting, queue.deadline)


def _sequence(task: Task) -> int:
    return task.sequence
