"""The records in PostgreSQL: a batch is one transaction, its rows are arrays, and its conflicts are replacements.

`postgresql://user@host/database`; options `schema`, `pool`, `timeout` and `sslmode` as the frontier's, and they may
share a schema with it.
"""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Self

from psycopg import sql

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.record import Page, PageFilter, PageStatus, Record, Tally
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.page_query import PageQuery
from outrider.stores.page_rows import check, mended, url_hash
from outrider.stores.place import Place
from outrider.stores.postgres import records_rows as rows
from outrider.stores.postgres.arrays import BigInts, Texts
from outrider.stores.postgres.database import Connection, Database, LostRace
from outrider.stores.postgres.database import Record as Found

VERSION: Final = 1
_BYTES: Final = "bytes"


class PostgresRecords:
    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _: Clock | None, *, create: bool = True) -> AsyncIterator[Self]:
        async with Database.open(place, partial(_prepare, create=create)) as (database, _found):
            yield cls(database)

    async def write(self, records: Sequence[Record]) -> None:
        """S1-35, S1-36: a statement for each table, whatever the number of visits."""
        check(records)
        try:
            batch = rows.Batch(records)
        except UnicodeEncodeError:
            batch = rows.Batch(mended(list(records)))

        async def write(connection: Connection) -> None:
            if batch.pages:
                await _write_pages(connection, batch)
            if batch.decisions:
                await _say(connection, rows.SQL["put_decisions"], batch.decision_columns)

        if batch.pages or batch.decisions:
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

    async def tally(self) -> Tally:
        counts: dict[str, int] = dict(await self._ask(rows.SQL["counts"], {}))
        length = counts.pop(_BYTES, 0)
        return Tally({PageStatus(name): n for name, n in counts.items() if n}, length)

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


async def _prepare(connection: Connection, schema: str, *, create: bool) -> None:
    """All or nothing, by one at a time: many workers start at once."""
    async with connection.transaction():
        if create:
            await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", [f"outrider {schema}"])
        if not await _is_there(connection, schema):
            if not create:
                raise ConfigError(f"there are no records in schema {schema}")
            await connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
            await connection.execute(rows.read("records.sql").encode())
            await connection.execute("INSERT INTO records_meta VALUES ('version', %s)", [str(VERSION)])
        cursor = await connection.execute("SELECT value FROM records_meta WHERE name = 'version'")
        found = await cursor.fetchone()
    version = found[0] if found else ""
    if version != str(VERSION):
        raise SchemaMismatch(
            f"the records in schema {schema} have version {version}, this program reads {VERSION}: migrate first"
        )


async def _is_there(connection: Connection, schema: str) -> bool:
    cursor = await connection.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{schema}.records_meta"])
    found = await cursor.fetchone()
    return found is not None and bool(found[0])
