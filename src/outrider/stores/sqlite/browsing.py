"""The ledger page by page: a few lines further along trees that are there, however many lines there are.

What is owed comes by site, and there in the order in which it is lent; then what has ended, in order of ending. A task
that is put off meanwhile changes its place. Fetched URLs have no line here, unless they duplicate another: the records
have them.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder
from msgspec.structs import replace

from outrider.model.ledger import Entry, Search, SiteLine, Slice, State
from outrider.policy.pace import PaceLimits
from outrider.policy.search import may_be_found, may_have_ended, queued_states
from outrider.policy.transition import set_aside_entry, state_of
from outrider.stores.bookmark import Bookmarks
from outrider.stores.slicing import Gathering, Line, slice_of
from outrider.stores.sqlite.batch import Batch, SiteRow
from outrider.stores.sqlite.reading import Batches, cut
from outrider.stores.sqlite.rows import Spot, unpack_ended, unpack_task
from outrider.stores.sqlite.seen import Recent
from outrider.stores.sqlite.sql import SQL, named, script

_SQL: Final = named(script("browsing.sql"))

_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 63) - 1
_WINDOW: Final = 1_000
_START: Final[Spot] = (_LEAST, 0.0, _LEAST)


class _Owed(Struct, array_like=True, tag="owed"):
    """A site's id and the spot of a task in its queue; None: nothing more of that site is wanted."""

    site: int
    spot: Spot | None


class _Ended(Struct, array_like=True, tag="ended"):
    id: int


_Place: TypeAlias = _Owed | _Ended
_Lines: TypeAlias = Iterator[Line[_Place]]
_decoder: Decoder[_Place] = Decoder(_Place)


def browse(
    connection: sqlite3.Connection, search: Search, after: str | None, seed: int, *, most: int, look: int
) -> Slice:
    """Raises `ConfigError` for an `after` that is not of this store's making."""
    bookmarks: Bookmarks[_Place] = Bookmarks("sqlite", _decoder, seed)
    start = _Owed(_LEAST, None) if after is None else bookmarks.read(after)
    if not may_be_found(search):
        return Slice(())
    return slice_of(_Reader(connection, search).lines(start), Gathering(search, most=most, look=look), bookmarks)


def survey(connection: sqlite3.Connection, limits: PaceLimits) -> Batches[SiteLine]:
    """A site that is set aside owes nothing."""
    connection.execute("BEGIN")
    batch = Batch(connection, limits, {}, Recent())
    rows = (SiteRow(row, limits) for row in connection.execute(SQL["every_site"]))
    return cut(_site_line(batch, row) for row in rows)


def _site_line(batch: Batch, row: SiteRow) -> SiteLine:
    site = replace(row.site, robots=batch.robots_of(row))
    pending, waiting = (0, 0) if site.set_aside else (row.pending, row.waiting)
    return SiteLine(site, pending, waiting, row.deadline)


class _Reader:
    """The lines that one search may want, in order, each with its place. What is ruled out unread comes as None."""

    def __init__(self, connection: sqlite3.Connection, search: Search) -> None:
        self._execute = connection.execute
        self._search = search
        self._text = search.text or ""
        self._states = queued_states(search)

    def lines(self, start: _Place) -> _Lines:
        if isinstance(start, _Owed) and self._states:
            yield from self._owed(start)
        if may_have_ended(self._search) and self._is_there():
            yield from self._over(start.id if isinstance(start, _Ended) else 0)

    # the queues

    def _owed(self, start: _Owed) -> _Lines:
        for site, key, aside, pending, waiting in self._sites(start):
            spot = start.spot if site == start.site else _START
            if spot is None:
                continue
            if self._is_read(pending, waiting, aside=aside):
                for row in self._rows(site, spot, aside=aside):
                    yield _Owed(site, row[:3]), self._line(row, key, aside=aside)
            else:
                yield _Owed(site, None), None

    def _sites(self, start: _Owed) -> Iterable[tuple[Any, ...]]:
        if self._search.site is not None:
            found = self._execute(_SQL["site_named"], (self._search.site,)).fetchall()
            return [row for row in found if row[0] >= start.site]
        name = "sites_aside_from" if self._states == {State.SKIPPED} else "sites_from"
        return self._execute(_SQL[name], (start.site,))

    def _is_read(self, pending: int, waiting: int, *, aside: bool) -> bool:
        if aside:
            return State.SKIPPED in self._states and pending + waiting > 0
        return bool((pending and State.PENDING in self._states) or (waiting and State.WAITING in self._states))

    def _rows(self, site: int, spot: Spot, *, aside: bool) -> Iterator[tuple[Any, ...]]:
        """Of one state alone, the others of the same rank are passed by without being read."""
        if aside or {State.PENDING, State.WAITING} <= self._states:
            yield from self._execute(_SQL["rows_after"], (site, *spot))
            return
        is_pending = State.PENDING in self._states
        name, first = ("pending_after", (0.0, _LEAST)) if is_pending else ("waiting_after", (0.0, _MOST))
        rank, due_at, sequence = spot
        while found := self._execute(_SQL["rank_from"], (site, rank)).fetchone():
            within = max((due_at, sequence), first) if found[0] == rank else first
            rank = found[0]
            if not is_pending or within[0] == 0.0:
                yield from self._execute(_SQL[name], (site, rank, *within))
            if rank == _MOST:
                return
            rank, due_at, sequence = rank + 1, *first

    def _line(self, row: tuple[Any, ...], key: str, *, aside: bool) -> Entry | None:
        if self._text not in row[4] + row[5]:
            return None
        rank, due_at, sequence, identity, origin, target, rest = row
        task = unpack_task((rank, due_at, sequence, identity, origin, target, rest))
        if aside:
            return set_aside_entry(task, key)
        return Entry(task.url, state_of(task), key, task, visits=task.visits)

    # what has ended

    def _is_there(self) -> bool:
        """The sums tell when there is no such line at all. Those of what is set aside count as skipped."""
        return any(n > 0 and self._may_be(name, reason or None) for name, reason, n in self._execute(SQL["counts"]))

    def _may_be(self, state: str, reason: str | None) -> bool:
        is_end = state in {State.FETCHED, State.SKIPPED, State.DEAD, State.ALIAS}
        return is_end and self._search.state in {None, state} and self._search.reason in {None, reason}

    def _over(self, after: int) -> _Lines:
        reason = self._search.reason
        is_any = self._search.state is not State.DEAD and (reason is None or self._is_also_skipped(reason))
        if is_any:
            yield from self._windows(after)
            return
        by = ("dead_after", (after,)) if reason is None else ("dead_by_reason_after", (reason.value, after))
        for row in self._execute(_SQL[by[0]], by[1]):
            yield _Ended(row[0]), unpack_ended(row) if self._text in row[5] else None

    def _windows(self, after: int) -> _Lines:
        """What has no index is asked for so many numbers at a time, and the file's own code passes the others by."""
        search = self._search
        (last,) = self._execute(_SQL["last_ended"]).fetchone()
        while after < last:
            until = min(after + _WINDOW, last)
            values = (after, until, search.state, search.reason, search.site, self._text)
            found = 0
            for row in self._execute(_SQL["ended_between"], values):
                found += 1
                yield _Ended(row[0]), unpack_ended(row)
            yield _Ended(until), None, until - after - found
            after = until

    def _is_also_skipped(self, reason: str) -> bool:
        counted = self._execute(SQL["counts"])
        return any(n > 0 and (name, why) == (State.SKIPPED, reason) for name, why, n in counted)
