"""`outrider status` as people run it: of a crawl that runs, that ended, that was killed, and of what is none."""

import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Census, Settled
from outrider.model.outcome import Validators
from outrider.model.progress import Counts, Progress
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.observe.status_file import Status, whole_status, write_status
from outrider.ports import FrontierRules
from outrider.stores.registry import open_frontier

Run = Callable[..., Awaitable[tuple[int, str, str]]]

PROGRESS = Progress(
    at=1_060.0,
    started_at=1_000.0,
    workers=2,
    in_flight=3,
    census=Census(discovered=10, pending=7, fetched=3, sites=2),
    counts=Counts(visits=4, pages=3, failed=1, errors={Reason.HTTP_404: 1}),
    rate=1.5,
    directory="/elsewhere",
)


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """It runs: this process is the one that writes."""
    write_status(tmp_path / "crawl" / "logs" / "status.json", PROGRESS)
    return tmp_path / "crawl"


async def make_frontier(crawl: Path) -> None:
    """Under rules of its own, which whoever asks for the status need not know."""
    rules = FrontierRules(site_by="host")
    async with open_frontier(f"sqlite://{crawl}/crawl.db", rules) as frontier:
        await frontier.add([Task(Url(f"http://a.org/{n}")) for n in range(5)])
        (lease,) = (await frontier.lease(sites=1, tasks=2, seconds=60)).leases
        one, other = lease.tasks
        done = Done(one.url, one.url, 200, Validators(), Changes())
        await frontier.settle([Settled(lease, lease.site, ((one, done), (other, Dead(Reason.HTTP_404, 1, "", 404))))])


def rewrite(crawl: Path, **changes: object) -> Status:
    """As another process would have left it."""
    from outrider.model.codec import to_json  # noqa: PLC0415 - only here

    path = crawl / "logs" / "status.json"
    status = whole_status(path)
    assert status is not None
    changed = replace(status, **changes)
    path.write_bytes(to_json(changed))
    return changed


async def test_a_crawl_that_runs_is_told_from_its_status(outrider: Run, crawl: Path) -> None:
    code, out, err = await outrider("status", str(crawl))
    _, as_json, _ = await outrider("status", str(crawl), "--json")

    assert (code, err) == (0, "")
    assert out.startswith("outrider crawling, 1 min 00 s")
    assert f"runs      process {os.getpid()}" in out
    assert "7 pending" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    told = json.loads(as_json)
    assert (told["running"], told["pid"], told["type"]) == (True, os.getpid(), "progress")


async def test_of_a_crawl_that_ended_the_frontier_knows_best(outrider: Run, crawl: Path) -> None:
    await make_frontier(crawl)
    rewrite(crawl, progress=replace(PROGRESS, finish="interrupted"))

    code, out, err = await outrider("status", str(crawl))
    _, as_json, _ = await outrider("status", str(crawl), "--json")

    assert (code, err) == (0, "")
    assert out.startswith("Stopped by Ctrl-C; nothing is lost.")
    told = json.loads(as_json)
    assert (told["running"], told["type"], told["finish"], told["pages"]) == (False, "summary", "interrupted", 3)
    assert (told["census"]["discovered"], told["census"]["dead"]) == (5, {"http_404": 1})
    assert told["files"] == {"frontier": str(crawl / "crawl.db")}


async def test_a_crawl_that_was_killed_is_said_to_be(outrider: Run, crawl: Path) -> None:
    rewrite(crawl, began=1)

    code, out, err = await outrider("status", str(crawl))

    assert (code, err) == (0, "")
    assert out.startswith("It ended without a word, perhaps killed; nothing is lost.")
    assert "3 pages" not in out
    assert "goes on with the 7 URLs still owed" in out


async def test_on_another_machine_we_cannot_look(outrider: Run, crawl: Path) -> None:
    rewrite(crawl, host="far\x1b.example")

    code, out, _ = await outrider("status", str(crawl))
    _, as_json, _ = await outrider("status", str(crawl), "--json")

    assert code == 0
    assert r"on far\x1b.example, where we cannot look" in out
    assert json.loads(as_json)["running"] is None


async def test_without_a_status_the_frontier_is_counted_and_nothing_is_made(outrider: Run, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    crawl.mkdir()
    await make_frontier(crawl)
    before = {path.name: path.read_bytes() for path in crawl.iterdir()}

    code, out, err = await outrider("status", str(crawl))

    assert (code, err) == (0, "")
    assert out.startswith("It does not run; all that is known is its frontier.")
    assert "dead                  1  http_404 1" in out
    assert {path.name: path.read_bytes() for path in crawl.iterdir()} == before


@pytest.mark.parametrize(
    ("argument", "code", "sentence"),
    [
        ("nowhere", 2, "nowhere: there is no such directory"),
        ("file", 2, "file: is not a directory"),
        ("empty", 2, "empty: no crawl is here (there is neither logs/status.json nor crawl.db in it)"),
        ("damaged", 6, "damaged/logs/status.json: is not a status file"),
        ("foreign", 6, "foreign/crawl.db: the file is not a SQLite database"),
        ("folder", 6, "crawl.db"),
    ],
)
async def test_a_wrong_directory_is_one_sentence(
    outrider: Run, tmp_path: Path, argument: str, code: int, sentence: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "damaged" / "logs").mkdir(parents=True)
    (tmp_path / "damaged" / "logs" / "status.json").write_text("{")
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "crawl.db").write_text("something else, long enough to be looked at" * 30)
    (tmp_path / "folder" / "crawl.db").mkdir(parents=True)

    got, out, err = await outrider("status", argument)

    assert (got, out, err.count("\n")) == (code, "", 1)
    assert sentence in err
    assert list((tmp_path / "empty").iterdir()) == []
