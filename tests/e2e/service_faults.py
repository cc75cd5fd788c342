"""A web that goes away and comes back, and what an operator is told of a service meanwhile."""

import asyncio
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from hashlib import sha256
from os import getpid
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.services import PATIENCE, Command, Rig, until
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.app.rules import frontier_rules
from outrider.model.ledger import Census
from outrider.settings import load
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm import Asked, Behaviour, WebFarm, page, text
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_server import Ready, Served


def site(pages: int, **others: Behaviour) -> dict[str, Behaviour]:
    """`/0`, `/1` …, each of its own words; `others` by path, without the slash."""
    numbered = {f"/{number}": page(f"<title>{number}</title><p>{number} of {pages}") for number in range(pages)}
    rules = {"/robots.txt": text("User-agent: *\nAllow: /\n"), "/": page("<p>home")}
    return rules | numbered | {f"/{path}": behaviour for path, behaviour in others.items()}


@asynccontextmanager
async def rig_over(
    farm: WebFarm, folder: Path, redis: RedisServer, kafka: KafkaServer, *, more_topics: Iterable[str] = ()
) -> AsyncIterator[Rig]:
    """A rig over a farm of this process, whose sites the test changes as it goes; all of `*.test` is there."""
    with redis.client() as client:
        client.flushall()
    built = Rig(Served(World(), Ready(farm.port, None, getpid())), redis, kafka, folder)
    await asyncio.to_thread(kafka.create, built.topic, built.failures, *more_topics)
    try:
        yield built
    finally:
        await built.close()


async def census(built: Rig, place: str | None = None) -> Census:
    """Of the frontier at `place`, else of the one in the rig's Redis."""
    settings = load(file=built.folder / "worker.toml", environment={}).settings
    async with open_frontier(place or built.redis.url, frontier_rules(settings)) as frontier:
        return await frontier.census()


async def begun(command: Command) -> None:
    await until(lambda: "taking URLs from" in command.said, "it begins", command)


def watched_at(command: Command) -> str:
    """The last it said: a command that was started again is somewhere else."""
    found: list[str] = re.findall(r"readiness at http://([^/]+)/metrics", command.said)
    return found[-1]


def _asked(command: Command, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{watched_at(command)}{path}", timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def scraped(command: Command) -> dict[str, float]:
    """Every sample by its name, with the values of its labels: `name{success}`."""
    samples = [
        sample for family in text_string_to_metric_families(_asked(command, "/metrics")[1]) for sample in family.samples
    ]
    return {_name(sample.name, sample.labels): sample.value for sample in samples}


def _name(name: str, labels: dict[str, str]) -> str:
    said = [value for value in labels.values() if value]
    return f"{name}{{{','.join(said)}}}" if said else name


def readiness(command: Command) -> tuple[int, str]:
    return _asked(command, "/readyz")


def answered(log: Iterable[Asked]) -> list[str]:
    """The pages among what was asked, as their URLs; not robots.txt, and no probe."""
    pages = [asked for asked in log if asked.method == "GET" and asked.path != "/robots.txt"]
    return [f"http://{asked.header('Host')}{asked.target}" for asked in pages]


def judge_events(built: Rig, urls: Iterable[str], log: Iterable[Asked]) -> int:
    """Every URL is told of, nothing that was not fetched, nothing but what is in the cache; how often one came twice.

    It is the same visit that is told of again, so whoever reads knows it by its `fetch_id`.
    """
    told, asked = built.told(), set(answered(log))
    visits: dict[str, set[str]] = {}
    for one in told:
        event = one.event
        visits.setdefault(event["url"], set()).add(event["fetch_id"])
        kept = built.page(event["url"]) or b""
        assert (sha256(kept).hexdigest(), len(kept)) == (event["content_hash"], event["content_length"])
        assert event["url"] in asked
    assert visits.keys() == set(urls)
    assert {len(names) for names in visits.values()} == {1}
    return len(told) - len(visits)
