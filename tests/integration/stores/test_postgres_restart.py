"""The server is cut down in the middle of work, and nothing is lost; workers meanwhile are told to try again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest
from tests.services.postgres import PostgresServer, running

from outrider.errors import StoreUnavailable
from outrider.model.ledger import Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.pace import PaceLimits
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

SITES, PAGES = 12, 8
UNHURRIED = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0)))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture
async def schema(server: PostgresServer) -> AsyncIterator[str]:
    yield "restarted"
    await server.drop("restarted")


class Worker:
    """Leases, visits at once, settles; goes on when the store is away. It notes whom it held together with whom."""

    def __init__(self, store: FrontierStore, holders: Counter[str], seconds: float) -> None:
        self.store = store
        self.seconds = seconds
        self.holders = holders
        self.told_to_wait = asyncio.Event()
        self.settled: Counter[Url] = Counter()
        self.twice: list[str] = []

    async def run(self) -> None:
        for _ in range(20_000):
            try:
                if await self.work():
                    return
            except StoreUnavailable:
                self.told_to_wait.set()
        raise AssertionError("the crawl did not end")

    async def work(self) -> bool:
        lent = await self.store.lease(sites=2, tasks=2, seconds=self.seconds)
        keys = [lease.site.key for lease in lent.leases]
        self.holders.update(keys)
        self.twice += [key for key in keys if self.holders[key] > 1]
        await asyncio.sleep(0)
        accounts = [
            Settled(
                lease,
                lease.site,
                tuple((task, Done(task.url, task.url, 200, Validators(), Changes())) for task in lease.tasks),
            )
            for lease in lent.leases
        ]
        # Handed back as soon as the settlement is sent: from then on another may have the site.
        self.holders.subtract(keys)
        answers = await self.store.settle(accounts)
        for account, accepted in zip(accounts, answers, strict=True):
            if accepted:
                self.settled.update(task.url for task, _ in account.settlements)
        return (await self.store.census()).is_finished


async def test_a_crash_of_the_server_loses_nothing(server: PostgresServer, schema: str) -> None:
    """H0-4, H2-21, H2-33: an immediate stop and a restart while two workers crawl."""
    url = f"{server.url(schema)}&timeout=1"
    async with open_frontier(url, UNHURRIED) as one, open_frontier(url, UNHURRIED) as two:
        await one.add([Task(Url(f"http://s{site}.org/{page}")) for site in range(SITES) for page in range(PAGES)])
        holders: Counter[str] = Counter()
        workers = [Worker(store, holders, seconds=2) for store in (one, two)]
        await workers[0].work()
        await workers[1].work()

        await asyncio.to_thread(server.stop, "immediate")
        running_workers = [asyncio.create_task(worker.run()) for worker in workers]
        for worker in workers:
            await worker.told_to_wait.wait()
        await asyncio.to_thread(server.start)
        await asyncio.gather(*running_workers)
        census = await one.census()

    assert (census.discovered, census.fetched, census.leased) == (SITES * PAGES, SITES * PAGES, 0)
    assert census.adds_up
    # An answer that the crash swallowed may have been written: then nobody was told, but nobody was told twice either.
    assert max((workers[0].settled + workers[1].settled).values()) == 1


async def test_a_crash_in_the_middle_of_calls_leaves_whole_transactions(server: PostgresServer, schema: str) -> None:
    """Every batch is there as a whole or not at all, whatever the moment of the crash; adding again completes it."""
    batches = [[Task(Url(f"http://s{n % 7}.org/{batch}/{n}")) for n in range(50)] for batch in range(60)]
    written = 0

    async def add_all(store: FrontierStore, halfway: asyncio.Event) -> None:
        nonlocal written
        for batch in batches:
            await store.add(batch)
            written += 1
            if written == 10:
                halfway.set()

    url = f"{server.url(schema)}&timeout=1"
    async with open_frontier(url, UNHURRIED) as store:
        halfway = asyncio.Event()
        adding = asyncio.create_task(add_all(store, halfway))
        await halfway.wait()
        await asyncio.to_thread(server.stop, "immediate")
        with suppress(StoreUnavailable):
            await adding
        await asyncio.to_thread(server.start)
    async with open_frontier(url, UNHURRIED) as store:
        after = await store.census()
        for batch in batches:
            await store.add(batch)
        whole = await store.census()

    assert after.adds_up
    assert after.discovered in {50 * written, 50 * (written + 1)}
    assert (whole.discovered, whole.pending, whole.adds_up) == (3_000, 3_000, True)


async def test_workers_never_hold_one_site_together(server: PostgresServer, schema: str) -> None:
    """H2-13, H2-14: eight workers on two handles, real contention; each page is settled exactly once."""
    url = server.url(schema)
    async with open_frontier(url, UNHURRIED) as one, open_frontier(url, UNHURRIED) as two:
        await one.add([Task(Url(f"http://s{site}.org/{page}")) for site in range(SITES) for page in range(PAGES)])
        holders: Counter[str] = Counter()
        workers = [Worker(store, holders, seconds=600) for store in (one, two) for _ in range(4)]
        await asyncio.gather(*(worker.run() for worker in workers))
        census = await one.census()

    settled = sum((worker.settled for worker in workers), Counter[Url]())
    assert [worker.twice for worker in workers] == [[]] * 8
    assert set(settled.values()) == {1}
    assert len(settled) == census.fetched == SITES * PAGES
    assert (census.stale, census.leased, census.adds_up) == (0, 0, True)


async def test_a_server_that_is_not_there_is_worth_another_try(server: PostgresServer, schema: str) -> None:
    await asyncio.to_thread(server.stop)
    try:
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
            async with open_frontier(server.url(schema), UNHURRIED):
                pass
    finally:
        await asyncio.to_thread(server.start)
