"""Does the frontier survive its server? Killed, restarted, flushed of scripts, a node of a cluster gone."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisClusterNodes

from outrider.errors import StoreUnavailable
from outrider.model.ledger import Added, Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

RULES = FrontierRules()
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
TRIES = 400


def page(n: int, site: str = "example.com") -> Task:
    return Task(Url(f"http://{site}/{n}"))


def done(task: Task) -> Done:
    return Done(task.url, task.url, 200, Validators(), Changes())


async def until_available(frontier: FrontierStore) -> None:
    """The store comes back by itself: what is worth trying again is tried again."""
    for _ in range(TRIES):
        try:
            await frontier.census()
        except StoreUnavailable:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError("the store did not come back")


async def test_a_killed_server_forgets_nothing(start_redis: StartRedis) -> None:
    """H2-6, H2-7, H0-4: the ledger closes, the lease and its token still hold, the pool finds its way back."""
    server = start_redis(*DURABLE)
    async with open_frontier(f"{server.url}?prefix=restart", RULES) as frontier:
        await frontier.add([page(n, f"s{site}.org") for site in range(20) for n in range(10)])
        lent = await frontier.lease(sites=5, tasks=4, seconds=600)
        first, *others = lent.leases
        await frontier.settle([Settled(first, first.site, tuple((task, done(task)) for task in first.tasks))])
        before = await frontier.census()

        server.kill()
        with pytest.raises(StoreUnavailable):
            await frontier.census()
        server.start()
        await until_available(frontier)
        after = await frontier.census()
        again = await frontier.add([page(0, "s0.org"), page(99, "s0.org")])
        accepted = await frontier.settle([Settled(lease, lease.site) for lease in (first, *others)])

    assert after == before
    assert after.adds_up
    assert again == [Added.KNOWN, Added.NEW]
    assert accepted == [False, True, True, True, True]


async def test_scripts_that_the_server_forgot_are_sent_again(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}?prefix=flush", RULES) as frontier:
        await frontier.add([page(1)])
        with server.client() as client:
            client.script_flush()

        answers = await frontier.add([page(1), page(2)])

    assert answers == [Added.KNOWN, Added.NEW]


async def test_a_cancelled_call_leaves_no_answer_behind_for_the_next(start_redis: StartRedis) -> None:
    """H2-10: the pool is bounded, and no connection is handed on in the middle of an answer."""
    server = start_redis()
    async with open_frontier(f"{server.url}?prefix=cancel&pool=2", RULES) as frontier:
        await frontier.add([page(n, f"s{n}.org") for n in range(50)])
        for _ in range(20):
            calls = [asyncio.create_task(frontier.add([page(n) for n in range(300)])) for _ in range(4)]
            await asyncio.sleep(0)
            for call in calls[::2]:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        census = await frontier.census()
        answers = await frontier.add([page(1), page(1_000)])
        with server.client() as client:
            connected = int(client.info("clients")["connected_clients"])

    assert answers == [Added.KNOWN, Added.NEW]
    assert (census.discovered, census.adds_up) == (350, True)
    assert connected <= 3


async def test_a_lost_node_of_a_cluster_is_worth_waiting_for(redis_cluster: RedisClusterNodes) -> None:
    """H2-7: away is `StoreUnavailable`, and afterwards nothing is missing."""
    sites = [f"s{number}.org" for number in range(60)]
    async with AsyncExitStack() as stack:
        frontier = await stack.enter_async_context(open_frontier(f"{redis_cluster.url}?timeout=5", RULES))
        await frontier.add([page(n, site) for site in sites for n in range(3)])
        before = await frontier.census()

        redis_cluster.nodes[1].kill()
        with pytest.raises(StoreUnavailable):
            await frontier.census()
        redis_cluster.nodes[1].start()
        redis_cluster.wait_until_whole()
        await until_available(frontier)
        after = await frontier.census()
        known = await frontier.knows([page(n, site).url for site in sites for n in range(3)])
        lent = await frontier.lease(sites=100, tasks=9, seconds=60)

    assert after == before
    assert all(known)
    assert sorted(lease.site.key for lease in lent.leases) == sorted(sites)
