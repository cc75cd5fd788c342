"""`outrider extract` with a real Redis and a real Kafka: killed, stopped, told nonsense, started too early."""

import asyncio
import json
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.integration.cli.conftest import Run
from tests.integration.cli.test_extract_watched import told
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.services.redis import RedisServer

from outrider.app.rules import frontier_rules
from outrider.model.event import PageFetched
from outrider.model.url import Url
from outrider.settings import settings_of
from outrider.stores.events import open_events
from outrider.stores.registry import FrontierStore, open_frontier

PAGES = 300
GONE = 10
_PATIENCE = 60.0
OURS = "readers"


@pytest.fixture
def kafka(kafka_server: KafkaServer) -> KafkaServer:
    return kafka_server


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis").start()
    yield server
    server.stop()


@asynccontextmanager
async def frontier_on(redis: RedisServer) -> AsyncIterator[FrontierStore]:
    async with open_frontier(redis.url, frontier_rules(settings_of(profile="service"))) as frontier:
        yield frontier


def fetched(url: str, **fields: object) -> PageFetched:
    page = Url(url)
    whole = {
        "at": 1.0,
        "url": page,
        "requested_url": page,
        "final_url": page,
        "site": page.site(),
        "status_code": 200,
        "content_type": "text/html",
        "content_length": 100,
        "content_hash": "",
        "fetched_at": "",
        "cache_key": f"webpage:{page.sha256}",
        **fields,
    }
    return PageFetched(**whole)  # type: ignore[arg-type]  # fields by name, as the test wants


def keep(redis: RedisServer, pages: dict[str, str]) -> None:
    with redis.client() as client:
        for url, content in pages.items():
            client.set(f"webpage:{Url(url).sha256}", content, ex=3_600)


def write(kafka: KafkaServer, topic: str, *values: bytes) -> None:
    """As another program would."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(_PATIENCE) == 0


async def is_done(kafka: KafkaServer, topic: str) -> bool:
    """Has the group said so of all that is there? Asked by a plain client that is no member of it."""

    def ask() -> bool:
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": OURS})
        try:
            partitions = consumer.list_topics(topic, timeout=_PATIENCE).topics[topic].partitions
            places = consumer.committed([TopicPartition(topic, number) for number in partitions], _PATIENCE)
            ends = [consumer.get_watermark_offsets(place, timeout=_PATIENCE)[1] for place in places]
            return all(max(place.offset, 0) == end for place, end in zip(places, ends, strict=True))
        finally:
            consumer.close()

    return await asyncio.to_thread(ask)


async def publish(kafka: KafkaServer, topic: str, events: Iterable[PageFetched]) -> None:
    async with open_events(kafka.url(topic, failures=topic)) as sink:
        await sink.publish(list(events))


def site_of(number: int) -> str:
    return f"http://site{number % 7}.example"


def content_of(number: int) -> tuple[str, set[str]]:
    """A page with links of its own, one that its neighbour has too, and the menu of its site."""
    root = site_of(number)
    links = {f"{root}/own/{number}/{k}" for k in range(3)} | {f"{root}/shared/{number // 14}", f"{root}/menu"}
    return "".join(f"<a href='{link}'>x</a>" for link in sorted(links)), links


class Reader:
    """A process that extracts; what it said is read once, at its end."""

    def __init__(self, process: Process) -> None:
        self.process = process

    async def until(self, what: str, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(_PATIENCE):
            while not await holds():
                assert self.process.returncode is None, f"ended before {what}"
                await asyncio.sleep(0.05)  # the condition is in other processes, which tell nobody when it comes true

    async def line(self, said: str) -> str:
        """The next one that says so."""
        assert self.process.stderr is not None
        async with asyncio.timeout(_PATIENCE):
            while said not in (line := (await self.process.stderr.readline()).decode()):
                assert line, f"ended before {said}"
        return line

    async def ended(self) -> tuple[int, dict[str, int], str]:
        """Its exit code, what it counted, and all that it said."""
        async with asyncio.timeout(_PATIENCE):
            _, said = await self.process.communicate()
        lines = [json.loads(line) for line in said.decode().splitlines()]
        counts = [line for line in lines if line["type"] == "extract_counts"]
        assert self.process.returncode is not None
        return self.process.returncode, counts[-1] if counts else {}, said.decode()

    async def stopped(self) -> tuple[int, dict[str, int], str]:
        self.process.terminate()
        return await self.ended()


Start = Callable[..., Awaitable[Reader]]


@pytest.fixture
async def start(tmp_path: Path, environment: dict[str, str]) -> AsyncIterator[Start]:
    started: list[Process] = []

    async def begin(*arguments: str) -> Reader:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-W", "error", "-m", "outrider", "extract"),
            *("--log-format", "json", "--group", OURS, *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
        )
        started.append(process)
        return Reader(process)

    yield begin
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_two_share_the_pages_and_the_death_of_one_loses_no_link(
    redis: RedisServer, kafka: KafkaServer, start: Start
) -> None:
    """Issue 5/7, item 4: at least once, offsets after the add, a missing content counted and not fatal."""
    kafka.create("two", partitions=4)
    everything = {f"{site_of(number)}/{number}": content_of(number) for number in range(PAGES)}
    urls = list(everything)
    kept = {url: everything[url] for url in urls[:-GONE]}
    keep(redis, {url: content for url, (content, _) in kept.items()})
    expected = set[str]().union(*(links for _, links in kept.values()))
    places = ("--redis", redis.url, "--events", kafka.url("two", session=2))
    first, second = await start(*places), await start(*places)

    async with frontier_on(redis) as frontier:

        async def has_begun() -> bool:
            return (await frontier.census()).discovered > 0

        await publish(kafka, "two", map(fetched, urls[: PAGES // 2]))
        await first.until("a link was found", has_begun)
        first.process.kill()
        await publish(kafka, "two", map(fetched, urls[PAGES // 2 :]))
        await second.until("all pages were done with", lambda: is_done(kafka, "two"))
        code, counts, said = await second.stopped()

        census = await frontier.census()
        found = {str(entry.url) async for entries in frontier.entries() for entry in entries}
    assert (code, "bug_found" in said) == (0, False)
    assert found == expected
    assert (census.discovered, census.pending) == (len(expected), len(expected))
    assert counts["missing"] >= GONE


async def test_a_stop_is_a_success_and_what_was_done_with_is_not_read_again(
    redis: RedisServer, kafka: KafkaServer, start: Start
) -> None:
    kafka.create("stop")
    keep(redis, {"http://a.test/": "<a href=/x>x</a><a href=http://b.test/>b</a>"})
    write(kafka, "stop", b"no JSON", b'{"type": "page_failed"}', b"")
    nowhere = fetched("http://a.test/", final_url=Url.trusted("://"))
    await publish(kafka, "stop", [nowhere, fetched("http://a.test/", depth=1), fetched("http://a.test/gone")])
    places = ("--redis", redis.url, "--events", kafka.url("stop"), "--scope", "any")

    reader = await start(*places)
    await reader.until("all pages were done with", lambda: is_done(kafka, "stop"))
    code, counts, _ = await reader.stopped()
    again, later, _ = await (await start(*places, "--until-idle", "1")).ended()

    async with frontier_on(redis) as frontier:
        found = await frontier.find(Url("http://b.test/"))
    assert found is not None
    assert found.task is not None
    assert (found.task.depth, found.task.parent) == (2, "http://a.test/")
    assert code == again == 0
    assert {name: counts[name] for name in ("pages", "missing", "malformed", "links", "new_urls", "refused")} == {
        "pages": 1,
        "missing": 1,
        "malformed": 4,
        "links": 2,
        "new_urls": 2,
        "refused": 0,
    }
    assert (later["pages"], later["missing"], later["malformed"]) == (0, 0, 0)


async def test_redis_that_goes_away_is_waited_for(tmp_path: Path, kafka: KafkaServer, start: Start) -> None:
    """With `--wait` it may be away at the start; later nobody has to say so."""
    kafka.create("away")
    redis = RedisServer(tmp_path / "lasting", "--appendonly", "yes", "--appendfsync", "always")
    reader = await start("--redis", redis.url, "--events", kafka.url("away"), "--wait")
    try:
        await reader.line("trying again")
        redis.start()
        address = (await reader.line("following the links")).rpartition("http://")[2].partition("/")[0]
        keep(redis, {f"http://a.test/{number}": f"<a href=/to/{number}>x</a>" for number in range(2)})
        await publish(kafka, "away", [fetched("http://a.test/0")])
        await reader.until("the first page was done with", lambda: is_done(kafka, "away"))
        redis.kill()
        await publish(kafka, "away", [fetched("http://a.test/1")])
        await reader.line("crawl_paused")
        metrics, ready = await told(address, "/metrics"), await told(address, "/readyz")
        redis.start()
        await reader.until("the second page was done with", lambda: is_done(kafka, "away"))
        code, counts, said = await reader.stopped()

        async with frontier_on(redis) as frontier:
            census = await frontier.census()
    finally:
        redis.stop()
    assert (code, counts["pages"], counts["missing"], counts["new_urls"]) == (0, 2, 0, 2)
    assert census.discovered == 2
    assert "crawl_resumed" in said
    assert "\noutrider_extract_pages_total 1.0\n" in metrics
    assert ready.startswith("HTTP/1.1 503")


async def test_a_store_that_is_not_there_is_one_sentence(
    redis: RedisServer, kafka: KafkaServer, outrider: Run, start: Start
) -> None:
    nobody = f"127.0.0.1:{free_port()}"

    no_redis, no_kafka, no_topic = await asyncio.gather(
        outrider("extract", "--redis", f"redis://:secret@{nobody}", "--events", kafka.url("nowhere")),
        outrider("extract", "--redis", redis.url, "--events", f"kafka://{nobody}/nowhere"),
        outrider("extract", "--redis", redis.url, "--events", kafka.url("nowhere")),
    )
    waiting = await start("--redis", f"redis://{nobody}", "--events", kafka.url("nowhere"), "--wait")
    await waiting.line("trying again")
    waited, _, _ = await waiting.stopped()

    assert (no_redis.code, no_kafka.code, no_topic.code, waited) == (6, 6, 6, 0)
    for done, named in ((no_redis, nobody), (no_kafka, nobody), (no_topic, "nowhere")):
        assert done.err.startswith("outrider: ")
        assert done.err.count("\n") == 1
        assert named in done.err
        assert "secret" not in done.err
