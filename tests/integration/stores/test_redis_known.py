"""What a process remembers of the known in front of the server is right."""

from typing import cast

from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisServer

from outrider.model.ledger import Added
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.redis.frontier import RedisFrontier
from outrider.stores.registry import open_frontier

RULES = FrontierRules()


def page(n: int) -> Task:
    return Task(Url(f"http://a.org/{n}"))


def scripts_run(server: RedisServer) -> int:
    with server.client() as client:
        stats = client.info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("eval", "evalsha"))


async def test_what_was_seen_lately_is_answered_without_asking(start_redis: StartRedis) -> None:
    """Most of what a crawl proposes is known."""
    server = start_redis()
    async with open_frontier(server.url, RULES) as one, open_frontier(server.url, RULES) as other:
        await one.add([page(n) for n in range(5)])
        asked_by_another = await other.add([page(n) for n in range(5)])
        before = scripts_run(server)

        by_whom_it_was_new = await one.add([page(n) for n in range(5)])
        by_whom_it_was_known = await other.add([page(n) for n in range(5)])
        after = scripts_run(server)
        mixed = await one.add([page(1), page(7), page(2), page(7)])

    assert asked_by_another == by_whom_it_was_new == by_whom_it_was_known == [Added.KNOWN] * 5
    assert after == before
    assert mixed == [Added.KNOWN, Added.NEW, Added.KNOWN, Added.KNOWN]


async def test_a_name_that_is_only_claimed_is_known_but_not_remembered(start_redis: StartRedis) -> None:
    """The account that claimed it may be refused: then the name is free again, and so it must be for everybody."""
    server = start_redis()
    async with open_frontier(f"{server.url}?buckets=8", RULES) as store:
        frontier = cast("RedisFrontier", store)
        bucket, key = frontier.buckets.of_site("a.org"), frontier.rules.identity.hash(page(1).url)
        await frontier.server.call("claim", bucket, ("?", key, ""))

        while_claimed = await frontier.add([page(1)])
        await frontier.server.call("claim", bucket, ("-", key, ""))
        once_free = await frontier.add([page(1)])
        census = await frontier.census()

    assert (while_claimed, once_free) == ([Added.KNOWN], [Added.NEW])
    assert (census.discovered, census.pending, census.fetched) == (1, 1, 0)
