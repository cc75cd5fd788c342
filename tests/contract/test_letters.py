"""Every store of dead letters keeps the contract; and a URL or a name that cannot be one is refused."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from redis import Redis, RedisCluster
from tests.services.redis import RedisClusterNodes, RedisServer

from outrider.errors import ConfigError
from outrider.model.codec import from_json
from outrider.model.letter import DeadLetter
from outrider.ports import Clock
from outrider.stores.letters import LetterSink, open_letters
from outrider.stores.memory.letters import MemoryDeadLetters
from outrider.testing.contracts.letters import LettersContract, letter


class TestMemoryDeadLetters(LettersContract):
    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[LetterSink]:
        return self._same(name, clock)

    @asynccontextmanager
    async def _same(self, name: str, clock: Clock) -> AsyncIterator[LetterSink]:
        """One process is all it has, so every handle is the same object."""
        yield self._stores().setdefault(name, MemoryDeadLetters(clock))

    def _stores(self) -> dict[str, MemoryDeadLetters]:
        stores: dict[str, MemoryDeadLetters] = self.__dict__.setdefault("stores", {})
        return stores

    async def read(self, name: str) -> list[DeadLetter]:
        return self._stores()[name].letters


class TestRedisDeadLetters(LettersContract):
    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.url = redis_server.url

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[LetterSink]:
        return open_letters(self.url, name, clock)

    async def read(self, name: str) -> list[DeadLetter]:
        with Redis.from_url(self.url, protocol=2) as client:
            return [from_json(text, DeadLetter) for text in client.lrange(name, 0, -1)]


class TestRedisClusterDeadLetters(LettersContract):
    @pytest.fixture(autouse=True)
    def _cluster(self, redis_cluster: RedisClusterNodes) -> None:
        self.cluster = redis_cluster

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[LetterSink]:
        return open_letters(self.cluster.url, name, clock)

    async def read(self, name: str) -> list[DeadLetter]:
        with RedisCluster(host="127.0.0.1", port=self.cluster.nodes[0].port, protocol=2) as client:
            return [from_json(text, DeadLetter) for text in client.lrange(name, 0, -1)]


async def test_those_in_memory_are_opened_by_their_url() -> None:
    async with open_letters("memory:", "page_fetcher_dlq") as letters:
        assert await letters.put([letter()]) == 1


@pytest.mark.parametrize(
    ("url", "name", "said"),
    [
        ("tape:///x", "q", "no store of dead letters is named by tape:; there are memory:, redis:"),
        ("memory:?size=1", "q", "no such option: size; it has none"),
        ("redis://localhost?ttl=1", "q", "no such option: ttl; it knows pool, timeout"),
        ("redis://localhost", "a{b", "'a{b' is no name for a list; expected one without braces"),
    ],
)
async def test_a_url_or_a_name_that_cannot_be_meant_is_refused(url: str, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        async with open_letters(url, name):
            pass
