"""Kafka, Redis and PostgreSQL go away in the middle of work, one after the other: it pauses, says so, and goes on.

Each is killed as a power cut would, and comes back with what it had answered for.
"""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.e2e.service_faults import answered, begun, census, judge_events, readiness, rig_over, scraped, site
from tests.e2e.services import DURABLE, Command, until
from tests.services.kafka import KafkaServer
from tests.services.postgres import PostgresServer, running
from tests.services.redis import RedisServer

from outrider.cli.exit_codes import ExitCode
from outrider.model.record import PageStatus
from outrider.ops.audit import Sources, audit
from outrider.stores.records import open_records
from outrider.testing.webfarm import WebFarm

HOSTS = [f"site-{number}.test" for number in range(6)]
PAGES = 8
"""Of each site, for each fault."""
_FETCHED = "page_fetcher_pages_fetched_total"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis", *DURABLE).start()
    yield server
    server.stop()


class Fault:
    """A server that can be taken away. `name` is how the service calls it."""

    def __init__(self, name: str, away: Callable[[], object], back: Callable[[], object]) -> None:
        self.name = name
        self.away = away
        self.back = back


async def _through(fault: Fault, farm: WebFarm, worker: Command, batch: list[str], before: int) -> None:
    """Take it away once some of the batch were asked for; wait until that is told, bring it back, and see all done."""
    await until(lambda: len(answered(farm.log)) >= before + len(HOSTS), "it is at work", worker)
    await asyncio.to_thread(fault.away)
    try:
        await until(lambda: readiness(worker)[0] == 503, f"it is told that {fault.name} is away", worker)
        assert fault.name in readiness(worker)[1]
    finally:
        await asyncio.to_thread(fault.back)
    await until(lambda: readiness(worker)[0] == 200, f"{fault.name} is back", worker)
    await until(lambda: scraped(worker)[_FETCHED] == before + len(batch), "all of it is done", worker)


def _batch(farm: WebFarm, number: int) -> list[str]:
    return [farm.url(host, f"/{page}") for host in HOSTS for page in range(number * PAGES, (number + 1) * PAGES)]


async def test_each_store_may_go_away_in_the_middle_of_work(
    tmp_path: Path, durable: RedisServer, kafka: KafkaServer, postgres: PostgresServer
) -> None:
    """S4-2, H4-8: nothing is lost, nothing is told that was not fetched, and nobody had to do anything."""
    schema = "records_of_a_service"
    faults = [
        Fault(f"kafka://{kafka.bootstrap}", kafka.kill, kafka.start),
        Fault(f"redis://127.0.0.1:{durable.port}", durable.kill, durable.start),
        Fault(f":{postgres.port}/", lambda: postgres.stop("immediate"), postgres.start),
    ]
    async with (
        WebFarm({host: site(PAGES * len(faults)) for host in HOSTS}) as farm,
        rig_over(farm, tmp_path, durable, kafka) as built,
    ):
        records = f"{postgres.url(schema)}&timeout=1"
        events = f"{kafka.url(built.topic)}?timeout=1"
        # A password is not written to a file of settings.
        worker = await built.start("worker", "worker", "--records", records, delay=0.1, events=events)
        await begun(worker)
        urls: list[str] = []
        for number, fault in enumerate(faults):
            batch = _batch(farm, number)
            built.push(batch)
            await _through(fault, farm, worker, batch, len(urls))
            urls += batch

        assert await worker.stopped() == ExitCode.OK, worker.said
        twice = judge_events(built, urls, farm.log)
        print(f"{len(urls)} URLs, {twice} events came twice")
        assert twice <= len(HOSTS) * len(faults)
        assert Counter(answered(farm.log)) == Counter(urls)
        counted = await census(built)
        assert (counted.fetched, counted.leased, counted.adds_up) == (len(urls), 0, True)
        assert built.letters() == []
        async with open_records(records) as kept:
            assert (await kept.tally()).pages == {PageStatus.FETCHED: len(urls)}
            assert (await audit(Sources(kept, counted))).examples == ()


async def test_a_frontier_in_postgresql_goes_on_after_a_restart(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer, postgres: PostgresServer
) -> None:
    """Queue, pages and dead letters are in Redis, everything else in PostgreSQL."""
    fault = Fault(f":{postgres.port}/", lambda: postgres.stop("immediate"), postgres.start)
    async with WebFarm({host: site(PAGES) for host in HOSTS}) as farm, rig_over(farm, tmp_path, redis, kafka) as built:
        place, urls = f"{postgres.url('all_of_a_service')}&timeout=1", _batch(farm, 0)
        worker = await built.start("worker", "worker", "--frontier", place, "--records", place, delay=0.1)
        built.push(urls)

        await _through(fault, farm, worker, urls, 0)

        assert await worker.stopped() == ExitCode.OK, worker.said
        assert "pool-" not in worker.said, "the driver's own words are of no use to anybody"
        assert judge_events(built, urls, farm.log) == 0
        assert Counter(answered(farm.log)) == Counter(urls)
        counted = await census(built, place)
        assert (counted.fetched, counted.leased, counted.adds_up) == (len(urls), 0, True)
        async with open_records(place) as kept:
            assert (await kept.tally()).pages == {PageStatus.FETCHED: len(urls)}
            assert (await audit(Sources(kept, counted))).examples == ()


async def test_a_worker_that_dies_while_redis_is_away_is_replaced_when_it_is_back(
    tmp_path: Path, durable: RedisServer, kafka: KafkaServer
) -> None:
    """The new process finds no store, waits for it like everybody else, and the service lives on."""
    async with WebFarm({HOSTS[0]: site(2)}) as farm, rig_over(farm, tmp_path, durable, kafka) as built:
        urls = [farm.url(HOSTS[0], f"/{number}") for number in range(2)]
        worker = await built.worker()
        await begun(worker)
        built.push(urls[:1])
        await until(lambda: scraped(worker)["outrider_frontier_urls{fetched}"] == 1, "it is idle", worker)
        await until(lambda: scraped(worker)["outrider_sites_held"] == 0, "it holds nothing", worker)
        first = _child(worker)

        durable.kill()
        os.kill(int(first), signal.SIGKILL)
        await until(lambda: _child(worker) not in {"", first}, "another takes its place", worker)
        await until(lambda: scraped(worker)["outrider_paused"] == 1, "that one waits as well", worker)
        durable.start()
        built.push(urls[1:])

        await until(lambda: scraped(worker)["outrider_frontier_urls{fetched}"] == 2, "it goes on", worker)
        assert built.fetched() == Counter(urls)
        assert scraped(worker)["outrider_worker_deaths_total"] == 1
        assert await worker.stopped() == ExitCode.OK, worker.said


def _child(worker: Command) -> str:
    """Its one worker process."""
    return Path(f"/proc/{worker.process.pid}/task/{worker.process.pid}/children").read_text().strip()
