"""Dead letters and plans on the engines that operators share: two act at the same moment, and each URL flips once."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from msgspec import Struct
from tests.services.postgres import PostgresServer, running
from tests.services.redis import RedisServer

from outrider.cli import main
from outrider.model.event import UrlDismissed, UrlReplayed
from outrider.model.ledger import Settled
from outrider.model.reason import Reason
from outrider.model.record import Decision, Record
from outrider.model.settlement import Dead
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ops.dead_letters import drop, replay
from outrider.ops.plan import Change, Kind, plan_of
from outrider.ops.plan_apply import Hands, apply_flips
from outrider.ops.why import Terms
from outrider.policy.admit import admit_rules
from outrider.ports import FrontierRules, Records
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.none import NoRecords
from outrider.stores.records import open_records
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.records import visit

SITES: Final = ("a.org", "b.org", "c.org")
PAGES: Final = tuple(Url(f"http://{site}/{n}") for site in SITES for n in range(20))


class Operator(Struct):
    frontier: FrontierStore
    records: Records
    events: MemoryEvents


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture(params=["sqlite", "redis", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A frontier of its own for each test; the server is started when it is needed."""
    match request.param:
        case "redis":
            server: RedisServer = request.getfixturevalue("redis_server")
            return f"{server.url}?prefix={uuid4().hex[:8]}"
        case "postgres":
            database: PostgresServer = request.getfixturevalue("postgres_server")
            return database.url(f"letters{uuid4().hex[:8]}")
        case _:
            return f"sqlite://{tmp_path}/crawl.db"


async def both(stack: AsyncExitStack, place: str) -> tuple[Operator, Operator]:
    """Two who have opened the same frontier, in which every page is dead."""
    one, two = [await stack.enter_async_context(open_frontier(place, FrontierRules())) for _ in range(2)]
    await one.add([Task(url) for url in PAGES])
    for lease in (await one.lease(sites=9, tasks=99, seconds=60)).leases:
        dead = tuple((task, Dead(Reason.HTTP_404, 1, status=404)) for task in lease.tasks)
        await one.settle([Settled(lease, lease.site, dead)])
    assert (await two.census()).dead == {Reason.HTTP_404: len(PAGES)}
    return Operator(one, NoRecords(), MemoryEvents()), Operator(two, NoRecords(), MemoryEvents())


def told(*operators: Operator) -> list[Url]:
    events = [event for operator in operators for event in operator.events.events]
    return sorted(event.url for event in events if isinstance(event, UrlReplayed | UrlDismissed))


async def test_one_letter_is_replayed_by_one_of_two_who_try_and_told_once(place: str) -> None:
    async with AsyncExitStack() as stack:
        one, two = await both(stack, place)

        for url in PAGES[:5]:
            counts = await asyncio.gather(replay(one, [url], "one"), replay(two, [url], "two"))
            assert sorted(counts) == [0, 1]

        census = await one.frontier.census()
        assert (census.pending, census.dead, census.adds_up) == (5, {Reason.HTTP_404: len(PAGES) - 5}, True)
        assert told(one, two) == sorted(PAGES[:5])


async def test_of_many_letters_each_is_replayed_once_whoever_does_it(place: str) -> None:
    async with AsyncExitStack() as stack:
        one, two = await both(stack, place)

        counts = await asyncio.gather(replay(one, PAGES, "one"), replay(two, PAGES[::-1], "two"))

        census = await one.frontier.census()
        assert sum(counts) == len(PAGES)
        assert (census.pending, census.dead, census.adds_up) == (len(PAGES), {}, True)
        assert set(told(one, two)) == set(PAGES)


async def test_of_many_letters_each_is_dropped_once_whoever_does_it(place: str) -> None:
    async with AsyncExitStack() as stack:
        one, two = await both(stack, place)

        counts = await asyncio.gather(drop(one, PAGES, "one"), drop(two, PAGES[::-1], "two"))

        census = await two.frontier.census()
        assert sum(counts) == len(PAGES)
        assert (census.skipped, census.dead, census.adds_up) == ({Reason.DISMISSED: len(PAGES)}, {}, True)
        assert told(one, two) == sorted(PAGES)


async def test_the_command_counts_and_replays_the_letters_of_any_engine(
    place: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    async with AsyncExitStack() as stack:
        one, _ = await both(stack, place)

        code = await asyncio.to_thread(main, ["dlq", "list", "--frontier", place, "--site", "b.org", "--json"])
        listed = capfd.readouterr().out.splitlines()
        choice = ["--site", "b.org", "--reason", "http_404", "--status", "404", "--text", "/1"]
        told = ["--events", f"file://{tmp_path}/events"]
        acted = await asyncio.to_thread(main, ["dlq", "replay", "--frontier", place, *choice, *told])

        census = await one.frontier.census()
        assert (code, acted) == (0, 0)
        assert json.loads(listed[0])["count"]["bySite"] == {"b.org": 20}
        assert len(listed) == 21
        assert "11 replayed: owed a visit again, with fresh counts" in capfd.readouterr().out
        assert (census.pending, census.dead) == (11, {Reason.HTTP_404: len(PAGES) - 11})
        (file,) = await asyncio.to_thread(lambda: [*tmp_path.glob("events/*.jsonl")])
        assert await asyncio.to_thread(lambda: file.read_text().count('"type":"url_replayed"')) == 11


async def test_a_plan_flips_what_the_engine_has_lines_of_and_counts_the_rest(place: str) -> None:
    refused = [Url(f"http://a.org/deep/{n}") for n in range(3)]
    before, after = terms(max_depth=0), terms(exclude=[re.compile("org/1$")])
    async with open_frontier(place, FrontierRules()) as frontier, open_records("memory:") as records:
        await frontier.add([Task(url) for url in PAGES], [(url, Reason.TOO_DEEP) for url in refused])
        why = [Decision(url, "admit", Reason.TOO_DEEP, "max_depth=0", "", 1.0, "http://a.org/0") for url in refused]
        await records.write([visit(1, "http://a.org/0", origin="seed"), Record(decisions=tuple(why))])

        plan = await plan_of(frontier, records, Change(after, before))
        applied = await apply_flips(Hands(frontier, records, MemoryEvents(), "a test", 7.0), Change(after, before))
        again = await plan_of(frontier, records, Change(after, before))

        census = await frontier.census()
        owed = plan.total(Kind.OWED)
        # A compact store keeps the hash alone of a URL that it never took in; then it is said how many those are.
        assert (owed + plan.notes.by_hash, plan.total(Kind.REFUSED)) == (3, len(SITES))
        assert (applied.refused, applied.owed, applied.left) == (len(SITES), owed, 0)
        assert (census.pending, census.adds_up) == (len(PAGES) - len(SITES) + owed, True)
        assert census.skipped[Reason.OUT_OF_SCOPE] == len(SITES)
        assert (again.refused, again.owed) == ([], [])


def terms(**rules: Any) -> Terms:  # noqa: ANN401 - as admit_rules takes them
    admit = admit_rules(**rules)
    return Terms(admit, admit, "us", respects_robots=False)
