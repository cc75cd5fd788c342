"""The ledger page by page: a few steps through the server's own tables, however many lines there are.

What is owed comes site by site, and there in the order in which it is lent; then what has ended and may be revived. Of
a URL that was fetched, refused or is an alias only the hash is left here: the records have what was fetched.

Sites and ended lines stand in hashes, which are walked by the server's cursor: what it has passed it has passed for
good, also when the hash grows meanwhile, because a larger table only divides each of its places. Within a place, the
sites come by name and the ended lines are remembered by their hashes, so that a page may end anywhere. Only when nine
tenths of the ended lines are revived between two pages may others be shown again. A server that was restarted scatters
its tables anew: then one must begin again, and is told so.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder

from outrider.errors import ConfigError
from outrider.model.ledger import Entry, Search, Slice, State
from outrider.model.task import Task
from outrider.policy.search import is_wanted, may_be_found, may_have_ended, queued_states
from outrider.policy.transition import set_aside_entry, state_of
from outrider.stores.bookmark import Bookmarks
from outrider.stores.redis import packing
from outrider.stores.redis.buckets import Buckets
from outrider.stores.redis.link import Argument
from outrider.stores.redis.packing import POINTER, Numbers
from outrider.stores.redis.server import Server
from outrider.stores.slicing import Gathering, Line

_SITES: Final = 200
"""A step through the sites."""
_AT_ONCE: Final = 1_000
"""Lines a script call: the server serves nobody else meanwhile."""
_RUN: Final = 8

Spot: TypeAlias = tuple[int, float, int]
"""Rank, due time, sequence: where in its site's queues a task is. Rank is the priority, negated."""


class _Owed(Struct, array_like=True, tag="owed"):
    """Behind a task of a site; without a spot, behind the site.

    Of the site's place in the table, which begins at `cursor`, names up to `done[until]` were seen before the cursor
    comes to `until`. One pair of them is the rule; there are more when the table grew between two pages.
    """

    bucket: int = 0
    cursor: int = 0
    run: str = ""
    done: tuple[tuple[int, str], ...] = ()
    site: str = ""
    spot: Spot | None = None


class _Ended(Struct, array_like=True, tag="ended"):
    """Of what comes from `cursor` on, these were shown already."""

    bucket: int = 0
    cursor: int = 0
    run: str = ""
    shown: tuple[int, ...] = ()


_Place: TypeAlias = _Owed | _Ended
_Lines: TypeAlias = AsyncIterator[Line[_Place]]
_decoder: Decoder[_Place] = Decoder(_Place)


class Browsed(Protocol):
    """What is needed of the frontier."""

    server: Server
    buckets: Buckets

    async def spilled(self, queue: bytes, segments: Sequence[bytes], after: int, most: int) -> list[bytes]: ...


async def browse(frontier: Browsed, search: Search, after: str | None, *, most: int, look: int) -> Slice:
    """Raises `ConfigError` for an `after` that is not of this store's making, or of the server before a restart."""
    bookmarks: Bookmarks[_Place] = Bookmarks(f"redis {frontier.server.mark}", _decoder)
    start = _Owed() if after is None else bookmarks.read(after)
    if not may_be_found(search):
        return Slice(())
    gathering: Gathering[_Place] = Gathering(search, most=most, look=look)
    async for line in _Reader(frontier, gathering).lines(start):
        if not gathering.takes(*line):
            return gathering.slice(bookmarks, is_over=False)
    return gathering.slice(bookmarks, is_over=True)


class _Reader:
    """The lines that one search may want, in order, each with its place. What is ruled out unread comes as None."""

    def __init__(self, frontier: Browsed, gathering: Gathering[_Place]) -> None:
        self._frontier = frontier
        self._gathering = gathering
        self._search = search = gathering.search
        self._states = queued_states(search)
        self._text = search.text or ""
        both = {State.PENDING, State.WAITING} <= self._states or State.SKIPPED in self._states
        names = (search.state, search.reason, search.site)
        self._words = [name.encode() for name in names if name is not None]
        self._which = "" if both else "p" if State.PENDING in self._states else "w"

    async def lines(self, start: _Place) -> _Lines:
        number = self._frontier.buckets.number
        site = self._search.site
        buckets = range(number) if site is None else [self._frontier.buckets.of_site(site)]
        if isinstance(start, _Owed):
            for bucket in buckets if self._states else ():
                if bucket >= start.bucket:
                    place = start if bucket == start.bucket else _Owed(bucket)
                    async for line in self._bucket(place) if site is None else self._only(place, site):
                        yield line
            start = _Ended()
        for bucket in buckets if may_have_ended(self._search) else ():
            if bucket >= start.bucket:
                async for line in self._over(start if bucket == start.bucket else _Ended(bucket)):
                    yield line

    async def _walk(self, place: _Place, name: str, fields: int) -> tuple[int, dict[bytes, bytes], str]:
        run, after, *flat = await self._frontier.server.call("walk", place.bucket, (name, place.cursor, fields))
        this_run = run.decode()[:_RUN]
        if place.run and place.run != this_run:
            raise ConfigError("the server was restarted since the last page and has another order now; begin again")
        return int(after), dict(zip(flat[::2], flat[1::2], strict=True)), this_run

    # what is owed

    async def _only(self, place: _Owed, site: str) -> _Lines:
        async for line in self._queues(_Owed(place.bucket), [site], place.spot if place.site == site else None):
            yield line

    async def _bucket(self, place: _Owed) -> _Lines:
        if place.spot is not None:
            async for line in self._queues(place, [place.site], place.spot):
                yield line
        done = dict(place.done)
        fields = _SITES
        while True:
            after, found, run = await self._walk(place, "s", fields)
            passed = [until for until in done if _order(after) > _order(until)]
            if passed and fields > 1:
                # Some of these come before the end of what was seen and some behind it: in shorter steps.
                fields //= 2
                continue
            # The shortest step finds what stands in one place, so all of it is behind.
            done = {until: last for until, last in done.items() if until not in passed}
            fields = _SITES
            place = _Owed(place.bucket, place.cursor, run, tuple(done.items()))
            names = sorted(name.decode() for name in found)
            new = [name for name in names if all(name > last for last in done.values())]
            wanted = [name for name in new if self._is_read(packing.read_numbers(found[name.encode()]))]
            async for line in self._queues(place, wanted, None, after):
                yield line
            done.pop(after, None)
            behind = _Owed(place.bucket, after, run, tuple(done.items())) if after else _Owed(place.bucket + 1)
            if len(new) > len(wanted):
                yield behind, None, len(new) - len(wanted)
            if not after:
                return
            place = behind

    def _is_read(self, numbers: Numbers) -> bool:
        if numbers.flags & 1:
            return State.SKIPPED in self._states and numbers.pending + numbers.waiting > 0
        is_pending = numbers.pending and State.PENDING in self._states
        return bool(is_pending or (numbers.waiting and State.WAITING in self._states))

    async def _queues(self, place: _Owed, names: Sequence[str], spot: Spot | None, until: int | None = None) -> _Lines:
        """The tasks of these sites, the first one's behind a spot. Without `until` the place stays as it was."""
        done = dict(place.done)
        while names:
            most = self._most()
            call: list[Argument] = [most, self._which, *_place_of(names[0], spot)]
            for name in names[1:]:
                call += _place_of(name, None)
            answers = await self._frontier.server.call("page", place.bucket, call)
            for name, (packed, cut, held, flat) in zip(names, answers, strict=False):
                tasks, is_cut = await self._tasks(name, flat, spot, most)
                shown = packing.read_tasks(held, name)
                is_cut = is_cut or (cut == 1 and bool(tasks))
                if until is not None:
                    done[until] = name
                aside = bool(packed) and bool(packing.read_numbers(packed).flags & 1)
                seen = tuple(done.items())
                for task in self._merged(tasks, shown, spot, is_cut=is_cut):
                    at = _Owed(place.bucket, place.cursor, place.run, seen, name, _spot(task))
                    yield at, self._line(task, name, aside=aside)
                if is_cut:
                    names, spot = names[names.index(name) :], _spot(tasks[-1])
                    break
                spot = None
            else:
                names = names[len(answers) :]

    def _most(self) -> int:
        """So many as will be shown, unless most of them are not: then so many as may be looked at."""
        patience = max(1, min(self._gathering.patience, _AT_ONCE))
        return patience if self._text else min(patience, self._gathering.room + 1)

    async def _tasks(self, site: str, flat: Sequence[bytes], spot: Spot | None, most: int) -> tuple[list[Task], bool]:
        """In order, what is in files at its place among them; and whether there are more than were asked for."""
        tasks: list[Task] = []
        segments: list[bytes] = []
        for at in range(0, len(flat), 3):
            priority, due, item = int(float(flat[at])), flat[at + 1], flat[at + 2]
            if not due:
                segments.append(item)
                is_last = at + 3 >= len(flat) or flat[at + 4] or flat[at + 3] != flat[at]
                if is_last:
                    after = spot[2] if spot is not None and spot[0] == -priority else 0
                    items = await self._frontier.spilled(f"{priority}:{site}".encode(), segments, after, most)
                    tasks += [packing.read_task(one, site, priority, 0.0) for one in items]
                    segments = []
                    if len(items) >= most:
                        return tasks[:most], True
            else:
                tasks.append(packing.read_task(item, site, priority, float(due)))
        return tasks[:most], len(tasks) > most

    def _merged(self, tasks: list[Task], held: list[Task], spot: Spot | None, *, is_cut: bool) -> list[Task]:
        """What is shown to a holder stands among the others. Of what was cut off, only up to there."""
        wanted = [task for task in held if self._which != ("w" if not task.due_at else "p")]
        among = [task for task in wanted if spot is None or _spot(task) > spot]
        if is_cut:
            among = [task for task in among if _spot(task) < _spot(tasks[-1])]
        return sorted([*tasks, *among], key=_spot)

    def _line(self, task: Task, site: str, *, aside: bool) -> Entry | None:
        if self._text not in task.url:
            return None
        if aside:
            return set_aside_entry(task, site)
        return Entry(task.url, state_of(task), site, task, visits=task.visits)

    # what has ended

    async def _over(self, place: _Ended) -> _Lines:
        fields = max(1, self._gathering.room // 2)
        shown = [*place.shown]
        while True:
            after, found, run = await self._walk(place, "e", max(1, min(fields, self._gathering.patience)))
            before = {str(key).encode() for key in shown}
            new = {key: line for key, line in found.items() if key not in before}
            hits = [(key, entry) for key, line in new.items() if (entry := self._ended(line)) is not None]
            for key, entry in hits:
                shown.append(int(key))
                yield _Ended(place.bucket, place.cursor, run, tuple(shown)), entry
            left = tuple(key for key in shown if str(key).encode() not in found)
            place = _Ended(place.bucket, after, run, left) if after else _Ended(place.bucket + 1)
            if len(new) > len(hits):
                yield place, None, len(new) - len(hits)
            if not after:
                return
            shown = [*left]
            # A page that ends within a place must name what it showed of it, so towards its end the steps are short.
            fields = max(1, self._gathering.room // 2) if hits else min(2 * fields, _AT_ONCE)

    def _ended(self, line: bytes) -> Entry | None:
        """All that a line says stands in it as it is: most that are not wanted need not be read."""
        if line.startswith(POINTER) or not all(word in line for word in self._words):
            return None
        entry = packing.read_line(line)
        return entry if is_wanted(self._search, entry) else None


def _order(cursor: int) -> int:
    """Cursors count with their lowest bit first, so that a table which doubles divides what is left and nothing else.

    Zero is the end.
    """
    return int(f"{cursor:064b}"[::-1], 2) if cursor else 1 << 64


def _spot(task: Task) -> Spot:
    return -task.priority, task.due_at, task.sequence


def _place_of(site: str, spot: Spot | None) -> list[Argument]:
    return [site, "", "", ""] if spot is None else [site, -spot[0], repr(spot[1]), spot[2]]
