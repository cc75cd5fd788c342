"""A whole service by its real commands, on a real Redis and a real Kafka; and what its consumers see, by plain clients.

Nothing of ours reads the results: URLs are pushed, events are consumed and pages fetched as any other program would.
"""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, json
from redis import Redis
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.app.directory import toml_of
from outrider.settings import settings_of
from outrider.testing.webfarm.world import SWIFT, World
from outrider.testing.webfarm.world_server import Served, served

PATIENCE: Final = 120.0
"""What takes longer than this will never come."""
QUEUE, LETTERS = "crawler_queue", "page_fetcher_dlq"
DURABLE: Final = ("--appendonly", "yes", "--appendfsync", "always")
"""For a Redis that is killed and comes back: nothing that it answered for may be lost."""
_QUICK: Final[dict[str, object]] = {
    "profile": "service",
    "delay": 0.05,
    "contact": "crew@example.org",
    "workers": 1,
    "metrics_address": "127.0.0.1:0",
    "cache_ttl": 3_600,
}


class Told(Struct, frozen=True):
    """One message of Kafka, as a plain consumer sees it."""

    key: bytes
    event: dict[str, Any]


class Command:
    """One command of ours in a group of processes of its own; its log is a file."""

    def __init__(self, process: Process, log: Path) -> None:
        self.process = process
        self.log = log

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        """All of its processes at once, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)

    async def ended(self, *, within: float = PATIENCE) -> int:
        try:
            async with asyncio.timeout(within):
                return await self.process.wait()
        except TimeoutError:
            self.kill()
            raise AssertionError(f"it does not end: {self.said[-3_000:]}") from None

    async def stopped(self, number: signal.Signals = signal.SIGTERM, *, within: float = PATIENCE) -> int:
        """Told to stop as an operator would, once it can hear that; its exit code."""
        await until(lambda: self.process.returncode is not None or _hears_signals(self.process.pid), "it hears signals")
        if self.process.returncode is None:
            self.process.send_signal(number)
        return await self.ended(within=within)


def _hears_signals(pid: int) -> bool:
    """Has it begun to listen? An interpreter that is still importing dies of SIGTERM, as any program would."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


class Rig:
    """The servers, the web, and a folder for settings and logs."""

    def __init__(self, web: Served, redis: RedisServer, kafka: KafkaServer, folder: Path) -> None:
        self.web = web
        self.redis = redis
        self.kafka = kafka
        self.folder = folder
        self.topic, self.failures = f"log-{folder.name}", f"failures-{folder.name}"
        self._commands: list[Command] = []

    def client(self) -> Redis:
        return self.redis.client()

    # what an operator does

    def settings(self, name: str, **settings: object) -> Path:
        given: dict[str, object] = {
            **_QUICK,
            "hosts": {host: list(addresses) for host, addresses in self.web.hosts.items()},
            "allow_private": ["127.0.0.0/8"],
            "allow_ports": [self.web.port],
            "frontier": self.redis.url,
            "contents": self.redis.url,
            "redis_url": self.redis.url,
            "events": f"{self.kafka.url(self.topic)}?timeout=10",
            "failure_topic": self.failures,
            **settings,
        }
        path = self.folder / f"{name}.toml"
        path.write_text(toml_of(settings_of(**given)))
        return path

    async def start(self, name: str, *command: str, **settings: object) -> Command:
        """`outrider COMMAND…` with these settings."""
        started = await launched(
            [*command, "--config", str(self.settings(name, **settings))], self.folder / f"{name}.log"
        )
        self._commands.append(started)
        return started

    async def worker(self, name: str = "worker", **settings: object) -> Command:
        return await self.start(name, "worker", **settings)

    async def extractor(self, name: str = "extract", **settings: object) -> Command:
        return await self.start(name, "extract", **settings)

    async def close(self) -> None:
        for command in self._commands:
            if command.process.returncode is None:
                command.kill()
                await command.process.wait()

    # what other programs do

    def push(self, urls: Iterable[str]) -> None:
        with self.client() as client:
            client.rpush(QUEUE, *urls)

    def told(self, topic: str | None = None) -> list[Told]:
        """All messages so far."""
        messages = self.kafka.messages(topic or self.topic)
        return [Told(message.key() or b"", json.decode(message.value() or b"{}")) for message in messages]

    def fetched(self) -> Counter[str]:
        """How often each URL was told of as fetched."""
        return Counter(told.event["url"] for told in self.told())

    def page(self, url: str) -> bytes | None:
        with self.client() as client:
            found: bytes | None = client.get(f"webpage:{sha256(url.encode()).hexdigest()}")
            return found

    def letters(self) -> list[dict[str, Any]]:
        with self.client() as client:
            return [json.decode(line) for line in client.lrange(LETTERS, 0, -1)]

    def waiting(self) -> int:
        """Entries that nobody has taken yet."""
        with self.client() as client:
            return int(client.llen(QUEUE))


async def launched(
    arguments: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None, within: Sequence[str] = ()
) -> Command:
    """`outrider ARGUMENTS…`, with that much more in its environment; `within` is the command that it is given to."""
    own = {key: value for key, value in os.environ.items() if not key.startswith("OUTRIDER_")}
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *within,
            sys.executable,
            "-m",
            "outrider",
            *arguments,
            stdin=DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**own, **(environment or {})},
        )
    return Command(process, log)


async def until(holds: Callable[[], bool], what: str, *commands: Command, within: float = PATIENCE) -> None:
    """Wait for a condition; fails when it never comes, or when one of the commands ends meanwhile."""

    async def ask() -> bool:
        return await asyncio.to_thread(holds)

    await until_true(ask, what, *commands, within=within)


async def until_true(
    holds: Callable[[], Awaitable[bool]], what: str, *commands: Command, within: float = PATIENCE
) -> None:
    ends = time.monotonic() + within
    while not await holds():
        for command in commands:
            assert command.process.returncode is None, f"{command.log.name} ended: {command.said[-3_000:]}"
        said = "".join(command.said[-1_500:] for command in commands)
        assert time.monotonic() < ends, f"{what}: it does not come to that. {said}"
        await asyncio.sleep(0.1)


@asynccontextmanager
async def rig(
    world: World, folder: Path, redis: RedisServer, kafka: KafkaServer, *, partitions: int = 3
) -> AsyncIterator[Rig]:
    """The Redis is emptied first; topics are made for this test alone."""
    with redis.client() as client:
        client.flushall()
    async with served(world, log=folder / "requests.log") as web:
        built = Rig(web, redis, kafka, folder)
        await asyncio.to_thread(kafka.create, built.topic, built.failures, partitions=partitions)
        try:
            yield built
        finally:
            await built.close()


SWIFTLY: Final = {key: SWIFT[key] for key in ("timeout", "first_byte_timeout", "idle_timeout", "revisit_backoff")}
"""Short times for a web that is only milliseconds away."""
