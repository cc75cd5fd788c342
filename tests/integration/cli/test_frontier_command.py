"""`outrider frontier` as people run it: a process of its own, real files, real servers."""

import json
import os
import pty
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pytest
from msgspec.structs import replace
from redis import Redis
from tests.services.postgres import PASSWORD, running
from tests.services.redis import RedisServer

from outrider.cli import main
from outrider.model.ledger import Entry, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Later, Settlement
from outrider.model.site import Site
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.registry import open_frontier
from outrider.stores.sqlite.schema import STEPS

Run = Callable[..., Awaitable[tuple[int, str, str]]]

RULES = FrontierRules()
NOBODY = 65_534


class Ledger(NamedTuple):
    """All that a store says of itself; of what has ended for good, a compact one only says that it is known."""

    owed: list[Entry]
    dead: list[Entry]
    sites: list[Site]
    discovered: int
    seed: int
    known: list[bool]


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--requirepass", PASSWORD).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    with running() as server:
        yield server.url(f"t{uuid4().hex[:12]}")


@pytest.fixture
async def crawl(tmp_path: Path) -> str:
    """A frontier that was at work: something of every state."""
    url = f"sqlite://{tmp_path}/crawl.db"
    async with open_frontier(url, RULES) as frontier:
        refused = [(Url("http://c.org/x|y"), Reason.OUT_OF_SCOPE)]
        await frontier.restore(sites=[Site("x.org", excluded=True)])
        await frontier.add([page(n, site) for site in ("a.org", "b.org", "x.org") for n in range(4)], refused)
        (lease,) = (await frontier.lease(sites=1, tasks=3, seconds=60)).leases
        fetched = Done(lease.tasks[0].url, lease.tasks[0].url, 200, Validators(), Changes())
        ends: list[Settlement] = [fetched, Dead(Reason.HTTP_404, 1, "gone", 404), Later(2e9, Reason.HTTP_500, 1)]
        resting = replace(lease.site, not_before=1.9e9)
        await frontier.settle([Settled(lease, resting, tuple(zip(lease.tasks, ends, strict=True)))])
    return url


def page(n: int, site: str) -> Task:
    return Task(Url(f"http://{site}/{n}?q=1|2"), depth=n % 3, priority=-(n % 3))


def parts_in(folder: Path) -> list[Path]:
    """What a broken export would leave behind."""
    return list(folder.glob(".*.part"))


async def ledger(url: str) -> Ledger:
    async with open_frontier(url, RULES) as frontier:
        entries = [entry async for batch in frontier.entries() for entry in batch]
        # How many URLs a site was admitted is counted anew by each store, from what it was given.
        sites = [replace(site, admitted=0) async for batch in frontier.sites() for site in batch]
        census = await frontier.census()
        urls = [page(n, site).url for site in ("a.org", "b.org", "x.org") for n in range(5)]
        known = await frontier.knows([*urls, Url("http://c.org/x|y")])
    in_order = sorted(entries, key=lambda entry: (entry.site, entry.task.sequence if entry.task else 0))
    lines = [replace(entry, task=entry.task and replace(entry.task, sequence=0)) for entry in in_order]
    assert census.adds_up
    return Ledger(
        [entry for entry in lines if entry.state in {State.PENDING, State.WAITING}],
        [entry for entry in lines if entry.state is State.DEAD],
        sorted(sites, key=lambda site: site.key),
        census.discovered,
        frontier.rules.identity.seed,
        known,
    )


async def test_stats_count_by_state_and_reason(outrider: Run, crawl: str) -> None:
    code, out, err = await outrider("frontier", "stats", crawl)
    _, as_json, _ = await outrider("frontier", "stats", crawl, "--json")

    assert (code, err) == (0, "")
    rows = dict(line.rsplit(maxsplit=1) for line in out.splitlines())
    assert (rows["discovered"], rows["pending"], rows["waiting"], rows["fetched"]) == ("13", "9", "1", "1")
    assert (rows["dead: http_404"], rows["skipped: out_of_scope"], rows["sites"]) == ("1", "1", "3")
    assert max(map(len, out.splitlines())) <= 80
    assert json.loads(as_json)["dead"] == {"http_404": 1}


async def test_an_export_is_imported_whole_and_for_its_owners_eyes(outrider: Run, crawl: str, tmp_path: Path) -> None:
    code, out, err = await outrider("frontier", "export", crawl, "crawl.jsonl")
    first = await outrider("frontier", "import", f"sqlite://{tmp_path}/copy.db", "crawl.jsonl")
    again = await outrider("frontier", "import", f"sqlite://{tmp_path}/copy.db", "crawl.jsonl")

    file = tmp_path / "crawl.jsonl"
    assert (code, out, err) == (0, "", f"{len(file.read_text().splitlines())} lines written\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first == (0, "13 URLs of 3 sites read; 13 were new there\n", "")
    assert again == (0, "13 URLs of 3 sites read; 0 were new there\n", "")
    assert await ledger(f"sqlite://{tmp_path}/copy.db") == await ledger(crawl)


async def test_an_export_goes_through_a_pipe(outrider: Run, crawl: str, tmp_path: Path) -> None:
    _, out, _ = await outrider("frontier", "export", crawl)
    code, _, _ = await outrider("frontier", "import", "sqlite:copy.db", given=out.encode())

    assert code == 0
    assert await ledger(f"sqlite://{tmp_path}/copy.db") == await ledger(crawl)


async def test_a_frontier_goes_round_all_engines_and_comes_back_the_same(
    outrider: Run, crawl: str, tmp_path: Path, redis_server: RedisServer, postgres_url: str
) -> None:
    """S2-39: switchable back and forth."""
    redis = f"redis://:{PASSWORD}@127.0.0.1:{redis_server.port}/0?prefix={uuid4().hex}"
    way = [crawl, redis, postgres_url, f"sqlite://{tmp_path}/back.db"]

    told = [await outrider("frontier", "move", a, b) for a, b in pairwise(way)]

    assert told == [(0, "13 URLs of 3 sites read; 13 were new there\n", "")] * 3
    assert [await ledger(url) for url in way[1:]] == [await ledger(crawl)] * 3


async def test_a_dry_run_makes_and_changes_nothing(
    outrider: Run, crawl: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    """S2-14."""
    before = await ledger(crawl)
    prefix = uuid4().hex

    into_file = await outrider("frontier", "move", crawl, f"sqlite://{tmp_path}/new.db", "--dry-run")
    into_redis = await outrider(
        "frontier", "move", crawl, f"redis://:{PASSWORD}@127.0.0.1:{redis_server.port}?prefix={prefix}", "--dry-run"
    )

    assert into_file == into_redis == (0, "13 URLs of 3 sites read; nothing written\n", "")
    assert not (tmp_path / "new.db").exists()
    with Redis(port=redis_server.port, password=PASSWORD, protocol=2) as client:
        assert list(client.scan_iter(match=f"*{prefix}*")) == []
    assert await ledger(crawl) == before


async def test_a_target_that_knew_more_is_told_and_is_not_a_success(outrider: Run, crawl: str, tmp_path: Path) -> None:
    other = f"sqlite://{tmp_path}/other.db"
    async with open_frontier(crawl, RULES) as frontier:
        rules = frontier.rules
    async with open_frontier(other, rules) as frontier:
        await frontier.add([page(1, "d.org")])

    code, out, err = await outrider("frontier", "move", crawl, other)

    assert (code, out) == (6, "13 URLs of 3 sites read; 13 were new there\n")
    assert "the ledgers differ: discovered: 13 before, 14 after" in err


@pytest.mark.parametrize("by_export", [False, True], ids=["move", "import"])
async def test_bare_hashes_do_not_go_where_they_mean_nothing(
    outrider: Run,
    crawl: str,
    tmp_path: Path,
    by_export: bool,  # noqa: FBT001 - a column
) -> None:
    other = f"sqlite://{tmp_path}/other.db"
    async with open_frontier(other, RULES), open_frontier(crawl, RULES) as frontier:
        await frontier.restore(hashes=[7])
    await outrider("frontier", "export", crawl, "crawl.jsonl")

    arguments = ("import", other, "crawl.jsonl") if by_export else ("move", crawl, other)
    code, out, err = await outrider("frontier", *arguments)

    assert (code, out) == (6, "")
    assert err.startswith("outrider: the target was made with another seed, and some URLs of the source are known by")
    assert (await ledger(other)).discovered == 0


async def test_urls_known_by_their_text_go_into_a_store_with_a_seed_of_its_own(outrider: Run, tmp_path: Path) -> None:
    young, other = f"sqlite://{tmp_path}/young.db", f"sqlite://{tmp_path}/other.db"
    async with open_frontier(young, RULES) as frontier, open_frontier(other, RULES) as made:
        await frontier.add([page(n, "a.org") for n in range(3)])
        seed = made.rules.identity.seed

    told = await outrider("frontier", "move", young, other)

    after = await ledger(other)
    assert told == (0, "3 URLs of 1 sites read; 3 were new there\n", "")
    assert (after.seed, after.known[:5]) == (seed, [True, True, True, False, False])


def test_progress_is_shown_to_whoever_watches(crawl: str, tmp_path: Path, environment: dict[str, str]) -> None:
    """S2-13."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "outrider", "frontier", "move", crawl, "sqlite:new.db"]
    done = subprocess.run(command, stderr=slave, stdout=subprocess.PIPE, cwd=tmp_path, env=environment, check=False)
    os.close(slave)
    shown = os.read(master, 65_536).decode()
    os.close(master)

    assert done.returncode == 0
    assert "URLs" in shown
    assert "100%" in shown


async def test_an_older_layout_is_migrated_by_one_command(
    outrider: Run, tmp_path: Path, redis_server: RedisServer
) -> None:
    """S2-10, S2-13, S2-14, S2-15: the figures for programs, the reminder for people, no password for anybody."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a.org.frontier").write_text("http://a.org/1|0\nhttp://a.org/2|1\n")
    source = f"s2+files://{tmp_path}/old?redis=:{PASSWORD}@127.0.0.1:{redis_server.port}/0"

    tried = await outrider("frontier", "move", source, "sqlite:new.db", "--dry-run", "--batch-size", "1")
    made = (tmp_path / "new.db").exists()
    moved = await outrider("frontier", "move", source, "sqlite:new.db", "--clean")
    (tmp_path / "old" / "b.org.frontier").write_text("nonsense://|0\n")
    wrong = await outrider("frontier", "move", source, "sqlite:new.db")

    figures = {"domains_processed": 1, "urls_migrated": 2, "urls_known": 0, "files_read": 1, "errors": 0}
    assert (tried[0], json.loads(tried[1]), tried[2], made) == (0, figures, "", False)
    assert (moved[0], json.loads(moved[1])) == (0, figures)
    assert moved[2].startswith("once you have verified the new frontier, you can delete the old one: s2+files://")
    assert PASSWORD not in moved[2]
    assert wrong[0] == 6
    assert wrong[2].startswith("b.org: 'nonsense://'")
    assert json.loads(wrong[1])["errors"] == 1


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ["stats", "mongodb://u:hush@h/"],
            2,
            "mongodb://u:***@h/: no frontier is named by mongodb:; there are memory:",
        ),
        (["stats", "crawl.db"], 2, "crawl.db: no frontier is named by nothing:; there are"),
        (["stats", "sqlite:crawl.db?cash=3"], 2, "sqlite:crawl.db?cash=3: no such option: cash; it knows cache, known"),
        (["stats", "sqlite:crawl.db?cache=much"], 2, "cache='much'; expected a whole number from 1 up"),
        (["stats", "sqlite:nowhere.db"], 2, "sqlite:nowhere.db: there is no such file"),
        (["stats", "redis://u:hush@h:port/"], 2, "'redis://u:***@h:port/' is not a store URL"),
        (["stats", "redis://u:hu/sh@h/"], 2, "'redis://u:***@h/' is not a store URL"),
        (["stats", "redis://:hush@127.0.0.1:1/"], 6, "redis://:***@127.0.0.1:1/: the server cannot be reached"),
        (["stats", "postgresql://u:hush@127.0.0.1:1/d"], 6, "postgresql://u:***@127.0.0.1:1/d: "),
        (
            ["stats", "sqlite:crawl.db", "--set", "site_by=host"],
            6,
            "made with site_by=domain where this crawl has host",
        ),
        (["export", "sqlite:nowhere.db", "out.jsonl"], 2, "sqlite:nowhere.db: there is no such file"),
        (["export", "sqlite:crawl.db", "nowhere/out.jsonl"], 2, "nowhere/out.jsonl: No such file or directory"),
        (["export", "sqlite:crawl.db", "folder"], 2, "folder: Is a directory"),
        (["import", "sqlite:new.db", "nowhere.jsonl"], 2, "nowhere.jsonl: No such file or directory"),
        (["import", "sqlite:new.db", "folder"], 2, "folder: Is a directory"),
        (["import", "sqlite:new.db", "notes.txt"], 2, "notes.txt line 1 is not a line of an export"),
        (["import", "sqlite:new.db", "crawl.db"], 2, "crawl.db line 1 is not a line of an export"),
        (["import", "sqlite:new.db", "empty"], 2, "empty is not an export of a frontier: its first line is no header"),
        (["move", "sqlite:nowhere.db", "sqlite:new.db"], 2, "sqlite:nowhere.db: there is no such file"),
        (["move", "sqlite:crawl.db", "sqlite:nowhere/new.db"], 6, "nowhere/new.db: there is no directory nowhere"),
        (["move", "sqlite:crawl.db", "foo:", "--dry-run"], 2, "no frontier is named by foo:"),
        (["move", "sqlite:crawl.db", "sqlite:new.db", "--clean"], 2, "--clean is for s2+files: and s2+redis: alone"),
        (["move", "sqlite:crawl.db", "sqlite:new.db", "--batch-size", "0"], 2, "Invalid value for '--batch-size'"),
        (["move", "s2+files:///nowhere?redis=:hush@h", "sqlite:new.db"], 2, "?redis=:***@h: there is no such folder"),
        (
            ["move", "s2+redis://:hush@127.0.0.1:1/0", "sqlite:new.db"],
            6,
            "s2+redis://:***@127.0.0.1:1/0: the server can",
        ),
        (["move", "s2+redis://h/zero", "sqlite:new.db"], 2, "'/zero' is not a database; expected a number"),
    ],
)
@pytest.mark.usefixtures("crawl")
async def test_what_a_person_can_mend_is_one_sentence_without_a_password(
    outrider: Run, tmp_path: Path, arguments: list[str], code: int, sentence: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "notes.txt").write_text("milk\neggs\n")

    got, out, err = await outrider("frontier", *arguments)

    assert (got, out) == (code, "")
    assert sentence in err
    assert err.startswith("outrider: ")
    assert err.count("\n") == 1
    assert "hush" not in err
    assert not (tmp_path / "new.db").exists()
    assert not parts_in(tmp_path)


@pytest.mark.parametrize(
    ("driver", "url", "extra"),
    [
        ("redis", "redis://127.0.0.1:1/", "redis"),
        ("psycopg", "postgresql://127.0.0.1:1/d", "postgres"),
        ("redis", "s2+redis://127.0.0.1:1/", "redis"),
    ],
)
def test_a_driver_that_is_missing_names_what_to_install(
    tmp_path: Path, environment: dict[str, str], driver: str, url: str, extra: str
) -> None:
    blocked = f"import sys; sys.modules[{driver!r}] = None; from outrider.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", blocked, "frontier", "move", url, "sqlite:new.db"]

    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)

    sentence = f"outrider: {url}: the driver is missing; pip install 'outrider[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", sentence)


async def test_a_file_of_a_newer_version_is_left_alone(outrider: Run, crawl: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "crawl.db")) as file, file:
        file.execute("INSERT INTO migrations VALUES (99, 0)")

    source = await outrider("frontier", "move", crawl, "sqlite:new.db")
    target = await outrider("frontier", "stats", crawl)

    assert source == target
    assert (source[0], source[1]) == (6, "")
    assert f"made by a newer Outrider (schema 99, this one knows {len(STEPS)}); upgrade to open it" in source[2]


@pytest.mark.usefixtures("crawl")
def test_a_file_that_may_only_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "crawl.db")
        shutil.copy(tmp_path / "crawl.db", file)
        # Root may write anywhere, so the test gives that up, after one run that imports all it needs.
        before = main(["frontier", "stats", f"sqlite://{file}"])
        capsys.readouterr()
        file.chmod(0o444)
        file.parent.chmod(0o555)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)

        code = main(["frontier", "stats", f"sqlite://{file}"])

        if is_root:
            os.seteuid(0)
        file.parent.chmod(0o755)

    said = capsys.readouterr().err
    assert (before, code, said.count("\n")) == (0, 6, 1)
    assert "may only be read" in said or "cannot be opened" in said


async def test_what_a_filter_loses_is_said_with_the_counts(outrider: Run, redis_server: RedisServer) -> None:
    """H2-17, S2-19, C26."""
    url = f"redis://:{PASSWORD}@127.0.0.1:{redis_server.port}/0?prefix={uuid4().hex}"
    async with open_frontier(f"{url}&dedup=bloom&capacity=5000", RULES) as frontier:
        await frontier.add([Task(Url("http://example.com/"))])

    code, said, _ = await outrider("frontier", "stats", url)
    _, as_json, beside = await outrider("frontier", "stats", url, "--json")

    loss = "dedup: bloom, 1 of 1,000 new URLs is taken for known at 5,000 (a filter of ours)\n"
    assert code == 0
    assert said.endswith(loss)
    assert (json.loads(as_json)["discovered"], beside) == (1, loss)
