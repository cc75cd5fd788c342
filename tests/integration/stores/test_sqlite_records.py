"""Records in a file that cannot be used: one sentence says so, and nothing is half-written."""

import asyncio
import os
import sqlite3
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from pathlib import Path
from shutil import copy, rmtree

import pytest
from msgspec.structs import replace
from tests.integration.stores.sqlite_records_judges import large, on_record, written

from outrider.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from outrider.model.record import PageFilter, PageStatus, Tally
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.stores.sqlite.records_rows import _SQL as SQL
from outrider.stores.sqlite.records_schema import STEPS, bring_up
from outrider.stores.sqlite.schema import Options, connect
from outrider.testing.contracts.records import pages_of, visit
from outrider.testing.contracts.traffic import auditable, requests_of

NOBODY = 65_534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into; root may write anywhere, so the test gives that up for a while."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    is_root = os.geteuid() == 0
    yield folder
    if is_root:
        os.setresuid(0, 0, 0)
    folder.chmod(0o755)
    rmtree(folder)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def read(path: Path) -> bytes:
    return path.read_bytes()


def scribble(path: Path) -> bytes:
    path.write_bytes(b"http://example.com/|3\n" * 100)
    return read(path)


def damage(path: Path, first: int) -> None:
    """All pages from that one on; the one before them all says what the file is."""
    whole = path.read_bytes()
    begin = first * 4096
    path.write_bytes(whole[:begin] + b"\xa5" * (len(whole) - begin))


def forbid_writing(*paths: Path) -> None:
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid() == 0:
        os.setresuid(NOBODY, NOBODY, 0)


async def test_a_file_that_may_only_be_read_is_not_for_writing(open_folder: Path) -> None:
    path = open_folder / "crawl.db"
    await written(path)
    forbid_writing(path, open_folder)

    with pytest.raises(StoreError, match=r"may only be read|cannot be opened"):
        await written(path)


async def test_a_file_that_may_only_be_read_is_read(open_folder: Path) -> None:
    path = open_folder / "crawl.db"
    await written(path)
    forbid_writing(path, open_folder)

    async with open_records(f"sqlite://{path}", create=False) as store:
        assert await pages_of(store) == [visit(1).page]
        with pytest.raises(StoreError, match="may only be read"):
            await store.write([visit(2)])
        assert await store.tally() == Tally({PageStatus.FETCHED: 1}, 10)

    assert names(open_folder) == ["crawl.db"]


async def test_the_crawl_of_another_is_read_while_it_runs(open_folder: Path) -> None:
    path = open_folder / "crawl.db"
    async with open_records(f"sqlite://{path}") as crawl:
        await crawl.write([visit(1)])
        forbid_writing(path, open_folder)

        async with open_records(f"sqlite://{path}", create=False) as store:
            before = await pages_of(store)
            await crawl.write([visit(2)])
            after = await pages_of(store)

    assert (before, after) == ([visit(1).page], [visit(1).page, visit(2).page])


async def test_a_log_that_we_may_not_read_is_no_reason_to_show_half(open_folder: Path) -> None:
    """A copy without the crawl's shared memory: what is only in the log cannot be read, so nothing is."""
    path = open_folder / "crawl.db"
    async with open_records(f"sqlite://{open_folder}/running.db") as crawl:
        await crawl.write([visit(1)])
        copy(open_folder / "running.db", path)
        copy(open_folder / "running.db-wal", open_folder / "crawl.db-wal")
    forbid_writing(path, open_folder)

    with pytest.raises(StoreError, match="the file cannot be opened; may we write in its directory"):
        async with open_records(f"sqlite://{path}", create=False):
            pass


async def test_a_folder_that_may_not_be_written_is_named(open_folder: Path) -> None:
    forbid_writing(open_folder)

    with pytest.raises(StoreError, match="may we write in its directory"):
        await written(open_folder / "crawl.db")


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"there is no directory {tmp_path}/nowhere"):
        await written(tmp_path / "nowhere" / "crawl.db")


async def test_whoever_only_reads_makes_nothing(path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        async with open_records(f"sqlite://{path}", create=False):
            pass

    assert names(path.parent) == []


async def test_whoever_only_reads_writes_nothing(path: Path) -> None:
    await written(path)

    async with open_records(f"sqlite://{path}", create=False) as store:
        with pytest.raises(StoreError, match="may only be read"):
            await store.write([visit(2)])

    assert await on_record(path) == ["fetch-1"]


# another's, another version's, or broken


async def test_a_frontier_without_records_has_none_to_read(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}", FrontierRules()):
        pass

    with pytest.raises(ConfigError, match="there are no records in this file"):
        async with open_records(f"sqlite://{path}", create=False):
            pass


@pytest.mark.parametrize("create", [True, False])
async def test_a_file_of_a_newer_version_is_refused(path: Path, *, create: bool) -> None:
    await written(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO records_migrations VALUES (99, 0)")
        other.commit()

    with pytest.raises(SchemaMismatch, match=r"made by a newer Outrider \(schema 99, this one knows 2\)"):
        async with open_records(f"sqlite://{path}", create=create):
            pass


async def test_a_file_of_an_older_version_is_brought_forward(path: Path) -> None:
    await written(path)
    newer = (*STEPS, "ALTER TABLE pages ADD COLUMN note TEXT;\nCREATE TABLE notes (text TEXT);\n")

    with closing(connect(path, Options())) as connection:
        bring_up(connection, Place(f"sqlite://{path}"), newer)
        versions = [row[0] for row in connection.execute("SELECT version FROM records_migrations ORDER BY version")]
        kept = connection.execute("SELECT count(*), max(note) FROM pages").fetchone()

    assert versions == [1, 2, 3]
    assert kept == (1, None)


async def test_records_of_version_1_can_be_read_and_are_brought_forward_by_who_writes(path: Path) -> None:
    await written(path)
    with closing(sqlite3.connect(path)) as other:
        for name in ("request_batches", "robots_answers", "robots_bodies", "manners"):
            other.execute(f"DROP TABLE {name}")
        other.execute("DROP VIEW requests")
        other.execute("DELETE FROM records_migrations WHERE version = 2")
        other.commit()

    async with open_records(f"sqlite://{path}", create=False) as store:
        with pytest.raises(SchemaMismatch, match="made by an older Outrider"):
            await requests_of(auditable(store))
        assert len(await pages_of(store)) == 1
    await written(path)

    async with open_records(f"sqlite://{path}", create=False) as store:
        assert await requests_of(auditable(store)) == []


async def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    await written(path)
    broken = (*STEPS, "CREATE TABLE notes (text TEXT);\nCREATE TABLE pages (text TEXT);\n")

    with closing(connect(path, Options())) as connection:
        with pytest.raises(sqlite3.OperationalError, match="already exists"):
            bring_up(connection, Place(f"sqlite://{path}"), broken)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}

    assert "notes" not in tables
    assert await on_record(path) == ["fetch-1"]


@pytest.mark.parametrize("create", [True, False])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, *, create: bool) -> None:
    before = scribble(path)

    with pytest.raises(StoreError, match="not a SQLite database"):
        async with open_records(f"sqlite://{path}", create=create):
            pass

    assert read(path) == before


@pytest.mark.parametrize("create", [True, False])
async def test_the_database_of_another_program_is_refused_and_left_alone(path: Path, *, create: bool) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE pages (title TEXT)")

    with pytest.raises(StoreError, match="database of another program"):
        async with open_records(f"sqlite://{path}", create=create):
            pass

    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("pages",)]


@pytest.mark.parametrize("create", [True, False])
async def test_a_damaged_file_is_named_as_such(path: Path, *, create: bool) -> None:
    await written(path, *large(100))
    damage(path, 1)

    with pytest.raises(StoreError, match="damaged"):
        async with open_records(f"sqlite://{path}", create=create) as store:
            await pages_of(store)


async def test_damage_in_the_middle_fails_the_reading_and_not_the_reader(path: Path) -> None:
    await written(path, *large(3_000))
    damage(path, len(read(path)) // 4096 // 2)

    async with open_records(f"sqlite://{path}", create=False) as store:
        with pytest.raises(StoreError, match="damaged"):
            await pages_of(store)

        assert (await store.tally()).pages


# another process


async def test_a_file_locked_for_too_long_is_worth_trying_again(path: Path) -> None:
    async with open_records(f"sqlite://{path}?wait=1") as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreUnavailable, match="locked for more than 1 s"):
                await store.write([visit(1)])
            assert await pages_of(store) == []
            other.execute("ROLLBACK")

        await store.write([visit(1)])

    assert await on_record(path) == ["fetch-1"]


async def test_a_record_that_cannot_be_kept_does_not_spoil_those_committed_with_it(path: Path) -> None:
    unstorable = visit(5, links=1 << 70)
    async with open_records(f"sqlite://{path}") as store:
        answers = await asyncio.gather(
            *(store.write([visit(n + 100), unstorable] if n == 5 else [visit(n)]) for n in range(10)),
            return_exceptions=True,
        )

    assert [isinstance(answer, OverflowError) for answer in answers] == [n == 5 for n in range(10)]
    assert await on_record(path) == [f"fetch-{n}" for n in range(10) if n != 5]


async def test_whoever_gives_up_waiting_harms_nobody(path: Path) -> None:
    async with open_records(f"sqlite://{path}") as store:
        waiting = [asyncio.create_task(store.write([visit(n)])) for n in range(20)]
        await asyncio.sleep(0)
        for task in waiting[::2]:
            task.cancel()
        await asyncio.gather(*waiting[1::2])

    found = set(await on_record(path))
    assert {f"fetch-{n}" for n in range(1, 20, 2)} <= found


async def test_a_reader_that_stops_early_leaves_no_thread_behind(path: Path) -> None:
    await written(path, *(replace(record, evidence=()) for record in large(1_500)))
    async with open_records(f"sqlite://{path}") as store:
        pages = store.pages(PageFilter())
        assert isinstance(pages, AsyncGenerator)
        await anext(pages)
        threads = threading.active_count()
        await pages.aclose()
        assert threading.active_count() == threads - 1
        await store.write([visit(10_000)])

    assert len(await on_record(path)) == 1_501


HOT = {
    "known": ("[]",),
    "last": (),
    "put_url": (1, 1),
    "put_proof": (1, ""),
    "put_decision": (1, "", "", "", "", "", 0.0, None, 1, "", "", "", ""),
    "drop_url": (1, 1),
    "count": ("", 1),
    "pages_at": (1, ""),
    "decisions_about": (1, ""),
}


@pytest.mark.parametrize("name", HOT)
async def test_no_hot_statement_walks_over_a_table(path: Path, name: str) -> None:
    """What a write or a look costs must not depend on how much there is."""
    await written(path)

    with closing(sqlite3.connect(path)) as other:
        steps = [row[3] for row in other.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", HOT[name])]

    assert [step for step in steps if step.startswith("SCAN") and "json_each" not in step and "CONST" not in step] == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite://host/crawl.db", "expected sqlite:///path"),
        ("sqlite:", "expected sqlite:///path"),
        ("sqlite:///tmp/f.db?pool=3", "no such option: pool; it knows cache, max_pages, mmap"),
        ("sqlite:///tmp/f.db?synchronous=off", "expected normal or full"),
        ("redis://127.0.0.1/", "there are memory:, none:, postgres:, postgresql:, sqlite:"),
    ],
)
async def test_a_url_that_makes_no_sense_is_a_configuration_error(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        async with open_records(url):
            pass
