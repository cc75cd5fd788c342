"""Redis servers that a test may ruin: each its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.services.redis import RedisClusterNodes, RedisServer

StartRedis = Callable[..., RedisServer]


@pytest.fixture
def start_redis(tmp_path: Path) -> Iterator[StartRedis]:
    """Start a server with these options; it is stopped with the test."""
    started: list[RedisServer] = []

    def start(*options: str) -> RedisServer:
        server = RedisServer(tmp_path / f"redis{len(started)}", *options)
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def redis_cluster(tmp_path: Path) -> Iterator[RedisClusterNodes]:
    cluster = RedisClusterNodes(tmp_path, "--appendonly", "yes", "--cluster-require-full-coverage", "yes")
    try:
        yield cluster.start()
    finally:
        cluster.stop()
