"""What a test of a store may ruin: Redis servers and a small disk, each its own; Kafka brokers are shared by name."""

import subprocess
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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={2 * 1024 * 1024}", "tmpfs", str(disk)]
    try:
        subprocess.run(mounting, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no right to mount a small disk here; the limit on file sizes is tested all the same")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)  # noqa: S607 - found by name as mount is
