"""The embedded records: the port over one SQLite file, which may be the frontier's.

In one file a power cut truncates both at one point of the one log, so that no visit is settled whose record is gone.
`sqlite:///path/crawl.db`; options `synchronous`, `wait`, `cache`, `max_pages` and `mmap` as the frontier's.
"""

import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self

from msgspec.msgpack import Decoder

from outrider.errors import ConfigError, StoreError
from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.record import Decision, Page, PageFilter, PageSlice, Record, Tally
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.bookmark import Bookmarks
from outrider.stores.page_rows import check, mended
from outrider.stores.place import Place
from outrider.stores.sqlite import records_rows as rows
from outrider.stores.sqlite import requests_rows
from outrider.stores.sqlite.failures import translated
from outrider.stores.sqlite.records_schema import HAS_REQUESTS, bring_up, connect_to_read
from outrider.stores.sqlite.schema import connect, options_of
from outrider.stores.sqlite.thread import UNANSWERED, Act, StoreThread, Transaction, Unanswered

_PAST_ALL: Final = (1 << 63) - 1


class SqliteRecords:
    def __init__(self, place: Place, *, create: bool) -> None:
        if place.host or not place.path:
            raise ConfigError(f"{place}: expected sqlite:///path/to/crawl.db")
        self._place = place
        self._path = Path(place.path)
        self._create = create
        self._options = options_of(place)
        place.end()
        self._thread = StoreThread(self._connect, self._translate)
        self._bookmarks = Bookmarks(f"sqlite pages {self._path.resolve()}", Decoder(int))

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _: Clock | None, *, create: bool = True) -> AsyncIterator[Self]:
        store = cls(place, create=create)
        await store._thread.start()
        try:
            yield store
        finally:
            await store._thread.stop()

    async def write(self, records: Sequence[Record]) -> None:
        """S1-35, S1-36: the evidence of many visits in one act, and of many acts in one commit."""
        check(records)
        if not records:
            return
        try:
            await self._write(records)
        except UnicodeEncodeError:
            await self._write(mended(list(records)))

    async def _write(self, records: Sequence[Record]) -> None:
        ready: list[rows.Batch] = []

        def peek(_: sqlite3.Connection) -> Unanswered | None:
            """The rows are made before the lock is taken."""
            ready.append(rows.Batch(records))
            return UNANSWERED

        def work(transaction: Transaction) -> None:
            ready[0].write(transaction.connection)

        await self._thread.do(Act(work, peek))

    async def find(self, url: Url) -> list[Record]:
        return await self._thread.do(Act(lambda transaction: rows.find(transaction.connection, str(url)), writes=False))

    async def pages(self, wanted: PageFilter) -> AsyncIterator[list[Page]]:
        async with self._reader() as reader:
            query = await reader.peek(lambda connection: rows.query(connection, wanted))
            while batch := await reader.peek(lambda connection: rows.more(connection, query)):
                yield batch

    async def visits(self, wanted: PageFilter) -> AsyncIterator[list[Record]]:
        async with self._reader() as reader:
            query = await reader.peek(lambda connection: rows.visit_query(connection, wanted))
            while batch := await reader.peek(lambda connection: rows.more_visits(connection, query)):
                yield batch

    async def decisions(self) -> AsyncIterator[list[Decision]]:
        async with self._reader() as reader:
            after, last = 0, await reader.peek(rows.last_decision)
            while after < last:
                behind = partial(rows.decisions_after, after=after, last=last)
                after, batch = await reader.peek(behind)
                if batch:
                    yield batch

    async def browse_pages(
        self, wanted: PageFilter, before: str | None = None, *, most: int = 100, look: int = 100_000
    ) -> PageSlice:
        start = _PAST_ALL if before is None else self._bookmarks.read(before)
        look_back = partial(rows.look_back, wanted=wanted, before=start, most=most, look=look)
        async with self._reader() as reader:
            pages, last, looked = await reader.do(Act(lambda one: look_back(one.connection), writes=False))
        return PageSlice(tuple(pages), None if last is None else self._bookmarks.write(last), looked)

    async def tally(self) -> Tally:
        return await self._thread.peek(rows.tally)

    async def requests(self) -> AsyncIterator[list[Asked]]:
        async with self._reader(HAS_REQUESTS) as reader:
            more = await reader.peek(requests_rows.requests)
            while batch := await reader.peek(lambda _: more()):
                yield batch

    async def robots(self) -> AsyncIterator[list[RobotsAnswer]]:
        async with self._reader(HAS_REQUESTS) as reader:
            more = await reader.peek(requests_rows.robots)
            while batch := await reader.peek(lambda _: more()):
                yield batch

    async def manners(self) -> dict[str, Manners]:
        async with self._reader(HAS_REQUESTS) as reader:
            return await reader.peek(requests_rows.manners)

    @asynccontextmanager
    async def _reader(self, least: int = 1) -> AsyncIterator[StoreThread]:
        """On a thread of its own, so that a long search does not keep the crawl from writing.

        Raises `SchemaMismatch` for a file of an earlier version than `least`, such as one without requests.
        """
        reader = StoreThread(partial(connect_to_read, self._path, self._place, self._options, least), self._translate)
        await reader.start()
        try:
            yield reader
        finally:
            await reader.stop()

    def _connect(self) -> sqlite3.Connection:
        if not self._create:
            return self._connect_to_read()
        connection = connect(self._path, self._options)
        try:
            bring_up(connection, self._place)
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        return connect_to_read(self._path, self._place, self._options)

    def _translate(self, error: sqlite3.Error) -> StoreError:
        return translated(error, self._place, self._options.wait)
