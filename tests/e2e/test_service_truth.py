"""Other programs push URLs and read events and pages: all of them, each once, and no site was asked too soon."""

from collections import Counter
from hashlib import sha256
from pathlib import Path

from tests.e2e.crawls import SLACK
from tests.e2e.services import Rig, rig, until, until_true
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.app.rules import frontier_rules
from outrider.model.ledger import Census
from outrider.settings import load
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_judge import Judge

PUSHED = 2_000
WORLD = World(3, sites=480, pages=2_200, hostile_share=0.0, spiced=False, links=8, size=3_000, seeds=480)


async def census(built: Rig) -> Census:
    settings = load(file=built.folder / "worker-0.toml", environment={}).settings
    async with open_frontier(built.redis.url, frontier_rules(settings)) as frontier:
        return await frontier.census()


async def test_three_workers_and_an_extractor_serve_what_was_pushed_and_what_it_leads_to(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """S4-2, S4-3, S4-14, S4-33, S4-50, H4-9, H4-10: judged by plain clients of Kafka and Redis, and by the web."""
    async with rig(WORLD, tmp_path, redis, kafka) as built:
        urls = sorted(url for url, expected in built.web.truth().items() if not expected.listing)
        assert len(urls) > PUSHED
        pushed, found = urls[:PUSHED], urls[PUSHED:]
        workers = [await built.worker(f"worker-{number}", delay=1) for number in range(3)]
        extractor = await built.extractor(scope="any", sitemaps=False, feeds=False)

        built.push(pushed)

        everything = [*workers, extractor]
        await until(lambda: len(built.fetched()) >= len(urls), "every page is told of", *everything)

        async def is_settled() -> bool:
            return (await census(built)).is_finished

        await until_true(is_settled, "everything is settled", *everything)
        assert [await command.stopped() for command in everything] == [0] * 4
        _judge_events(built, urls)
        _judge_ledger(await census(built), urls)
        judge = Judge(WORLD, built.web.log())
        assert judge.gaps(1.0, slack=SLACK) == []
        assert judge.disallowed_requests() == judge.unasked_robots() == []
        assert built.letters() == []
        assert built.waiting() == 0
        print(f"{len(pushed)} pushed, {len(found)} found, {len(built.web.log())} requests")


def _judge_events(built: Rig, urls: list[str]) -> None:
    """Nobody was killed, so nothing comes twice."""
    told = built.told()
    assert Counter(one.event["url"] for one in told) == Counter(urls)
    for one in told:
        event, page = one.event, built.page(one.event["url"])
        digest = sha256(event["url"].encode())
        assert page is not None
        assert (event["type"], event["status_code"]) == ("webpage_fetched", 200)
        assert event["cache_key"] == f"webpage:{digest.hexdigest()}"
        assert one.key in {digest.digest(), digest.hexdigest().encode()}
        assert (len(page), sha256(page).hexdigest()) == (event["content_length"], event["content_hash"])


def _judge_ledger(counted: Census, urls: list[str]) -> None:
    assert counted.adds_up
    assert counted.is_finished
    assert (counted.fetched, counted.leased, counted.stale) == (len(urls), 0, 0)
