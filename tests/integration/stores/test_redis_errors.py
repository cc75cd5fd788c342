"""What does a user read when the server will not have us? One clear sentence, and never the password."""

import asyncio
from collections import Counter

import pytest
from msgspec.structs import replace
from tests.integration.stores.conftest import StartRedis
from tests.services.ports import free_port

from outrider.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from outrider.model.identity import Identity
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.queues import open_queue
from outrider.stores.registry import open_frontier

RULES = FrontierRules()


async def test_a_wrong_password_is_said_and_not_shown(start_redis: StartRedis) -> None:
    server = start_redis("--requirepass", "right-secret")

    with pytest.raises(StoreError, match="refuses this user or password") as caught:
        async with open_frontier(f"redis://:wrong-secret@127.0.0.1:{server.port}/0", RULES):
            pass

    assert not isinstance(caught.value, StoreUnavailable)
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"


async def test_a_cluster_says_so_too(start_redis: StartRedis) -> None:
    node = start_redis("--requirepass", "right-secret", "--cluster-enabled", "yes")

    with pytest.raises(StoreError, match="refuses this user or password") as caught:
        async with open_frontier(f"redis+cluster://:wrong-secret@127.0.0.1:{node.port}", RULES):
            pass

    assert "secret" not in f"{caught.value} {caught.value.__cause__}"


async def test_the_right_password_opens(start_redis: StartRedis) -> None:
    server = start_redis("--requirepass", "right-secret")

    async with open_frontier(f"redis://:right-secret@127.0.0.1:{server.port}/0", RULES) as frontier:
        census = await frontier.census()

    assert census.is_finished


async def test_nobody_there_is_worth_trying_again() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        async with open_frontier(f"redis://127.0.0.1:{free_port()}/0", RULES):
            pass


async def test_a_database_that_does_not_exist_is_an_error(start_redis: StartRedis) -> None:
    server = start_redis("--databases", "2")

    with pytest.raises(StoreError, match="DB index is out of range") as caught:
        async with open_frontier(f"redis://127.0.0.1:{server.port}/7", RULES):
            pass

    assert not isinstance(caught.value, StoreUnavailable)


async def test_a_full_server_writes_nothing_and_says_so(start_redis: StartRedis) -> None:
    """H2-6: a script that begins also ends, so that what was refused is refused whole."""
    server = start_redis("--maxmemory-policy", "noeviction")
    async with open_frontier(server.url, RULES) as frontier:
        await frontier.add([Task(Url("http://example.com/1"))])
        with server.client() as client:
            client.config_set("maxmemory", 1)

        with pytest.raises(StoreError, match="out of memory") as caught:
            await frontier.add([Task(Url("http://example.com/2"))])
        census = await frontier.census()

    assert not isinstance(caught.value, StoreUnavailable)
    assert (census.discovered, census.adds_up) == (1, True)


async def test_a_server_that_became_a_replica_is_worth_trying_again(start_redis: StartRedis) -> None:
    master, server = start_redis(), start_redis()
    async with open_frontier(server.url, RULES) as frontier:
        with server.client() as client:
            client.replicaof("127.0.0.1", str(master.port))

        with pytest.raises(StoreUnavailable):
            await frontier.add([Task(Url("http://example.com/1"))])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(RULES, identity=Identity(seed=7)), "made with another seed"),
        (replace(RULES, identity=Identity(sort_query=True)), "sort_query=false where this crawl has true"),
        (replace(RULES, site_by="host"), "site_by=domain"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_store_made_under_other_rules_is_refused(
    start_redis: StartRedis, other: FrontierRules, said: str
) -> None:
    server = start_redis()
    async with open_frontier(server.url, RULES):
        pass

    with pytest.raises(SchemaMismatch, match=said):
        async with open_frontier(server.url, other):
            pass


async def test_a_store_of_another_schema_is_refused(start_redis: StartRedis) -> None:
    server = start_redis()
    with server.client() as client:
        client.set("{outrider}:made", b'{"schema": 99, "more": true}')

    with pytest.raises(SchemaMismatch, match="schema 99"):
        async with open_frontier(server.url, RULES):
            pass


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("redis://127.0.0.1/x", "not a database"),
        ("redis+cluster://127.0.0.1/3", "a cluster has no databases"),
        ("redis://127.0.0.1/0?prefix={}", "without braces"),
        (
            "redis://127.0.0.1/0?colour=red",
            "no such option: colour; it knows buckets, capacity, dedup, error, known, pool, prefix, replicas, timeout",
        ),
    ],
)
async def test_an_option_that_cannot_be_is_named(path: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        async with open_frontier(path, RULES):
            pass


async def test_the_number_of_buckets_is_for_ever(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}?buckets=4", RULES):
        pass

    with pytest.raises(ConfigError, match="made with buckets=4"):
        async with open_frontier(f"{server.url}?buckets=5", RULES):
            pass


async def test_a_call_that_is_cancelled_ends_as_cancelled_at_whatever_moment(start_redis: StartRedis) -> None:
    """Whoever cancels a loop waits for its end. The driver alone forgets about it when the answer is just coming in."""
    server = start_redis()
    ends: Counter[bool] = Counter()

    async with open_queue(f"redis://127.0.0.1:{server.port}/0", "queue") as queue:
        for turns in list(range(12)) * 25:
            asking = asyncio.ensure_future(queue.size())
            for _ in range(turns):
                await asyncio.sleep(0)
            if not asking.done():
                asking.cancel()
                await asyncio.wait([asking])
                ends[asking.cancelled()] += 1

    assert set(ends) == {True}
