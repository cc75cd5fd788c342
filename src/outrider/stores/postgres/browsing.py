"""The ledger page by page: a few lines further along an index, however many lines there are.

What is owed comes by site, and there in the order in which it is lent; then what was skipped or died, by reason and
site; then all else, by its hash. A task that is put off meanwhile changes its place. Every URL has a line here, fetched
ones too; only of those that came from a compact store nothing but the hash is known.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder

from outrider.model.ledger import Entry, Search, SiteLine, Slice, State
from outrider.policy.search import may_be_found, may_have_ended, queued_states
from outrider.stores.bookmark import Bookmarks
from outrider.stores.postgres.arrays import BigInts, Texts
from outrider.stores.postgres.database import Connection, Database, Record, say
from outrider.stores.postgres.rows import entry_of, rows_from
from outrider.stores.postgres.sites import SiteRow
from outrider.stores.postgres.statements import named
from outrider.stores.slicing import Gathering

_SQL: Final = named("browsing.sql")
_AT_ONCE: Final = 2_000
"""Lines of queues a statement."""
_BATCH: Final = 1_000
_FIRST: Final = -(1 << 63)
_LAST: Final = (1 << 63) - 1
_OWED: Final = {State.PENDING, State.WAITING}
_WITH_REASON: Final = {State.SKIPPED, State.DEAD}
_WITHOUT_REASON: Final = {State.FETCHED, State.ALIAS}

Spot: TypeAlias = tuple[int, float, int]
"""Priority, due time, sequence: where in its site's queue a task is."""


class _Owed(Struct, array_like=True, tag="owed"):
    """A site and the spot of a task in its queue; None: nothing more of that site is wanted."""

    site: str = ""
    spot: Spot | None = None


class _Ended(Struct, array_like=True, tag="ended"):
    """Skipped or dead, by reason, site and hash."""

    reason: str = ""
    site: str = ""
    hash: int = _FIRST


class _Other(Struct, array_like=True, tag="other"):
    """Fetched, or an alias, by hash."""

    hash: int = _FIRST


class _Queue(Struct, frozen=True):
    """A site's, as far as it matters here."""

    site: str
    set_aside: bool
    pending: int
    waiting: int


_Place: TypeAlias = _Owed | _Ended | _Other
_decoder: Decoder[_Place] = Decoder(_Place)


async def browse(database: Database, search: Search, after: str | None, seed: int, *, most: int, look: int) -> Slice:
    """Raises `ConfigError` for an `after` that is not of this store's making."""
    bookmarks: Bookmarks[_Place] = Bookmarks(f"postgresql {database.schema}", _decoder, seed)
    start = _Owed() if after is None else bookmarks.read(after)
    if not may_be_found(search):
        return Slice(())

    async def read(connection: Connection) -> Slice:
        gathering: Gathering[_Place] = Gathering(search, most=most, look=look)
        is_over = await _Reader(connection, gathering).read(start)
        return gathering.slice(bookmarks, is_over=is_over)

    return await database.run(read)


async def survey(database: Database) -> AsyncIterator[list[SiteLine]]:
    """A site that is set aside owes nothing."""
    async for records in database.stream("all_sites", {}, _BATCH):
        yield [_site_line(SiteRow(record)) for record in records]


def _site_line(row: SiteRow) -> SiteLine:
    pending, waiting = (0, 0) if row.site.set_aside else (row.pending, row.waiting)
    return SiteLine(row.site, pending, waiting, row.deadline)


class _Reader:
    """Puts into the gathering what its search may want, in order. Its methods tell whether they came to the end."""

    def __init__(self, connection: Connection, gathering: Gathering[_Place]) -> None:
        self._connection = connection
        self._gathering = gathering
        self._search = gathering.search
        self._text = gathering.search.text or ""
        self._states = queued_states(gathering.search)

    async def read(self, start: _Place) -> bool:
        if isinstance(start, _Owed) and self._states and not await self._owed(start):
            return False
        if not may_have_ended(self._search):
            return True
        counts = await say(self._connection, "census")
        ends = [(state, why) for state, why, n in counts if n > 0 and self._search.state in {None, state}]
        if not isinstance(start, _Other):
            behind = start if isinstance(start, _Ended) else _Ended()
            if not await self._over(behind, {why for state, why in ends if state in _WITH_REASON}):
                return False
        if self._search.reason is not None or not any(state in _WITHOUT_REASON for state, _ in ends):
            return True
        return await self._read_on("other", start if isinstance(start, _Other) else _Other(), {})

    async def _ask(self, statement: str, values: Mapping[str, Any]) -> list[Record]:
        cursor = await self._connection.execute(statement.encode(), values, binary=True)
        return await cursor.fetchall()

    # what is owed

    async def _owed(self, start: _Owed) -> bool:
        behind, spot = start.site, start.spot
        only = self._search.site
        name = "sites_aside_from" if self._states == {State.SKIPPED} else "sites_from"
        while self._gathering.room > 0 and self._gathering.patience > 0:
            # A page of sites that owe one task each takes as many sites as it has lines.
            most = _BATCH if self._text else min(_BATCH, self._gathering.room + 2)
            values = {"key": behind if only is None else only, "most": most}
            found = await self._ask(_SQL[name if only is None else "site_named"], values)
            new = [_Queue(*one) for one in found if one[0] > behind or (one[0] == behind and spot is not None)]
            wanted = [queue for queue in new if self._is_read(queue)]
            if not await self._queues(wanted, spot if new and new[0].site == behind else None):
                return False
            if passed := len(new) - len(wanted):
                self._gathering.takes(_Owed(new[-1].site), None, passed)
            if len(found) < most or only is not None:
                return True
            behind, spot = found[-1][0], None
        return False

    def _is_read(self, queue: _Queue) -> bool:
        if queue.set_aside:
            return State.SKIPPED in self._states and queue.pending + queue.waiting > 0
        is_pending = queue.pending and State.PENDING in self._states
        return bool(is_pending or (queue.waiting and State.WAITING in self._states))

    async def _queues(self, queues: Sequence[_Queue], spot: Spot | None) -> bool:
        """The tasks of these sites, the first one's behind a spot."""
        while queues:
            patience = max(1, min(self._gathering.patience, _AT_ONCE))
            most = patience if self._text else min(patience, self._gathering.room + 1)
            together = _enough(queues, most)
            lines = await self._ask(_SQL["owed_lines"], self._from(together, spot, most))
            entries = await self._entries([line[4] for line in lines if line[5]], together)
            for n, priority, due, number, key, _ in lines:
                place = _Owed(together[n - 1].site, (priority, due, number))
                if not self._gathering.takes(place, entries.get(key)):
                    return False
            if len(lines) < most:
                queues, spot = queues[len(together) :], None
            else:
                queues, spot = queues[lines[-1][0] - 1 :], lines[-1][1:4]
        return True

    def _from(self, queues: Sequence[_Queue], spot: Spot | None, most: int) -> dict[str, Any]:
        is_all = State.SKIPPED in self._states or self._states >= _OWED
        since = -1.0 if is_all or State.PENDING in self._states else 0.0
        until = 0.0 if not is_all and State.PENDING in self._states else float("inf")
        priority, due, number = spot or (_LAST, since, _LAST)
        # A place between tasks of another state is one before the first, or behind the last, of this state.
        due, number = (due, number) if due > since or (due == since and number == _LAST) else (since, _LAST)
        place = {"priority": priority, "due": due, "number": number, "since": since, "until": until}
        return {"keys": Texts(queue.site for queue in queues), "text": self._text, "most": most, **place}

    async def _entries(self, keys: Sequence[int], queues: Sequence[_Queue]) -> dict[int, Entry]:
        aside = {queue.site for queue in queues if queue.set_aside}
        rows = rows_from(await say(self._connection, "rows", {"hashes": BigInts(keys)})) if keys else []
        # One that has ended since comes with the others that have.
        owed = [row for row in rows if State(row.status) in _OWED]
        return {row.url_hash: entry_of(row, set_aside=row.site in aside) for row in owed}

    # what has ended

    async def _over(self, start: _Ended, reasons: Collection[str]) -> bool:
        """Reason by reason, of those that the counts know of: there are few."""
        for reason in sorted(why for why in reasons if why >= start.reason and self._search.reason in {None, why}):
            place = start if start.reason == reason else _Ended(reason)
            if not await self._read_on("ended", place, {"reason": reason, "behind": place.site}):
                return False
        return True

    async def _read_on(self, which: str, start: _Ended | _Other, more: Mapping[str, Any]) -> bool:
        """Along one index, as far as there is room and patience."""
        room, look = self._gathering.room, self._gathering.patience
        if room <= 0 or look <= 0:
            return False
        search = self._search
        wanted = {"state": search.state, "site": search.site, "status": search.status, "text": self._text}
        values = {"hash": start.hash, "most": room, "look": look, **wanted, **more}
        only = "" if search.site is None else "AND site = %(site)s::text"
        found = rows_from(await self._ask(_SQL[f"{which}_lines"].replace("{only}", only), values))
        for row in found:
            self._gathering.takes(_place(start, row.site, row.url_hash), entry_of(row, set_aside=False))
        if len(found) == room:
            return False
        for *site, key, looked in await self._ask(_SQL[f"{which}_seen"].replace("{only}", only), values):
            if looked > len(found):
                self._gathering.takes(_place(start, *site, key), None, looked - len(found))
            return bool(looked < look)
        return True


def _place(start: _Ended | _Other, *at: Any) -> _Place:  # noqa: ANN401 - a site, and a hash
    return _Other(at[-1]) if isinstance(start, _Other) else _Ended(start.reason, *at)


def _enough(queues: Sequence[_Queue], most: int) -> list[_Queue]:
    """As many of them as owe so many tasks together."""
    together: list[_Queue] = []
    owed = 0
    for queue in queues:
        if owed >= most:
            break
        together.append(queue)
        owed += queue.pending + queue.waiting
    return together
