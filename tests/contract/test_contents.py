"""Every content store keeps the contract; and a URL that names none is refused."""

import re
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.services.redis import RedisClusterNodes, RedisServer

from outrider.errors import ConfigError
from outrider.ports import Clock, ContentStore
from outrider.stores.contents import open_contents
from outrider.testing.contracts.contents import ContentContract


class TestMemoryContents(ContentContract):
    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[ContentStore]:
        del name  # nobody else can reach it
        return open_contents("memory:", clock)


class TestWarcContents(ContentContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> Iterator[None]:
        self.directory = tmp_path
        yield
        assert not list(tmp_path.rglob("*.new"))

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[ContentStore]:
        return open_contents(f"warc://{self.directory}/{name}", clock)


class TestWarcContentsInSmallFiles(TestWarcContents):
    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[ContentStore]:
        return open_contents(f"warc://{self.directory}/{name}?roll=1", clock)


class TestRedisContents(ContentContract):
    keeps = "content"

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.url = redis_server.url

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[ContentStore]:
        return open_contents(f"{self.url}?prefix={name}", clock)


class TestRedisClusterContents(TestRedisContents):
    @pytest.fixture(autouse=True)
    def _server(self, redis_cluster: RedisClusterNodes) -> None:
        self.url = redis_cluster.url


class TestNoContents(ContentContract):
    keeps = "nothing"

    def open(self, name: str, clock: Clock) -> AbstractAsyncContextManager[ContentStore]:
        del name
        return open_contents("none:", clock)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "tape:///x",
            "no content store is named by tape:; there are memory:, none:, redis:, redis+cluster:, rediss:",
        ),
        ("none:?size=1", "no such option: size; it has none"),
        ("redis://localhost?size=1", "no such option: size; it knows pool, prefix, timeout, ttl"),
        ("redis://localhost?ttl=0", "ttl='0'; expected a whole number from 1 up"),
        ("redis://localhost?prefix=", "prefix=''; expected a name"),
        ("memory:?size=1", "no such option: size; it has none"),
        (
            "warc:///x?colour=red",
            "no such option: colour; it knows agent, indexes, operator, prefix, robots, roll, worker",
        ),
        ("warc:relative", "expected warc:///path/to/archive"),
        ("warc://host/x", "expected warc:///path/to/archive"),
        ("warc:///x?roll=0", "roll='0'; expected a whole number from 1 up"),
        ("warc:///x?prefix=../up", "prefix='../up'; expected up to 64 letters"),
        ("warc:///x?worker=1000000", "worker=1000000; expected at most 999999"),
    ],
)
async def test_a_url_that_cannot_be_meant_is_refused(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        async with open_contents(url):
            pass
