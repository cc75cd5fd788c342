"""A master is killed in the middle of work and its replica takes over: the crawl pauses, and goes on by itself."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisClusterNodes

from outrider.errors import StoreUnavailable
from outrider.model.ledger import Added, Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.pace import PaceLimits
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

# redis-py drops a node that left the cluster without closing its connections; the collector tells, some test later.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

T = TypeVar("T")

UNHURRIED = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0), max_recoveries=1_000))
SITES = 40
TRIES = 2_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RedisClusterNodes]:
    nodes = RedisClusterNodes(tmp_path, replicas=True)
    try:
        yield nodes.start()
    finally:
        nodes.stop()


def page(n: int) -> Task:
    return Task(Url(f"http://s{n % SITES}.org/{n}"))


class Worker:
    """Adds, leases, settles; asks again when told to. It notes what it was told had happened."""

    def __init__(self, store: FrontierStore) -> None:
        self.store = store
        self.added = 0
        self.settled: Counter[Url] = Counter()
        self.pauses = 0

    async def again(self, act: Callable[[], Awaitable[T]]) -> T:
        for _ in range(TRIES):
            try:
                return await act()
            except StoreUnavailable:
                self.pauses += 1
                await asyncio.sleep(0.02)
        raise AssertionError("the store did not come back")

    async def work(self) -> None:
        batch = [page(n) for n in range(self.added, self.added + 50)]
        await self.again(lambda: self.store.add(batch))
        self.added += len(batch)
        await self.work_off()

    async def work_off(self) -> None:
        # A lease whose answer was lost is not asked for again: it runs out, and its tasks are lent once more.
        lent = await self.again(lambda: self.store.lease(sites=8, tasks=3, seconds=1))
        accounts = [
            Settled(
                lease,
                lease.site,
                tuple((task, Done(task.url, task.url, 200, Validators(), Changes())) for task in lease.tasks),
            )
            for lease in lent.leases
        ]
        try:
            answers = await self.store.settle(accounts)
        except StoreUnavailable:
            self.pauses += 1
            return
        for account, accepted in zip(accounts, answers, strict=True):
            if accepted:
                self.settled.update(task.url for task, _ in account.settlements)


async def test_what_a_replica_has_confirmed_survives_the_failover(cluster: RedisClusterNodes) -> None:
    """H0-4, H2-7, H2-21, C20: with replicas=1 nothing that was answered for is lost, and nobody holds a site twice."""
    async with open_frontier(f"{cluster.url}?replicas=1&timeout=4", UNHURRIED) as store:
        worker = Worker(store)
        for _ in range(10):
            await worker.work()

        cluster.masters[1].kill()
        # Its sites cannot be reached meanwhile: one act after the kill is told so, and nothing more is asked.
        with pytest.raises(StoreUnavailable):
            await store.census()
        await asyncio.to_thread(cluster.wait_until_promoted, cluster.replicas[1])
    # The promoted one has no replica itself, so that from here on nobody can wait for one.
    async with open_frontier(f"{cluster.url}?timeout=4", UNHURRIED) as store:
        after = Worker(store)
        answers = await after.again(lambda: store.add([page(n) for n in range(worker.added)]))
        census = await after.again(store.census)
        for _ in range(TRIES):
            if census.is_finished:
                break
            await after.work_off()
            census = await after.again(store.census)

    assert census.adds_up
    assert (census.fetched, census.leased) == (worker.added, 0)
    assert set(answers) == {Added.KNOWN}
    assert set((worker.settled + after.settled).values()) == {1}


async def test_a_failover_pauses_the_crawl_and_the_ledger_still_closes(cluster: RedisClusterNodes) -> None:
    """H2-7: without replicas=1 the last moments before the kill may be lost, and what is left is whole."""
    async with open_frontier(f"{cluster.url}?timeout=4", UNHURRIED) as store:
        worker = Worker(store)
        for _ in range(5):
            await worker.work()

        cluster.masters[2].kill()
        while not worker.pauses:
            await worker.work()
        await asyncio.to_thread(cluster.wait_until_promoted, cluster.replicas[2])
        for _ in range(5):
            await worker.work()
        # What a failover took is found again, as links are: known where it was kept, new where it was lost.
        await worker.again(lambda: store.add([page(n) for n in range(worker.added)]))
        census = await worker.again(store.census)
        for _ in range(TRIES):
            if census.is_finished:
                break
            await worker.work_off()
            census = await worker.again(store.census)

    assert census.adds_up
    assert (census.discovered, census.fetched, census.leased) == (worker.added, worker.added, 0)


async def test_a_write_that_no_replica_confirms_is_not_answered_for(start_redis: StartRedis) -> None:
    """It may have happened, and asking again is safe; but nobody is told that it is safe already."""
    server = start_redis()
    async with open_frontier(f"{server.url}?replicas=1&timeout=1", UNHURRIED) as store:
        with pytest.raises(StoreUnavailable, match="0 of 1 replicas have what was written"):
            await store.add([page(1)])
        replica = start_redis("--replicaof", "127.0.0.1", str(server.port))
        worker = Worker(store)
        answer, _ = await worker.again(lambda: store.add([page(1), page(2)]))
        with replica.client() as client:
            copied = client.hget("{outrider:0}:c", "k:known")

    assert (answer, copied) == (Added.KNOWN, b"2")
