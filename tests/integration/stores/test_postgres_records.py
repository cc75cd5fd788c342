"""Records in a PostgreSQL that others use too, that goes away and comes back, and that may hold another version."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from uuid import uuid4

import pytest
from psycopg import sql
from tests.services.postgres import PostgresServer, running

from outrider.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from outrider.model.record import PageFilter, PageStatus, Record, Tally
from outrider.model.url import Url
from outrider.ports import FrontierRules, Records
from outrider.stores.page_query import PageQuery
from outrider.stores.postgres import records_rows as rows
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import HOME, decision, ids, pages_of, visit
from outrider.testing.contracts.traffic import asked, auditable, requests_of


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture
async def schema(server: PostgresServer) -> AsyncIterator[str]:
    name = f"t{uuid4().hex[:12]}"
    yield name
    await server.drop(name)


async def test_two_writers_of_the_same_visits_in_another_order_come_to_an_end(
    server: PostgresServer, schema: str
) -> None:
    """Rows are locked in the order they are written in: whoever loses is run again, and each visit is one record."""
    batches = [[visit(n, wire_length=n) for n in range(start, start + 40)] for start in range(0, 200, 20)]
    decided = Record(decisions=tuple(decision(f"http://example.org/{n}") for n in range(40)))
    async with open_records(server.url(schema)) as one, open_records(server.url(schema)) as other:
        await asyncio.gather(
            *(one.write([*batch, decided]) for batch in batches),
            *(other.write([*reversed(batch), decided]) for batch in reversed(batches)),
        )

        assert sorted(await ids(one, PageFilter())) == list(range(220))
        assert await other.tally() == Tally({PageStatus.FETCHED: 220}, sum(range(220)))
        assert await one.find(Url("http://example.org/7")) == [Record(decisions=(decided.decisions[7],))]
    async with server.connected() as connection:
        for table, count in (("proofs", 220), ("page_urls", 220), ("decisions", 40)):
            cursor = await connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(schema, table)))
            assert await cursor.fetchone() == (count,)


async def test_many_make_a_fresh_schema_at_once(server: PostgresServer, schema: str) -> None:
    async def start(number: int) -> None:
        async with open_records(server.url(schema)) as records:
            await records.write([visit(number)])

    await asyncio.gather(*map(start, range(8)))

    async with open_records(server.url(schema), create=False) as records:
        assert sorted(await ids(records, PageFilter())) == list(range(8))


@pytest.mark.parametrize("records_first", [True, False])
async def test_records_and_a_frontier_share_a_schema(
    server: PostgresServer, schema: str, *, records_first: bool
) -> None:
    url = server.url(schema)
    if records_first:
        async with open_records(url):
            pass
    async with open_frontier(url, FrontierRules()):
        pass

    async with open_records(url) as records, open_frontier(url, FrontierRules()) as frontier:
        await records.write([visit(1)])

        assert await records.find(HOME) == [visit(1)]
        assert (await frontier.census()).discovered == 0


async def test_a_server_that_went_away_is_worth_trying_again(server: PostgresServer, schema: str) -> None:
    async with open_records(f"{server.url(schema)}&timeout=1") as records:
        await records.write([visit(1)])

        await asyncio.to_thread(server.stop, "immediate")
        try:
            for act in (records.write([visit(2)]), records.find(HOME), records.tally(), pages_of(records)):
                with pytest.raises(StoreUnavailable, match=rf"postgresql://crawler:\*\*\*@127\.0\.0\.1:{server.port}/"):
                    await act
        finally:
            await asyncio.to_thread(server.start)

        await tried_again(records, visit(3))
        assert await ids(records, PageFilter()) == [1, 3]
        assert await records.tally() == Tally({PageStatus.FETCHED: 2}, 20)


async def test_a_crash_in_the_middle_of_writes_leaves_whole_batches(server: PostgresServer, schema: str) -> None:
    written = 0
    halfway = asyncio.Event()

    async def write_all(records: Records) -> None:
        nonlocal written
        for batch in range(400):
            await records.write([visit(batch * 10 + n) for n in range(10)])
            written += 1
            if written == 5:
                halfway.set()

    async with open_records(f"{server.url(schema)}&timeout=1") as records:
        writing = asyncio.create_task(write_all(records))
        await halfway.wait()
        await asyncio.to_thread(server.stop, "immediate")
        with suppress(StoreUnavailable):
            await writing
        await asyncio.to_thread(server.start)
    async with open_records(server.url(schema)) as records:
        found = await ids(records, PageFilter())
        tally = await records.tally()

    assert len(found) in {written * 10, written * 10 + 10}
    assert found == list(range(len(found)))
    assert tally == Tally({PageStatus.FETCHED: len(found)}, 10 * len(found))


async def test_cut_connections_are_replaced(server: PostgresServer, schema: str) -> None:
    async with open_records(f"{server.url(schema)}&timeout=5") as records:
        await records.write([visit(1)])
        async with server.connected() as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'outrider'"
            )

        await tried_again(records, visit(2))

        assert await ids(records, PageFilter()) == [1, 2]


async def tried_again(records: Records, record: Record) -> None:
    """As a worker would: for as long as it is told that it is worth it."""
    for _ in range(100):
        with suppress(StoreUnavailable):
            await records.write([record])
            return
    raise AssertionError("the store stays away")


async def test_whoever_only_reads_makes_nothing(server: PostgresServer, schema: str) -> None:
    with pytest.raises(ConfigError, match=f"there are no records in schema {schema}"):
        async with open_records(server.url(schema), create=False):
            pass

    async with server.connected() as connection:
        cursor = await connection.execute("SELECT to_regnamespace(%s) IS NULL", [schema])
        assert await cursor.fetchone() == (True,)


@pytest.mark.parametrize("create", [True, False])
async def test_records_of_a_newer_version_are_refused(server: PostgresServer, schema: str, *, create: bool) -> None:
    async with open_records(server.url(schema)):
        pass
    async with server.connected() as connection:
        changed = sql.SQL("UPDATE {} SET value = '99'").format(sql.Identifier(schema, "records_meta"))
        await connection.execute(changed)

    with pytest.raises(SchemaMismatch, match=f"the records in schema {schema} have version 99, this program reads 2"):
        async with open_records(server.url(schema), create=create):
            pass


async def test_records_of_version_1_can_be_read_and_are_brought_forward_by_who_writes(
    server: PostgresServer, schema: str
) -> None:
    async with open_records(server.url(schema)) as records:
        await records.write([visit(1)])
    async with server.connected() as connection:
        for name in ("request_batches", "robots_answers", "robots_bodies", "manners"):
            await connection.execute(sql.SQL("DROP TABLE {} CASCADE").format(sql.Identifier(schema, name)))
        changed = sql.SQL("UPDATE {} SET value = '1'").format(sql.Identifier(schema, "records_meta"))
        await connection.execute(changed)

    async with open_records(server.url(schema), create=False) as records:
        with pytest.raises(SchemaMismatch, match="made by an older Outrider"):
            await requests_of(auditable(records))
        assert await ids(records, PageFilter()) == [1]
    async with open_records(server.url(schema)) as records:
        await records.write([Record(requests=(asked(1),))])

    async with open_records(server.url(schema), create=False) as records:
        assert await requests_of(auditable(records)) == [asked(1)]
        assert await ids(records, PageFilter()) == [1]
    async with server.connected() as connection:
        view = sql.SQL("SELECT site, at, status, turn FROM {}").format(sql.Identifier(schema, "requests"))
        cursor = await connection.execute(view)
        assert await cursor.fetchall() == [("example.org", 1_001.25, 200, 1)]


async def test_tables_of_another_program_are_left_alone(server: PostgresServer, schema: str) -> None:
    async with server.connected() as connection:
        await connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        await connection.execute(sql.SQL("CREATE TABLE {} (title text)").format(sql.Identifier(schema, "pages")))

    with pytest.raises(StoreError, match='relation "pages" already exists'):
        async with open_records(server.url(schema)):
            pass

    async with server.connected() as connection:
        cursor = await connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema])
        assert await cursor.fetchall() == [("pages",)]


_EVERYTHING = PageFilter(PageStatus.FAILED, "http_404", 404, "example.org:80", 1.0, 10)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("known", {"fetch_ids": ["fetch-1"]}),
        ("pages_at", {"hash": 1, "url": "http://example.org/"}),
        ("decisions_about", {"hash": 1, "url": "http://example.org/"}),
        ("last", {}),
        ("pages_where", PageQuery(_EVERYTHING, 1_000).values),
    ],
)
async def test_no_statement_walks_over_a_table(
    server: PostgresServer, schema: str, statement: str, values: dict[str, object]
) -> None:
    """Also while the table is young and nobody has counted its rows."""
    async with open_records(server.url(schema)) as records:
        await records.write([visit(n, f"http://example.org/{n}") for n in range(500)])
        database = records._database  # type: ignore[attr-defined]  # noqa: SLF001 - with the settings it runs under

        asked = rows.page_query(PageQuery(_EVERYTHING, 1_000)) if statement == "pages_where" else rows.SQL[statement]

        async def plan(connection: object) -> list[str]:
            cursor = await connection.execute(f"EXPLAIN {asked}", values)  # type: ignore[attr-defined]
            return [line for (line,) in await cursor.fetchall()]

        steps = await database.run(plan)

    assert [step for step in steps if "Index" in step and "Scan" in step]
    assert [step for step in steps if "Seq Scan" in step] == []
