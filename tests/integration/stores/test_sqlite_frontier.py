"""A file that cannot be used says so in one sentence, and what fails leaves nothing behind."""

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from outrider.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from outrider.model.identity import Identity
from outrider.model.ledger import Added, Settled
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.stores.sqlite.schema import STEPS, Options, bring_up, connect
from outrider.stores.sqlite.sql import SQL
from outrider.testing.clock import FakeClock

RULES = FrontierRules()
NOBODY = 65_534


def page(n: int) -> Task:
    return Task(Url(f"http://example.com/{n}"))


async def opened(path: Path, rules: FrontierRules = RULES, options: str = "") -> None:
    async with open_frontier(f"sqlite://{path}{options}", rules) as frontier:
        await frontier.add([page(1)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "frontier.db"


@pytest.fixture
async def frontier(path: Path) -> AsyncIterator[FrontierStore]:
    async with open_frontier(f"sqlite://{path}?wait=1", RULES) as frontier:
        yield frontier


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may look into; root may write anywhere, so the test gives that up for a while."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    is_root = os.geteuid() == 0
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def forbid_writing(*paths: Path) -> None:
    for path in paths:
        path.chmod(0o555)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)


async def test_a_file_of_a_newer_version_is_refused(path: Path) -> None:
    await opened(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO migrations VALUES (99, 0)")
        other.commit()

    with pytest.raises(SchemaMismatch, match=rf"made by a newer Outrider \(schema 99, this one knows {len(STEPS)}\)"):
        await opened(path)


async def test_a_file_of_an_older_version_is_brought_forward(path: Path) -> None:
    await opened(path)
    newer = (*STEPS, "ALTER TABLE sites ADD COLUMN note TEXT;\nCREATE TABLE notes (text TEXT);\n")

    with closing(connect(path, Options())) as connection:
        bring_up(connection, Place(f"sqlite://{path}"), RULES, newer)
        versions = [row[0] for row in connection.execute("SELECT version FROM migrations ORDER BY version")]
        kept = connection.execute("SELECT count(*), max(note) FROM sites").fetchone()

    assert versions == [*range(1, len(STEPS) + 2)]
    assert kept == (1, None)


async def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    await opened(path)
    broken = (*STEPS, "CREATE TABLE notes (text TEXT);\nCREATE TABLE sites (text TEXT);\n")

    with closing(connect(path, Options())) as connection:
        with pytest.raises(sqlite3.OperationalError):
            bring_up(connection, Place(f"sqlite://{path}"), RULES, broken)
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}

    assert "notes" not in tables
    await opened(path)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (FrontierRules(Identity(seed=7)), "made with another seed"),
        (FrontierRules(Identity(strip_tracking=True)), "made with strip_tracking=false where this crawl has true"),
        (FrontierRules(Identity(sort_query=True)), "made with sort_query=false where this crawl has true"),
        (FrontierRules(site_by="host"), "made with site_by=domain where this crawl has host"),
    ],
    ids=["seed", "strip_tracking", "sort_query", "site_by"],
)
async def test_a_file_made_under_other_rules_is_refused(path: Path, rules: FrontierRules, said: str) -> None:
    await opened(path)

    with pytest.raises(SchemaMismatch, match=said):
        await opened(path, rules)


def written(path: Path) -> bytes:
    path.write_bytes(b"http://example.com/|3\n" * 100)
    return read(path)


def read(path: Path) -> bytes:
    return path.read_bytes()


async def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    before = written(path)

    with pytest.raises(StoreError, match="not a SQLite database"):
        await opened(path)

    assert before == read(path)


async def test_the_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE songs (name TEXT)")

    with pytest.raises(StoreError, match="database of another program"):
        await opened(path)

    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_schema").fetchall() == [("songs",)]


def damage(path: Path) -> None:
    """All of it but the page that says what it is."""
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))


async def test_a_damaged_file_is_named_as_such(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}", RULES) as frontier:
        await frontier.add([page(n) for n in range(2_000)])
    damage(path)

    with pytest.raises(StoreError, match="damaged"):
        await opened(path)


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"there is no directory {tmp_path}/nowhere"):
        await opened(tmp_path / "nowhere" / "frontier.db")


async def test_a_file_that_may_only_be_read_is_refused(open_folder: Path) -> None:
    path = open_folder / "frontier.db"
    await opened(path)
    forbid_writing(path, open_folder)

    with pytest.raises(StoreError, match=r"may only be read|cannot be opened"):
        await opened(path)


async def test_a_directory_that_may_not_be_written_is_refused(open_folder: Path) -> None:
    forbid_writing(open_folder)

    with pytest.raises(StoreError, match="may we write in its directory"):
        await opened(open_folder / "frontier.db")


async def test_a_full_disk_fails_one_act_and_leaves_nothing_half_written(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}?max_pages=60", RULES) as frontier:
        await frontier.add([page(1)])
        with pytest.raises(StoreError, match="the disk is full"):
            await frontier.add([page(n) for n in range(20_000)])
        census = await frontier.census()
        again = await frontier.add([page(2)])

    async with open_frontier(f"sqlite://{path}", RULES) as frontier:
        with_room = await frontier.add([page(n) for n in range(20_000)])

    assert (census.discovered, census.pending, census.adds_up) == (1, 1, True)
    assert again == [Added.NEW]
    assert sum(answer is Added.NEW for answer in with_room) == 19_998


async def test_a_file_locked_for_too_long_is_worth_trying_again(path: Path, frontier: FrontierStore) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="locked for more than 1 s"):
            await frontier.add([page(1)])
        other.execute("ROLLBACK")

    assert await frontier.add([page(1)]) == [Added.NEW]


async def test_an_act_that_fails_does_not_spoil_those_committed_with_it(frontier: FrontierStore) -> None:
    unstorable = replace(page(1), priority=1 << 70)

    answers = await asyncio.gather(
        *(frontier.add([unstorable if n == 5 else page(n + 10)]) for n in range(10)), return_exceptions=True
    )
    census = await frontier.census()

    assert [isinstance(answer, OverflowError) for answer in answers] == [n == 5 for n in range(10)]
    assert (census.discovered, census.pending, census.adds_up) == (9, 9, True)
    assert await frontier.add([page(1)]) == [Added.NEW]


async def test_whoever_gives_up_waiting_harms_nobody(frontier: FrontierStore) -> None:
    waiting = [asyncio.create_task(frontier.add([page(n)])) for n in range(20)]
    await asyncio.sleep(0)
    for task in waiting[::2]:
        task.cancel()

    kept = await asyncio.gather(*waiting[1::2])

    assert kept == [[Added.NEW]] * 10
    assert (await frontier.census()).adds_up


async def test_robots_files_are_kept_and_replaced(path: Path) -> None:
    """H2-3: what a site's robots.txt said outlives its queue and its holder."""
    clock = FakeClock(1_000.0)
    first = RobotsFile("http://example.com", RobotsStatus.FOUND, 1.0, 2.0, b"Disallow: /\n" * 5_000)
    second = replace(first, body=b"")
    shown: list[tuple[RobotsFile, ...]] = []
    async with open_frontier(f"sqlite://{path}", RULES, clock) as frontier:
        await frontier.add([page(1)])
        for robots in ((first,), (first,), (second,), ()):
            clock.advance(10)
            lease = (await frontier.lease(sites=1, tasks=1, seconds=60)).leases[0]
            shown.append(lease.site.robots)
            await frontier.settle([Settled(lease, replace(lease.site, robots=robots))])
        listed = [site.robots async for sites in frontier.sites() for site in sites]

    assert shown == [(), (first,), (first,), (second,)]
    assert listed == [()]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite://host/frontier.db", "expected sqlite:///path"),
        ("sqlite:", "expected sqlite:///path"),
        (
            "sqlite:///tmp/f.db?pool=3",
            "no such option: pool; it knows cache, known, max_pages, mmap",
        ),
        ("sqlite:///tmp/f.db?synchronous=off", "expected normal or full"),
    ],
)
async def test_a_url_that_makes_no_sense_is_a_configuration_error(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        async with open_frontier(url, RULES):
            pass


HOT = {
    "known": ("[]",),
    "recent_since": (1,),
    "sites": ("[]",),
    "origins": ("[]",),
    "ready_sites": (1.0, 1),
    "next_ready": (),
    "first_rows": (1, 0, 1),
    "first_moment": (1, 0),
    "row": (1, 0, 0.0, 1),
    "unqueue": (1, 0, 0.0, 1),
    "write_site": (None,) * 11,
    "robots": (1,),
    "find_ended": (1,),
}


@pytest.mark.parametrize("name", HOT)
async def test_no_hot_statement_walks_over_a_table(path: Path, name: str) -> None:
    """What an act costs must not depend on how much there is: H2-4."""
    await opened(path)

    with closing(sqlite3.connect(path)) as other:
        steps = [row[3] for row in other.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", HOT[name])]

    walks = [step for step in steps if step.startswith("SCAN") and "json_each" not in step]
    assert walks == []
    assert not [step for step in steps if "USE TEMP B-TREE" in step]


async def test_a_file_can_be_opened_with_other_options_than_it_was_made_with(path: Path) -> None:
    await opened(path, options="?synchronous=full&mmap=64&cache=8")
    await opened(path)

    async with open_frontier(f"sqlite://{path}", RULES) as frontier:
        assert (await frontier.census()).discovered == 1
