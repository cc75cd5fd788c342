"""How many pages a second go through the whole service, beside a crawl of the same web in the same run?

    .venv/bin/python bench/service.py [--quick] [--case NAME]... [--pages N] [--rounds N]

`outrider worker` as anybody runs it: URLs from a Redis list, visits, pages to Redis, events to Kafka (acknowledged),
settled; no records. Redis and Kafka are those of the tests, the web is that of `crawl.py`, and so is the embedded crawl
to compare with; all of them share two cores. A page counts when it is settled. The list is fed while it is emptied, so
taking URLs in is in the figures. Workers of a service read no pages: `extractor` has one that does, so that its links
are in the frontier, too; its CPU is for each page that it read, and it may fall behind.
"""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from platform import python_version
from time import monotonic
from typing import Final

import crawl
import pytest
from confluent_kafka import Consumer, TopicPartition
from crawl import CORES, PAGES, SITES
from crawl_server import ADDRESS, SIZE, host_of
from msgspec import Struct
from msgspec.structs import astuple, replace
from processes import children_of, cpu_of
from serving import PATIENCE, Served, serving

from outrider.app.directory import toml_of
from outrider.app.rules import frontier_rules
from outrider.settings import settings_of
from outrider.stores.registry import open_frontier

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

GOAL: Final = 0.6
"""Of the embedded crawl's pages a second, with two workers."""
QUEUE: Final = "crawler_queue"
OWED: Final = 6_000
"""URLs that are pushed ahead of those that were fetched."""
PARTITIONS: Final = 3
_EVERY: Final = 0.5


class Case(Struct, frozen=True):
    name: str
    workers: int
    extractor: bool = False


CASES: Final = (Case("1 worker", 1), Case("2 workers", 2), Case("extractor", 2, extractor=True))


class Spent(Struct, frozen=True):
    """Seconds of CPU of everybody, in all or for each page."""

    workers: float
    watcher: float
    redis: float
    kafka: float
    extractor: float
    server: float

    def since(self, other: "Spent", pages: int, read: int) -> "Spent":
        share = Spent(*((mine - its) / pages for mine, its in zip(astuple(self), astuple(other), strict=True)))
        return replace(share, extractor=share.extractor * pages / read if read else 0.0)

    @property
    def all(self) -> float:
        return float(sum(astuple(self)))


class Sample(Struct, frozen=True):
    """`read` are pages that the extractor is done with."""

    at: float
    fetched: int
    read: int
    spent: Spent


class Figures(Struct, frozen=True):
    """Of one case; `alone` is the rate at which that CPU a page would fill the cores."""

    name: str
    pages: int
    rate: float
    cpu: Spent
    read: int = 0

    @property
    def alone(self) -> float:
        return CORES / self.cpu.all


class Servers(Struct, frozen=True):
    redis: RedisServer
    kafka: KafkaServer


@contextmanager
def open_servers(folder: Path) -> Iterator[Servers]:
    """What is not installed says so."""
    with ExitStack() as stack:
        try:
            redis = RedisServer(folder / "redis").start()
            stack.callback(redis.stop)
            kafka = KafkaServer(folder / "kafka").start()
            stack.callback(kafka.stop)
        except pytest.skip.Exception as missing:
            raise SystemExit(str(missing)) from None
        yield Servers(redis, kafka)


class Service:
    """The commands of one case, and what all of them have spent."""

    def __init__(self, case: Case, servers: Servers, folder: Path, web: Served) -> None:
        self.case = case
        self._servers = servers
        self._folder = folder
        self._web = web
        self._topic = f"log-{folder.name}"
        servers.kafka.create(self._topic, f"{self._topic}-failures", partitions=PARTITIONS)
        self.settings = settings_of(
            profile="service",
            contact="bench@example.org",
            workers=case.workers,
            delay=0,
            hosts={"*.test": [ADDRESS]},
            allow_private=["127.0.0.0/8"],
            allow_ports=[self._web.port],
            redis_url=servers.redis.url,
            frontier=servers.redis.url,
            contents=servers.redis.url,
            events=servers.kafka.url(self._topic),
            failure_topic=f"{self._topic}-failures",
            # Links to others are to be followed as well, as the crawl does.
            scope="any",
            metrics_address="none",
        )
        self._commands: dict[str, subprocess.Popen[bytes]] = {}
        self._pushed = 0

    def start(self) -> None:
        (self._folder / "settings.toml").write_text(toml_of(self.settings))
        for name in ("worker", *(["extract"] if self.case.extractor else [])):
            command = [sys.executable, "-m", "outrider", name, "--config", str(self._folder / "settings.toml")]
            with (self._folder / name).open("wb") as said:
                self._commands[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # noqa: S603

    def push(self, fetched: int) -> None:
        """As many as are owed ahead, page by page of all sites in turn."""
        more = fetched + OWED - self._pushed
        if more > 0:
            numbers = range(self._pushed, self._pushed + more)
            with self._servers.redis.client() as client:
                client.rpush(QUEUE, *(f"http://{host_of(n % SITES)}:{self._web.port}/p/{n // SITES}" for n in numbers))
            self._pushed += more

    def spent(self) -> Spent:
        worker, extractor = self._commands["worker"].pid, self._commands.get("extract")
        return Spent(
            workers=sum(map(cpu_of, children_of(worker))),
            watcher=cpu_of(worker),
            redis=cpu_of(self._servers.redis.process.pid) if self._servers.redis.process else 0.0,
            kafka=cpu_of(self._servers.kafka.pid),
            extractor=cpu_of(extractor.pid) if extractor is not None else 0.0,
            server=self._web.cpu(),
        )

    def read(self) -> int:
        """As its group has said to Kafka."""
        consumer = Consumer({"bootstrap.servers": self._servers.kafka.bootstrap, "group.id": "outrider-extract"})
        try:
            places = consumer.committed([TopicPartition(self._topic, n) for n in range(PARTITIONS)], timeout=10)
            return sum(max(place.offset, 0) for place in places)
        finally:
            consumer.close()

    def look(self) -> None:
        for name, command in self._commands.items():
            if command.poll() is not None:
                raise SystemExit(f"{name} ended with {command.returncode}:\n{(self._folder / name).read_text()}")

    def stop(self) -> None:
        for command in self._commands.values():
            command.terminate()
        for command in self._commands.values():
            try:
                command.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                command.send_signal(signal.SIGKILL)
                command.wait()


async def samples(service: Service, place: str, pages: int) -> AsyncIterator[Sample]:
    """From the first fifth on, until it has them all."""
    until = monotonic() + PATIENCE + pages / crawl.SLOWEST
    fetched = 0
    async with open_frontier(place, frontier_rules(service.settings)) as frontier:
        while monotonic() < until:
            fetched = (await frontier.census()).fetched
            service.look()
            service.push(fetched)
            if fetched >= pages / 5:
                yield Sample(monotonic(), fetched, service.read() if service.case.extractor else 0, service.spent())
            if fetched >= pages:
                return
            await asyncio.sleep(_EVERY)
    raise SystemExit(f"only {fetched} pages came through")


async def measure(case: Case, servers: Servers, folder: Path, pages: int) -> Figures:
    with servers.redis.client() as client:
        client.flushall()
    with serving(SITES, PAGES, folder) as web:
        service = Service(case, servers, folder, web)
        service.push(0)
        service.start()
        try:
            found = [sample async for sample in samples(service, servers.redis.url, pages)]
        finally:
            service.stop()
    first, last = found[0], found[-1]
    pages, read = last.fetched - first.fetched, last.read - first.read
    spent = last.spent.since(first.spent, pages, read)
    return Figures(case.name, pages, pages / (last.at - first.at), spent, read)


def embedded(folder: Path, pages: int) -> Figures:
    """The crawl that it is compared with; it also parses every page and keeps records and an archive."""
    one = crawl.measure(crawl.Case("embedded"), folder, pages)
    spent = Spent(one.workers, one.watcher, redis=0.0, kafka=0.0, extractor=0.0, server=one.server)
    return Figures("embedded", one.pages, one.rate, spent)


def show(all_figures: list[Figures]) -> None:
    base = next(one for one in all_figures if one.name == "embedded")
    columns = (*Spent.__struct_fields__, "all")
    kinds = " ".join(f"{kind:>9}" for kind in columns)
    print(f"\n{'':12} {'pages':>8} {'pages/s':>8} {'ratio':>6} {'alone':>8} {'ratio':>6}  CPU a page, µs: {kinds}")
    for one in all_figures:
        costs = " ".join(f"{getattr(one.cpu, name) * 1e6:9.0f}" for name in columns)
        speed = f"{one.rate:8,.0f} {one.rate / base.rate:6.2f} {one.alone:8,.0f} {one.alone / base.alone:6.2f}"
        met = "" if one.name != "2 workers" else "  met" if one.rate / base.rate >= GOAL else "  MISSED"
        read = f"  it read {one.read:,}" if one.read else ""
        print(f"{one.name:12} {one.pages:8,} {speed}  {'':15} {costs}{met}{read}", flush=True)
    print(f"goal: 2 workers at least {GOAL} of the embedded crawl's pages/s")


def main() -> None:
    parser = argparse.ArgumentParser(description="Pages a second of the whole service, beside a crawl.")
    parser.add_argument("--quick", action="store_true", help="few pages: a first look")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="only this one")
    parser.add_argument("--pages", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    pages = given.pages or (6_000 if given.quick else 30_000)
    wanted = given.case or [case.name for case in CASES]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    print(f"{SITES} sites, {SIZE:,} bytes a page, {pages:,} pages each; all processes share {CORES} cores")
    print(f"Python {python_version()}; load of the machine at the start: {os.getloadavg()[0]:.1f}")
    found = []
    with tempfile.TemporaryDirectory() as name, open_servers(Path(name)) as servers:
        for turn in range(given.rounds):
            folder = Path(name) / f"embedded-{turn}"
            folder.mkdir()
            found.append(embedded(folder, pages))
            for number, case in enumerate(case for case in CASES if case.name in wanted):
                folder = Path(name) / f"service-{turn}-{number}"
                folder.mkdir()
                found.append(asyncio.run(measure(case, servers, folder, pages)))
    show(found)


if __name__ == "__main__":
    main()
