"""What one act reads and writes: rows are loaded once, changed in memory, and written back together by `flush`.

Deletions go before insertions, so that a task put off to the very moment it had takes its own place again.
"""

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import takewhile
from typing import Any, Final

from msgspec import Struct
from msgspec.json import encode

from outrider.model.ledger import Entry, State
from outrider.model.reason import Reason
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.policy.pace import PaceLimits, fresh_pace
from outrider.stores.sqlite.rows import (
    Spot,
    TaskRow,
    pack_ended,
    pack_robots,
    pack_shown,
    pack_site,
    pack_task,
    unpack_robots,
    unpack_shown,
    unpack_site,
)
from outrider.stores.sqlite.seen import Recent, Seen
from outrider.stores.sqlite.sql import SQL

_BEFORE_ALL: Final = -(1 << 63)

PENDING: Final = (State.PENDING.value, "")
WAITING: Final = (State.WAITING.value, "")
FETCHED: Final = (State.FETCHED.value, "")
ASIDE: Final = (State.SKIPPED.value, Reason.SITE_UNREACHABLE.value)
DISCOVERED: Final = ("discovered", "")
SITES: Final = ("sites", "")
LEASED: Final = ("leased", "")
STALE: Final = ("stale", "")
"""Names of counts: the states, and what a census counts beside them."""


class Over(Struct, frozen=True):
    """Where an ended URL is counted, and the id of the line that it may have."""

    counted: tuple[str, str]
    line: int | None = None


class SiteRow:
    """A site with its queue's sums. `shown` maps the hashes of the tasks that its holder is shown to their spots."""

    __slots__ = (
        *("admitted", "deadline", "files", "id", "pending", "ready_at", "robots", "sequence", "shown", "site"),
        *("token", "waiting"),
    )

    def __init__(self, row: tuple[Any, ...], limits: PaceLimits) -> None:
        self.id: int
        self.ready_at: float | None
        self.deadline: float | None
        self.token: int
        self.sequence: int
        self.pending: int
        self.waiting: int
        self.robots: int | None
        self.id, key, self.ready_at, self.deadline, self.token, self.sequence = row[:6]
        self.pending, self.waiting, self.robots, shown, state = row[6:]
        self.shown: dict[int, Spot] = unpack_shown(shown)
        self.site: Site = Site(key, pace=fresh_pace(limits)) if state is None else unpack_site(key, state)
        self.admitted = self.site.admitted
        self.files: bytes | None = None

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    def write(self, site: Site) -> None:
        """The site as its holder or another store gives it, robots.txt files included."""
        self.site = site
        digest, files = pack_robots(site.robots)
        if digest != self.robots:
            self.robots, self.files = digest, files


class Batch:
    """`origins` are the ids that this process knows already."""

    def __init__(
        self, connection: sqlite3.Connection, limits: PaceLimits, origins: dict[str, int], recent: Recent
    ) -> None:
        self.seen = Seen(connection, recent)
        self._execute = connection.execute
        self._executemany = connection.executemany
        self._limits = limits
        self._origins = origins
        self.new_origins: dict[str, int] = {}
        self.sites: dict[str, SiteRow] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.gone: list[tuple[int, int, float, int]] = []
        self._queued: list[tuple[int, int, float, int, int, str, str, bytes]] = []
        self._ended: list[tuple[Any, ...]] = []
        self.strays: list[tuple[int, int]] = []

    # the seen

    def see(self, hashes: Collection[int]) -> set[int]:
        """Remember them; which were new."""
        new = self.seen.see(hashes)
        self.counts[DISCOVERED] += len(new)
        return new

    def standing(self, hashes: Collection[int], sites: Collection[str]) -> tuple[dict[int, str], dict[int, Over]]:
        """Those of them, of URLs of these sites, that are owed, with the site whose queue has them; and the ended ones.

        There is no index of what is owed: the whole queues of the sites are read, so many should be asked for at once.
        """
        known = sorted(self.seen.known(hashes))
        listed = encode(known).decode()
        owed: dict[int, str] = dict(self._execute(SQL["owed_among"], (listed, encode(sorted(sites)).decode(), listed)))
        over = {key: Over(FETCHED) for key in known if key not in owed}
        for line, key, state, reason in self._execute(SQL["ended_among"], (listed,)):
            over[key] = Over((state, reason or ""), line)
        return owed, over

    def unend(self, over: Over) -> None:
        self.counts[over.counted] -= 1
        if over.line is not None:
            self._execute(SQL["unend"], (over.line,))

    # sites

    def load(self, keys: Iterable[str]) -> None:
        missing = [key for key in dict.fromkeys(keys) if key not in self.sites]
        if missing:
            self._adopt(self._execute(SQL["sites"], (encode(missing).decode(),)))

    def make(self, keys: Iterable[str]) -> None:
        """Load them, and begin those that nobody knew."""
        wanted = list(dict.fromkeys(keys))
        self.load(wanted)
        missing = [key for key in wanted if key not in self.sites]
        if missing:
            self.counts[SITES] += self._execute(SQL["make_sites"], (encode(missing).decode(),)).rowcount
            self.load(missing)

    def ready(self, now: float, most: int) -> list[SiteRow]:
        """Those whose turn it is, in order. All that was changed must have been flushed."""
        return self._adopt(self._execute(SQL["ready_sites"], (now, most)))

    def next_ready(self) -> float | None:
        row = self._execute(SQL["next_ready"]).fetchone()
        return None if row is None else row[0]

    def _adopt(self, rows: Iterable[tuple[Any, ...]]) -> list[SiteRow]:
        adopted = [SiteRow(row, self._limits) for row in rows]
        self.sites.update((row.site.key, row) for row in adopted)
        return adopted

    def robots_of(self, row: SiteRow) -> tuple[Any, ...]:
        found = None if row.robots is None else self._execute(SQL["robots"], (row.id,)).fetchone()
        return () if found is None else unpack_robots(found[0])

    # tasks

    def due(self, row: SiteRow, now: float, most: int) -> list[TaskRow]:
        """The first of the due tasks. Within a rank they come first, so a rank is left at the first that is not due."""
        found: list[TaskRow] = []
        rank = _BEFORE_ALL
        while (wanted := most - len(found)) > 0:
            rows = self._execute(SQL["first_rows"], (row.id, rank, wanted)).fetchall()
            due = list(takewhile(lambda task: task[1] <= now, rows))
            found += due
            if len(due) == len(rows):
                break
            rank = rows[len(due)][0]
        return found

    def task_row(self, row: SiteRow, spot: Spot) -> TaskRow:
        found: TaskRow = self._execute(SQL["row"], (row.id, *spot)).fetchone()
        return found

    def rewrite(self, row: SiteRow, task: Task) -> None:
        spot = (row.id, -task.priority, task.due_at, task.sequence)
        self._execute(SQL["rewrite"], (pack_task(task, task.url.origin), *spot))

    def owe(self, row: SiteRow, key: int, task: Task, sequence: int) -> None:
        url = task.url
        cut = url.find("/", 8)
        origin = url[:cut]
        rest = pack_task(task, origin)
        self._queued.append((row.id, -task.priority, task.due_at, sequence, key, origin, url[cut:], rest))
        self.tally(row, task.due_at, 1)

    def disown(self, row: SiteRow, spot: Spot) -> None:
        self.gone.append((row.id, *spot))
        self.tally(row, spot[1], -1)

    def tally(self, row: SiteRow, due_at: float, change: int) -> None:
        """A task more, or less, in the sums of its site and of the ledger."""
        if due_at:
            row.waiting += change
        else:
            row.pending += change
        self.counts[ASIDE if row.site.set_aside else WAITING if due_at else PENDING] += change

    def tally_aside(self, row: SiteRow, *, was_aside: bool) -> None:
        """The site was set aside, or brought back: all its tasks change state with it."""
        change = row.site.set_aside - was_aside
        self.counts[ASIDE] += change * (row.pending + row.waiting)
        self.counts[PENDING] -= change * row.pending
        self.counts[WAITING] -= change * row.waiting

    def end(self, key: int, entry: Entry) -> None:
        """A fetched URL keeps no line, unless it has something to say."""
        reason = "" if entry.reason is None else entry.reason.value
        self.counts[entry.state.value, reason] += 1
        if entry.state is not State.FETCHED or entry.of is not None:
            self._ended.append(pack_ended(key, entry))

    # writing

    def flush(self) -> None:
        """Write everything, and forget what was loaded."""
        self.flush_tasks()
        if self._ended:
            self._executemany(SQL["end"], self._ended)
            self._ended.clear()
        if self.strays:
            self._executemany(SQL["stray"], self.strays)
            self.strays.clear()
        self._flush_sites()
        self._executemany(SQL["count"], [(*name, n) for name, n in self.counts.items() if n])
        self.counts.clear()

    def flush_tasks(self) -> None:
        if self.gone:
            self._executemany(SQL["unqueue"], self.gone)
            self.gone.clear()
        if self._queued:
            self._name_origins({row[5] for row in self._queued})
            self._executemany(SQL["queue"], self._queue_values())
            self._queued.clear()

    def _name_origins(self, texts: set[str]) -> None:
        missing = [text for text in texts if text not in self._origins and text not in self.new_origins]
        if missing:
            listed = encode(missing).decode()
            self._execute(SQL["name_origins"], (listed,))
            self.new_origins.update(self._execute(SQL["origins"], (listed,)))

    def _queue_values(self) -> Iterator[tuple[Any, ...]]:
        ids = self._origins | self.new_origins if self.new_origins else self._origins
        for site, rank, due_at, sequence, key, origin, target, rest in self._queued:
            yield site, rank, due_at, sequence, key, ids[origin], target, rest

    def _flush_sites(self) -> None:
        moved: list[tuple[Any, ...]] = []
        stayed: list[tuple[Any, ...]] = []
        for row in self.sites.values():
            values = (
                *(row.deadline, row.token, row.sequence, row.pending, row.waiting, row.robots),
                *(pack_shown(row.shown), pack_site(row.site, row.admitted), row.id),
            )
            ready_at = self._ready_at(row)
            if ready_at is not None and ready_at == row.ready_at:
                # Its turn has not changed, and the trees that are ordered by it need not be touched.
                stayed.append(values)
            else:
                moved.append((ready_at, row.site.set_aside, *values))
            if row.files is not None:
                self._execute(SQL["write_robots"], (row.id, row.files))
        self._executemany(SQL["write_site"], moved)
        self._executemany(SQL["write_resting_site"], stayed)
        self.sites.clear()

    def _ready_at(self, row: SiteRow) -> float | None:
        """When the site may next be lent; None while it owes nothing or must be left alone."""
        site = row.site
        if not row.pending + row.waiting or site.set_aside or site.excluded:
            return None
        if row.deadline is not None:
            return max(site.not_before, row.deadline + site.pace.interval)
        return max(site.not_before, 0.0 if row.pending else self._first_due(row))

    def _first_due(self, row: SiteRow) -> float:
        """The first of each rank; there are few ranks."""
        moments: list[float] = []
        rank = _BEFORE_ALL
        while found := self._execute(SQL["first_moment"], (row.id, rank)).fetchone():
            rank = found[0]
            moments.append(found[1])
        return min(moments)
