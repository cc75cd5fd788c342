"""A server that lost its data under open handles is noticed, and nothing is built in its place."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisClusterNodes

from outrider.errors import StoreError, StoreUnavailable
from outrider.model.ledger import Added, Filter, Settled
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

RULES = FrontierRules()
GONE = "the data of this frontier is gone"


def page(n: int, site: str = "a.org") -> Task:
    return Task(Url(f"http://{site}/{n}"))


async def test_a_server_that_came_back_empty_is_noticed(start_redis: StartRedis) -> None:
    """H2-6: neither what was remembered of it nor a store of our own making stands in for what it lost."""
    server = start_redis()
    async with open_frontier(server.url, RULES) as frontier:
        await frontier.add([page(1)])
        server.kill()
        server.start()
        with suppress(StoreUnavailable):  # whether the line is found broken, or was replaced unseen
            await frontier.census()

        with pytest.raises(StoreError, match=GONE):
            await frontier.add([page(1)])
        with server.client() as client:
            left = client.dbsize()

    assert left == 0


@pytest.mark.parametrize("options", ["", "?buckets=8", "?dedup=bloom&capacity=1000"])
async def test_no_act_goes_on_where_the_data_was(start_redis: StartRedis, options: str) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}{options}", RULES) as frontier:
        await frontier.add([page(1), page(2, "b.org")])
        lent = await frontier.lease(sites=1, tasks=1, seconds=60)
        account = Settled(lent.leases[0], lent.leases[0].site)
        with server.client() as client:
            client.flushall()
        acts: dict[str, Callable[[], Awaitable[object]]] = {
            "add": lambda: frontier.add([page(3)]),
            "lease": lambda: frontier.lease(sites=1, tasks=1, seconds=60),
            "extend": lambda: frontier.extend(lent.leases, 60),
            "settle": lambda: frontier.settle([account]),
            "release": lambda: frontier.release(lent.leases),
            "census": frontier.census,
            "knows": lambda: frontier.knows([page(1).url]),
            "find": lambda: frontier.find(page(1).url),
            "revive": lambda: frontier.revive(Filter()),
            "entries": lambda: walked(frontier.entries()),
            "sites": lambda: walked(frontier.sites()),
        }

        noticed = [name for name, act in acts.items() if await is_refused(act)]
        with server.client() as client:
            left = client.dbsize()

    assert noticed == list(acts)
    assert left == 0


async def walked(batches: AsyncIterator[list[Any]]) -> int:
    return sum([len(batch) async for batch in batches])


async def is_refused(act: Callable[[], Awaitable[object]]) -> bool:
    with pytest.raises(StoreError, match=GONE) as caught:
        await act()
    return not isinstance(caught.value, StoreUnavailable)


async def test_a_store_made_in_its_place_is_not_taken_for_it(start_redis: StartRedis) -> None:
    """Its hashes have another seed: what one of the two knows would be new to the other."""
    server = start_redis()
    async with open_frontier(server.url, RULES) as old:
        await old.add([page(1)])
        with server.client() as client:
            client.flushall()

        async with open_frontier(server.url, RULES) as new:
            of_new = await new.add([page(1)])
            with pytest.raises(StoreError, match=GONE):
                await old.add([page(2)])
            census = await new.census()

    assert of_new == [Added.NEW]
    assert (census.discovered, census.pending) == (1, 1)


async def test_even_the_same_seed_does_not_make_it_the_same_store(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_frontier(server.url, RULES) as old:
        with server.client() as client:
            client.flushall()
        async with open_frontier(server.url, old.rules):
            pass

        with pytest.raises(StoreError, match=GONE):
            await old.revive(Filter())


async def test_a_store_from_before_there_were_marks_gets_them(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}?buckets=4", RULES) as frontier:
        await frontier.add([page(n, f"s{n}.org") for n in range(8)])
    with server.client() as client:
        made = client.get("{outrider}:made")
        client.set("{outrider}:made", made[: made.rindex(b',"mark"')] + b"}")
        client.delete("{outrider}:marked")
        for bucket in range(4):
            client.hdel(f"{{outrider:{bucket}}}:c", "mark")

    async with open_frontier(server.url, RULES) as one, open_frontier(server.url, RULES) as other:
        known = await one.add([page(n, f"s{n}.org") for n in range(8)])
        census = await other.census()
        with server.client() as client:
            client.flushall()
        with pytest.raises(StoreError, match=GONE):
            await other.lease(sites=1, tasks=1, seconds=60)

    assert known == [Added.KNOWN] * 8
    assert (census.discovered, census.adds_up) == (8, True)


async def test_one_lost_bucket_is_noticed_also_by_those_who_come_later(start_redis: StartRedis) -> None:
    """A node of a cluster that lost its part, while what all agree on lies on another."""
    server = start_redis()
    url = f"{server.url}?buckets=4"
    async with open_frontier(url, RULES) as frontier:
        await frontier.add([page(n, f"s{n}.org") for n in range(8)])
        with server.client() as client:
            client.delete(*client.keys("{outrider:2}:*"))

        async with open_frontier(url, RULES) as later:
            for handle in (frontier, later):
                with pytest.raises(StoreError, match=GONE):
                    await handle.lease(sites=1, tasks=1, seconds=60)


async def test_a_node_of_a_cluster_that_was_emptied_is_noticed(redis_cluster: RedisClusterNodes) -> None:
    async with open_frontier(f"{redis_cluster.url}?prefix=lost", RULES) as frontier:
        await frontier.add([page(n, f"s{n}.org") for n in range(64)])
        before = await frontier.census()
        with redis_cluster.nodes[0].client() as client:
            client.flushall()

        with pytest.raises(StoreError, match=GONE):
            await frontier.census()
        with pytest.raises(StoreError, match=GONE):
            await frontier.lease(sites=1, tasks=1, seconds=60)

    assert before.adds_up


async def test_files_without_their_server_are_noticed(start_redis: StartRedis, tmp_path: Path) -> None:
    server = start_redis()
    url = f"redis+files://{server.url.removeprefix('redis://')}?files={tmp_path}&head=4"
    async with open_frontier(url, RULES) as frontier:
        await frontier.add([page(n) for n in range(40)])
        with server.client() as client:
            client.flushall()

        await everything_is_refused(frontier)


async def everything_is_refused(frontier: FrontierStore) -> None:
    with pytest.raises(StoreError, match=GONE):
        await frontier.add([page(99)])
    with pytest.raises(StoreError, match=GONE):
        await frontier.lease(sites=1, tasks=1, seconds=60)
