"""Every input queue keeps the contract; and a URL or a name that cannot be one is refused."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from tests.services.redis import RedisClusterNodes, RedisServer

from outrider.errors import ConfigError
from outrider.ports import Clock, InputQueue
from outrider.stores.memory.intake import MemoryQueue
from outrider.stores.queues import open_queue
from outrider.testing.contracts.queue import QueueContract


class TestMemoryQueue(QueueContract):
    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[InputQueue]:
        return self._same(name, clock)

    @asynccontextmanager
    async def _same(self, name: str, clock: Clock) -> AsyncIterator[InputQueue]:
        """One process is all it has, so every handle is the same object."""
        queues: dict[str, InputQueue] = self.__dict__.setdefault("queues", {})
        yield queues.setdefault(name, MemoryQueue(clock))


class TestRedisQueue(QueueContract):
    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.url = redis_server.url

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[InputQueue]:
        return open_queue(self.url, name, clock)


class TestRedisClusterQueue(QueueContract):
    @pytest.fixture(autouse=True)
    def _cluster(self, redis_cluster: RedisClusterNodes) -> None:
        self.url = redis_cluster.url

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[InputQueue]:
        return open_queue(self.url, name, clock)


async def test_one_in_memory_is_opened_by_its_url() -> None:
    async with open_queue("memory:", "crawler_queue") as queue:
        assert await queue.push([b"http://example.com/"]) == 1
        assert await queue.take(1, 60.0) is not None


@pytest.mark.parametrize(
    ("url", "name", "said"),
    [
        (
            "tape:///x",
            "q",
            "no input queue is named by tape:; there are memory:, redis:, redis+cluster:, rediss:, rediss+cluster:",
        ),
        ("memory:?size=1", "q", "no such option: size; it has none"),
        ("redis://localhost?ttl=1", "q", "no such option: ttl; it knows pool, timeout"),
        ("redis://localhost/x", "q", "'/x' is not a database; expected a number, such as /0"),
        ("redis://localhost", "", "'' is no name for a list; expected one without braces"),
        ("redis://localhost", "{crawler}_queue", "'{crawler}_queue' is no name for a list; expected one without"),
    ],
)
async def test_a_url_or_a_name_that_cannot_be_meant_is_refused(url: str, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        async with open_queue(url, name):
            pass
