"""A node of the service's cluster goes away and comes back: whoever waited for it goes on, and nothing is lost."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from msgspec.structs import replace
from redis.crc import key_slot
from tests.services.redis import RedisClusterNodes

from outrider.errors import StoreUnavailable
from outrider.stores.contents import open_contents
from outrider.stores.letters import open_letters
from outrider.stores.queues import open_queue
from outrider.stores.redis.contents import RedisContents
from outrider.testing.contracts.contents import capture
from outrider.testing.contracts.letters import died

T = TypeVar("T")

PATIENCE = 20.0
QUEUE, LETTERS = "crawler_queue", "dlq"


async def insist(act: Callable[[], Awaitable[T]]) -> T:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return await act()
        except StoreUnavailable:
            assert time.monotonic() < until
            await asyncio.sleep(0.05)


async def test_a_node_that_comes_back_has_what_it_had(redis_cluster: RedisClusterNodes) -> None:
    """All keys of a queue are on one node; pages are on all, so that one that is away is missed by every batch."""
    pages = [replace(capture(number), content=b"%d" % number) for number in range(60)]
    url = f"{redis_cluster.url}?timeout=2"
    for node in redis_cluster.nodes:
        # A busy disk may hold back what is only flushed every second.
        with node.client() as client:
            client.config_set("appendfsync", "always")
    async with (
        open_contents(url) as contents,
        open_queue(url, QUEUE) as queue,
        open_letters(url, LETTERS) as letters,
    ):
        assert isinstance(contents, RedisContents)
        keys = await contents.put(pages)
        await queue.push([b"http://example.com/%d" % number for number in range(5)])
        held = await queue.take(2, 60.0)
        assert held is not None
        await letters.publish([died(1)])

        node = redis_cluster.nodes[1]
        node.kill()
        with pytest.raises(StoreUnavailable):
            await contents.put(pages)
        with pytest.raises(StoreUnavailable):
            await queue.done(held)
        with pytest.raises(StoreUnavailable):
            await letters.publish([died(2)])
        with pytest.raises(StoreUnavailable):
            # Whoever gives up here leaves no connection open: that would be a warning, so an error.
            async with open_queue(url, QUEUE):
                pass
        gc.collect()
        node.start()
        redis_cluster.wait_until_whole()

        assert await insist(lambda: contents.put(pages)) == keys
        assert await contents.get_many(keys) == [put.content for put in pages]
        await insist(lambda: queue.done(held))
        assert await queue.size() == 3
        await insist(lambda: letters.publish([died(1), died(2)]))
        assert await letters.size() == 2


def test_the_node_that_goes_away_is_theirs() -> None:
    second = range(5_462, 2 * 5_462)

    assert key_slot(QUEUE.encode()) in second
    assert key_slot(LETTERS.encode()) in second
