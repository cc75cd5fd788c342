"""Machines with networks of their own: namespaces, and a line from each to the store, which can be cut.

The store's addresses exist in these namespaces alone, and no line leads out of them. The web is at everybody's home.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from msgspec import json
from redis import Redis
from redis.exceptions import RedisError
from tests.services.redis import require_redis

from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_server import Ready, Served

STORE: Final = "10.203.1.1"
_MACHINES: Final = "10.203.1.%d/24"
_HERE: Final = Path(__file__).parents[2]
_PATIENCE: Final = 30.0


class Networks:
    """A server and some machines. `within` is the command that puts another into one of them."""

    def __init__(self, machines: Sequence[str]) -> None:
        self._machines = machines

    @staticmethod
    def name(machine: str) -> str:
        return f"outrider-{os.getpid()}-{machine}"

    def within(self, machine: str) -> list[str]:
        return ["ip", "netns", "exec", self.name(machine)]

    def cut(self, machine: str) -> None:
        """The line to the store, at the far end: as if somebody had pulled out the plug there."""
        _ip("-n", self.name("server"), "link", "set", f"store-{machine}", "down")

    def mend(self, machine: str) -> None:
        _ip("-n", self.name("server"), "link", "set", f"store-{machine}", "up")

    def add(self) -> None:
        for machine in ("server", *self._machines):
            _ip("netns", "add", self.name(machine))
            _ip("-n", self.name(machine), "link", "set", "lo", "up")
            _ip("netns", "exec", self.name(machine), "true")

    def connect(self) -> None:
        server = self.name("server")
        _ip("-n", server, "link", "add", "store", "type", "bridge")
        _ip("-n", server, "address", "add", f"{STORE}/24", "dev", "store")
        _ip("-n", server, "link", "set", "store", "up")
        for number, machine in enumerate(self._machines, 2):
            here, there = self.name(machine), f"store-{machine}"
            _ip("link", "add", "store", "netns", here, "type", "veth", "peer", "name", there, "netns", server)
            _ip("-n", here, "address", "add", _MACHINES % number, "dev", "store")
            _ip("-n", here, "link", "set", "store", "up")
            _ip("-n", server, "link", "set", there, "master", "store")
            _ip("-n", server, "link", "set", there, "up")

    def remove(self) -> None:
        """Whatever of it there is. With a namespace go its ends of all lines, and the other ends with them."""
        for machine in ("server", *self._machines):
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "delete", self.name(machine))


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)  # noqa: S607 - wherever it is


@contextmanager
def networks(*machines: str) -> Iterator[Networks]:
    """Skips where namespaces are not allowed: that is for the machine to say, also in CI."""
    if shutil.which("ip") is None:
        pytest.skip("there is no ip command, so that machines with networks of their own cannot be made")
    built = Networks(machines)
    try:
        try:
            built.add()
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces are not allowed here: {error.stderr.strip()}")
        built.connect()
        yield built
    finally:
        built.remove()


@contextmanager
def redis_within(built: Networks) -> Iterator["Redis"]:
    """A Redis at the server's end of the store's network; the client is a plain one, by a socket in the file system."""
    binary = require_redis()
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/redis"
        options = ["--bind", STORE, "--port", "6379", "--protected-mode", "no", "--save", "", "--dir", folder]
        server = subprocess.Popen(
            [*built.within("server"), binary, *options, "--unixsocket", path, "--logfile", f"{folder}/log"]
        )
        try:
            client = Redis(unix_socket_path=path, protocol=2)
            until = time.monotonic() + _PATIENCE
            while not _is_up(client):
                assert time.monotonic() < until, "the Redis within the namespace did not come up"
                time.sleep(0.05)
            yield client
            client.close()
        finally:
            server.kill()
            server.wait()


def _is_up(client: "Redis") -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


@asynccontextmanager
async def web_within(world: World, log: Path, *namespaces: str) -> AsyncIterator[Served]:
    """The world at the loopback address of each of them. Who asked is in a file beside the log."""
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.e2e.web_everywhere", json.encode(world).decode(), str(log), *namespaces),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=_HERE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            line = await server.stdout.readline() if server.stdout else b""
        yield Served(world, json.decode(line, type=Ready), (log,))
    finally:
        if server.stdin is not None:
            server.stdin.close()
        await server.wait()
