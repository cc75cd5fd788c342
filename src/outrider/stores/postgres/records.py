"""The records in PostgreSQL: a batch is one transaction, its rows are arrays, and its conflicts are replacements.

`postgresql://user@host/database`; options `schema`, `pool`, `timeout` and `sslmode` as the frontier's, and they may
share a schema with it.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Self

from msgspec.msgpack import Decoder
from psycopg import sql

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.record import Decision, Page, PageFilter, PageSlice, PageStatus, Record, Tally
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.asked_rows import FEW, manners_of, requests_of, robots_of
from outrider.stores.bookmark import Bookmarks
from outrider.stores.page_query import MOST, MOST_VISITS, PageQuery, conditions_of
from outrider.stores.page_rows import can_match, check, mended, url_hash
from outrider.stores.place import Place
from outrider.stores.postgres import records_rows as rows
from outrider.stores.postgres.arrays import BigInts, Texts
from outrider.stores.postgres.database import Connection, Database, LostRace
from outrider.stores.postgres.database import Record as Found
from outrider.stores.postgres.requests_rows import SQL as AUDIT
from outrider.stores.postgres.requests_rows import Traffic

VERSION: Final = 2
HAS_REQUESTS: Final = 2
"""The version since which requests are on record."""
STEPS: Final = ("records.sql", "records_2.sql")
"""What makes version n of version n - 1. Steps are added, never changed."""
_BYTES: Final = "bytes"
_PAST_ALL: Final = (1 << 63) - 1


class PostgresRecords:
    def __init__(self, database: Database, version: int) -> None:
        self._database = database
        place = database.place
        self._bookmarks = Bookmarks(f"postgresql pages {place.hosts} {place.path} {database.schema}", Decoder(int))
        self._version = version

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _: Clock | None, *, create: bool = True) -> AsyncIterator[Self]:
        async with Database.open(place, partial(_prepare, create=create)) as (database, version):
            yield cls(database, version)

    async def write(self, records: Sequence[Record]) -> None:
        """S1-35, S1-36: a statement for each table, whatever the number of visits."""
        check(records)
        try:
            batch, traffic = rows.Batch(records), Traffic(records)
        except UnicodeEncodeError:
            records = mended(list(records))
            batch, traffic = rows.Batch(records), Traffic(records)

        async def write(connection: Connection) -> None:
            for statement, values in traffic.acts:
                await _say(connection, statement, values)
            if batch.pages:
                await _write_pages(connection, batch)
            if batch.decisions:
                await _say(connection, rows.SQL["put_decisions"], batch.decision_columns)

        if batch.pages or batch.decisions or traffic.acts:
            await self._database.run(write)

    async def find(self, url: Url) -> list[Record]:
        values = {"hash": url_hash(url), "url": str(url)}

        async def find(connection: Connection) -> list[Record]:
            found = [rows.record_from(row) for row in await _say(connection, rows.SQL["pages_at"], values)]
            decided = [rows.decision_from(row) for row in await _say(connection, rows.SQL["decisions_about"], values)]
            return [*found, Record(decisions=tuple(decided))] if decided else found

        return await self._database.run(find)

    async def pages(self, wanted: PageFilter) -> AsyncIterator[list[Page]]:
        ((last,),) = await self._ask(rows.SQL["last"], {})
        query = PageQuery(wanted, last)
        while not query.is_done and (found := await self._ask(rows.page_query(query), query.values)):
            yield rows.pages_from(query, found)

    async def browse_pages(
        self, wanted: PageFilter, before: str | None = None, *, most: int = 100, look: int = 100_000
    ) -> PageSlice:
        start = _PAST_ALL if before is None else self._bookmarks.read(before)
        if not can_match(wanted):
            return PageSlice(())
        conditions, values = conditions_of(wanted)
        most, look = max(most, 1), max(look, 1)
        values |= {"before": start, "most": most, "look": look}
        found = await self._ask(rows.look_back("look_back", conditions, values), values)
        if len(found) == most:
            last, looked = found[-1][1], len(found)
        else:
            ((looked, last),) = await self._ask(rows.look_back("looked_back", conditions, values), values)
        is_over = len(found) < most and looked < look
        return PageSlice(tuple(map(rows.page_from, found)), None if is_over else self._bookmarks.write(last), looked)

    async def visits(self, wanted: PageFilter) -> AsyncIterator[list[Record]]:
        ((last,),) = await self._ask(rows.SQL["last"], {})
        query = PageQuery(wanted, last, MOST_VISITS)
        asked = rows.page_query(query, "visits_where")
        while not query.is_done and (found := await self._ask(asked, query.values)):
            query.passed([row[0] for row in found])
            yield [rows.record_from(row[1:]) for row in found]

    async def decisions(self) -> AsyncIterator[list[Decision]]:
        ((last,),) = await self._ask(rows.SQL["last_decision"], {})
        asked = {"after": 0, "last": last, "most": MOST}
        while found := await self._ask(rows.SQL["decisions_after"], asked):
            asked["after"] = found[-1][1]
            yield [rows.decision_from((exact, *columns)) for exact, _, *columns in found]

    async def tally(self) -> Tally:
        counts: dict[str, int] = dict(await self._ask(rows.SQL["counts"], {}))
        length = counts.pop(_BYTES, 0)
        return Tally({PageStatus(name): n for name, n in counts.items() if n}, length)

    async def requests(self) -> AsyncIterator[list[Asked]]:
        self._require_requests()
        async for batch in self._database.stream_statement(AUDIT["batches"], FEW):
            yield [one for (text,) in batch for one in requests_of(text)]

    async def robots(self) -> AsyncIterator[list[RobotsAnswer]]:
        self._require_requests()
        async for batch in self._database.stream_statement(AUDIT["robots"], FEW):
            yield [robots_of(row) for row in batch]

    async def manners(self) -> dict[str, Manners]:
        self._require_requests()
        return {name: manners_of(said) for name, said in await self._ask(AUDIT["manners"], {})}

    def _require_requests(self) -> None:
        if self._version < HAS_REQUESTS:
            raise SchemaMismatch(
                f"the records in schema {self._database.schema} were made by an older Outrider; "
                "open them once with a crawl to bring them forward"
            )

    async def _ask(self, statement: str, values: Mapping[str, Any]) -> list[Found]:
        return await self._database.run(lambda connection: _say(connection, statement, values))


async def _write_pages(connection: Connection, batch: rows.Batch) -> None:
    columns = batch.page_columns
    old = {row[0]: row[1:] for row in await _say(connection, rows.SQL["known"], {"fetch_ids": columns["fetch_id"]})}
    put = await _say(connection, rows.SQL["put_pages"], columns)
    if any(not is_new and fetch_id not in old for fetch_id, _, is_new in put):
        raise LostRace("another wrote the same visit between our look and our write")
    numbers = {fetch_id: page for fetch_id, page, _ in put}
    if old:
        gone = [(url_hash(url), page) for page, _, _, *urls in old.values() for url in urls]
        dropped = {"hashes": BigInts(key for key, _ in gone), "pages": BigInts(page for _, page in gone)}
        await _say(connection, rows.SQL["drop_urls"], dropped)
    await _say(connection, rows.SQL["put_urls"], batch.url_columns(numbers))
    await _say(connection, rows.SQL["put_proofs"], batch.proof_columns(numbers))
    counts: Counter[str] = Counter()
    for _, status, length, *_ in old.values():
        counts[status] -= 1
        counts[_BYTES] -= length
    for page in batch.pages:
        counts[page.metadata.status.value] += 1
        counts[_BYTES] += page.metadata.wire_length
    await _say(connection, rows.SQL["count"], {"names": Texts(counts), "numbers": BigInts(counts.values())})


async def _say(connection: Connection, statement: str, values: Mapping[str, Any]) -> list[Found]:
    cursor = await connection.execute(statement.encode(), values, binary=True)
    return await cursor.fetchall() if cursor.description else []


async def _prepare(connection: Connection, schema: str, *, create: bool) -> int:
    """The version. All or nothing, by one at a time: many workers start at once.

    Without `create` an older one is read as far as it goes: tables are added, and stay as they are.
    """
    async with connection.transaction():
        if create:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [f"outrider {schema}"])
        version = await _version(connection, schema)
        if version is None and not create:
            raise ConfigError(f"there are no records in schema {schema}")
        if version is not None and not 1 <= version <= VERSION:
            raise SchemaMismatch(
                f"the records in schema {schema} have version {version}, this program reads {VERSION}: migrate first"
            )
        if create and version is None:
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
        if not create:
            return version or VERSION
        for number, step in list(enumerate(STEPS, start=1))[version or 0 :]:
            await connection.execute(rows.read(step).encode())
            await connection.execute(rows.SQL["put_version"].encode(), {"version": str(number)})
    return VERSION


async def _version(connection: Connection, schema: str) -> int | None:
    """None when nothing of it is there yet, 0 for a text that is no version."""
    if not await _is_there(connection, schema):
        return None
    cursor = await connection.execute("SELECT value FROM records_meta WHERE name = 'version'")
    found = await cursor.fetchone()
    text = str(found[0]) if found else ""
    return int(text) if text.isdecimal() else 0


async def _is_there(connection: Connection, schema: str) -> bool:
    cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{schema}.records_meta"])
    found = await cursor.fetchone()
    return found is not None and bool(found[0])
