"""A world at the loopback address of every namespace: whoever is there finds it at home. It says who asked what.

    python -m tests.e2e.web_everywhere WORLD LOG NAMESPACE...

It serves until its standard input ends. A socket belongs to the namespace that its maker was in.
"""

import asyncio
import ctypes
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import json

from outrider.testing.webfarm.doorman import bind_all
from outrider.testing.webfarm.kinds import Behaviour
from outrider.testing.webfarm.wire import Asked
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_farm import WorldFarm
from outrider.testing.webfarm.world_log import LogFile
from outrider.testing.webfarm.world_server import Ready

NEWNET = 0x40000000


class Everywhere(WorldFarm):
    def __init__(self, world: World, log: LogFile, callers: Path, namespaces: Sequence[str]) -> None:
        super().__init__(world, tell=log.write)
        self._callers = callers.open("ab", buffering=0)
        self._namespaces = namespaces

    def bind(self, addresses: Sequence[str], port: int) -> Iterable[socket.socket]:
        listeners: list[socket.socket] = []
        for namespace in self._namespaces:
            with _within(namespace):
                listeners += bind_all(addresses, port or (listeners[0].getsockname()[1] if listeners else 0))
        return listeners

    def behaviour_for(self, asked: Asked) -> Behaviour:
        agent = next(value for name, value in asked.headers if name.lower() == "user-agent")
        self._callers.write(json.encode((asked.monotonic_at, agent.partition("/")[0])) + b"\n")
        return super().behaviour_for(asked)


@contextmanager
def _within(namespace: str) -> Iterator[None]:
    with Path("/proc/self/ns/net").open() as home, Path(f"/run/netns/{namespace}").open() as there:
        _enter(there.fileno())
        try:
            yield
        finally:
            _enter(home.fileno())


def _enter(descriptor: int) -> None:
    """As `os.setns`, which Python 3.11 does not have."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, NEWNET):
        raise OSError(ctypes.get_errno(), "the namespace cannot be entered")


async def _serve(world: World, log: Path, namespaces: Sequence[str]) -> None:
    with LogFile(log) as lines:
        async with Everywhere(world, lines, log.with_suffix(".callers"), namespaces) as farm:
            sys.stdout.buffer.write(json.encode(Ready(farm.port, None, os.getpid())) + b"\n")
            sys.stdout.buffer.flush()
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    asyncio.run(_serve(json.decode(sys.argv[1], type=World), Path(sys.argv[2]), sys.argv[3:]))
