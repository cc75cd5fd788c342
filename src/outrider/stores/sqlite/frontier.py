"""The embedded frontier: the port over one SQLite file, shared by all processes of one machine.

`sqlite:///path/frontier.db`, or `sqlite:frontier.db` for a relative path. Options: `synchronous` (normal, full; what
that means is said in `thread`), `wait` (seconds, for a lock), `cache` (megabytes), `known` (megabytes, at most, of
hashes remembered in front of the file), `recent` (new hashes that wait before they are merged, see `seen`),
`max_pages` (of 4096 bytes; 0 for no limit) and `mmap` (megabytes of the file to read as memory: a quarter faster on
large files, but a disk that fails then kills the process instead of an act).
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from outrider.clock import SystemClock
from outrider.errors import ConfigError, StoreError
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Census, Entry, Filter, Leased, Search, Settled, SiteLine, Slice
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import Clock, FrontierRules
from outrider.stores.known import Known
from outrider.stores.place import Place
from outrider.stores.sqlite import browsing, ordering, reading
from outrider.stores.sqlite.acts import Acts
from outrider.stores.sqlite.batch import Batch
from outrider.stores.sqlite.failures import translated
from outrider.stores.sqlite.glance import census_of
from outrider.stores.sqlite.schema import (
    bring_up,
    connect,
    connect_to_read,
    may_write,
    options_of,
    require_frontier,
    rules_of,
)
from outrider.stores.sqlite.seen import MOST_RECENT, Recent, Seen
from outrider.stores.sqlite.sql import SQL
from outrider.stores.sqlite.thread import UNANSWERED, Act, StoreThread, Transaction, Unanswered

T = TypeVar("T")

_MOST_ORIGINS: Final = 100_000


class SqliteFrontier:
    def __init__(self, place: Place, rules: FrontierRules, clock: Clock | None) -> None:
        if place.host or not place.path:
            raise ConfigError(f"{place}: expected sqlite:///path/to/frontier.db")
        self._place = place
        self._path = Path(place.path)
        self.rules = rules
        self._clock: Clock = clock or SystemClock()
        self._options = options_of(place)
        self._known = Known(place.number("known", 128))
        self._recent = Recent(place.number("recent", MOST_RECENT))
        place.end()
        self._origins: dict[str, int] = {}
        self._thread = StoreThread(self._connect, self._translate)

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, rules: FrontierRules, clock: Clock | None) -> AsyncIterator[Self]:
        store = cls(place, rules, clock)
        await store._thread.start()
        try:
            yield store
        finally:
            await store._thread.stop()

    # the frontier

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        hashes: list[int] = []
        missing: list[int] = []

        def peek(_: sqlite3.Connection) -> list[Added] | Unanswered:
            """The hashes are made before the lock is taken; and when all are known, none is needed."""
            identity = self.rules.identity.hash
            hashes.extend([identity(task.url) for task in tasks])
            missing.extend(self._known.missing(hashes))
            return UNANSWERED if missing or refused else [Added.KNOWN] * len(tasks)

        def work(acts: Acts) -> list[Added]:
            turned_away = [(self.rules.identity.hash(url), url, reason) for url, reason in refused]
            given = acts.add([hashes[index] for index in missing], [tasks[index] for index in missing], turned_away)
            answers = [Added.KNOWN] * len(tasks)
            for index, answer in zip(missing, given, strict=True):
                answers[index] = answer
            return answers

        return await self._write(work, peek, learned=lambda: [hashes[index] for index in missing])

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        def peek(connection: sqlite3.Connection) -> Leased | Unanswered:
            """Whoever finds nothing to do must not keep the others from working."""
            now = self._clock.now()
            row = connection.execute(SQL["next_ready"]).fetchone()
            if row is None or row[0] > now:
                return Leased((), None if row is None else row[0], now)
            return UNANSWERED

        return await self._write(
            lambda acts: acts.lease(self._clock.now(), sites=sites, tasks=tasks, seconds=seconds), peek
        )

    async def extend(self, leases: Sequence[Lease], seconds: float) -> list[Lease | None]:
        return await self._write(lambda acts: acts.extend(leases, self._clock.now() + seconds))

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        return await self._write(lambda acts: acts.settle(accounts))

    async def release(self, leases: Sequence[Lease]) -> None:
        return await self._write(lambda acts: acts.release(leases))

    async def reclaim(self) -> int:
        """End every lease now; how many there were. Only for one who knows that no holder is alive."""

        def work(transaction: Transaction) -> int:
            held = [row[0] for row in transaction.connection.execute(SQL["held_sites"])]
            return self._acted(transaction, lambda acts: acts.reclaim(self._clock.now(), held))

        return await self._thread.do(Act(work))

    async def revive(self, wanted: Filter) -> int:
        def work(transaction: Transaction) -> int:
            execute = transaction.connection.execute
            rows = execute(SQL["revivable"], reading.wanted_values(wanted)).fetchall()
            transaction.connection.executemany(SQL["unend"], [row[:1] for row in rows])
            aside = [row[0] for row in execute(SQL["sites_aside"])]
            return self._acted(transaction, lambda acts: acts.revive(wanted, rows, aside))

        return await self._thread.do(Act(work))

    async def owe_again(self, tasks: Sequence[Task], *, ended: bool = False) -> int:
        return await self._write(lambda acts: acts.owe_again(tasks, ended=ended))

    async def order(self, order: SiteOrder) -> None:
        await self._thread.do(Act(lambda transaction: ordering.write_order(transaction.connection, order)))

    async def orders(self) -> list[SiteOrder]:
        return await self._thread.peek(ordering.read_orders)

    async def dismiss(self, urls: Sequence[tuple[Url, Reason]]) -> list[bool]:
        def act(transaction: Transaction) -> list[bool]:
            connection = transaction.connection
            return self._batched(transaction, lambda batch: ordering.dismiss(connection, batch, self.rules, urls))

        return await self._thread.do(Act(act))

    async def census(self) -> Census:
        return census_of(await self._read(lambda connection: connection.execute(SQL["counts"]).fetchall()))

    # the ledger

    async def find(self, url: Url) -> Entry | None:
        key = self.rules.identity.hash(url)
        site = url.site(self.rules.site_by)
        return await self._read(lambda connection: reading.find(connection, key, site))

    async def knows(self, urls: Sequence[Url]) -> list[bool]:
        hashes = [self.rules.identity.hash(url) for url in urls]
        known = await self._read(lambda connection: Seen(connection, self._recent).known(hashes))
        return [key in known for key in hashes]

    async def entries(self, wanted: Filter | None = None) -> AsyncIterator[list[Entry]]:
        async for batch in self._all(lambda connection: reading.entries(connection, wanted or Filter())):
            yield batch

    async def hashes(self) -> AsyncIterator[list[int]]:
        async for batch in self._all(reading.hashes):
            yield batch

    async def sites(self) -> AsyncIterator[list[Site]]:
        async for batch in self._all(lambda connection: reading.sites(connection, self.rules.settle.pace)):
            yield batch

    async def look_at(self, site: str) -> tuple[Site, float | None] | None:
        """One site, and until when it is lent."""
        return await self._read(lambda connection: reading.site(connection, site, self.rules.settle.pace))

    async def browse(self, search: Search, after: str | None = None, *, most: int = 100, look: int = 100_000) -> Slice:
        """Fetched URLs have no line here, unless they duplicate another: the records have them."""
        seed = self.rules.identity.seed
        return await self._beside(lambda one: browsing.browse(one, search, after, seed, most=most, look=look))

    async def survey(self) -> AsyncIterator[list[SiteLine]]:
        async for batch in self._all(lambda connection: browsing.survey(connection, self.rules.settle.pace)):
            yield batch

    async def restore(
        self, entries: Sequence[Entry] = (), sites: Sequence[Site] = (), hashes: Sequence[int] = ()
    ) -> int:
        def work(acts: Acts) -> int:
            acts.restore_sites(sites)
            return acts.restore(entries) + acts.restore_hashes(hashes)

        return await self._write(work)

    # what the methods above are made of

    async def _write(
        self,
        work: Callable[[Acts], T],
        peek: Callable[[sqlite3.Connection], T | Unanswered] | None = None,
        learned: Callable[[], list[int]] | None = None,
    ) -> T:
        def act(transaction: Transaction) -> T:
            answer = self._acted(transaction, work)
            if learned is not None:
                transaction.on_commit.append(lambda: self._known.learn(learned()))
            return answer

        return await self._thread.do(Act(act, peek))

    def _acted(self, transaction: Transaction, work: Callable[[Acts], T]) -> T:
        return self._batched(transaction, lambda batch: work(Acts(batch, self.rules)))

    def _batched(self, transaction: Transaction, work: Callable[[Batch], T]) -> T:
        batch = Batch(transaction.connection, self.rules.settle.pace, self._origins, self._recent)
        answer = work(batch)
        batch.flush()
        transaction.on_commit.append(batch.seen.learn)
        if batch.new_origins:
            transaction.on_commit.append(lambda: self._learn_origins(batch.new_origins))
        return answer

    def _learn_origins(self, origins: dict[str, int]) -> None:
        if len(self._origins) > _MOST_ORIGINS:
            self._origins.clear()
        self._origins.update(origins)

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._thread.do(Act(lambda transaction: work(transaction.connection), writes=False))

    async def _beside(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """With a connection, thread and snapshot of its own: a long look does not keep the crawl from writing."""
        reader = StoreThread(self._connected, self._translate)
        await reader.start()
        try:
            return await reader.do(Act(lambda transaction: work(transaction.connection), writes=False))
        finally:
            await reader.stop()

    async def _all(self, begin: Callable[[sqlite3.Connection], reading.Batches[Any]]) -> AsyncIterator[list[Any]]:
        """A walk over everything has its own connection, thread and snapshot: the crawl goes on beside it."""
        reader = StoreThread(self._connected, self._translate)
        await reader.start()
        try:
            batches = await reader.peek(begin)
            while batch := await reader.peek(lambda _: next(batches, [])):
                yield batch
        finally:
            await reader.stop()

    def _connect(self) -> sqlite3.Connection:
        if self._place.must_exist:
            require_frontier(self._path, self._place)
        connection = self._connected()
        try:
            begin = rules_of if self._only_reads else bring_up
            self.rules = begin(connection, self._place, self.rules)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self) -> sqlite3.Connection:
        return (connect_to_read if self._only_reads else connect)(self._path, self._options)

    @property
    def _only_reads(self) -> bool:
        """Whoever wants to look at what is there may do so where nothing may be written."""
        return self._place.must_exist and not may_write(self._path)

    def _translate(self, error: sqlite3.Error) -> StoreError:
        return translated(error, self._place, self._options.wait)
