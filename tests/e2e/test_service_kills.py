"""Whoever dies, and however often: every URL that was pushed is told of, and no site was asked too soon."""

import os
import random
from collections import Counter
from hashlib import sha256
from pathlib import Path
from re import search

from tests.e2e.crawls import SLACK
from tests.e2e.service_kills import LENT, Kill, Machines
from tests.e2e.services import Rig, rig, until, until_true
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.app.rules import frontier_rules
from outrider.engine.worker import TASKS
from outrider.model.ledger import Census
from outrider.settings import load
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_judge import Judge

IN_CI, IN_SHORT = 6, 5
KILLS = int(os.environ.get("SERVICE_KILLS", str(IN_CI if os.environ.get("CI") == "true" else IN_SHORT)))
SEED = int(os.environ.get("SERVICE_KILLS_SEED", str(random.randrange(1 << 32))))  # noqa: S311 - any will do, and it is printed
KINDS = ("machine", "worker", "intake", "extractor")
EACH = 70
"""URLs pushed before each kill."""
FOUND = r"-3[5-9]\.test"
"""Sites whose pages are pushed by nobody."""
DELAY = 0.1
HELD = 12
"""Sites that one worker process holds at most."""
TOLD_AT_ONCE = 2 * HELD * TASKS
"""Visits of one process that may be told of and not yet settled: those of the sites it holds, and has just held."""


async def test_kills_lose_no_url_and_shorten_no_pause(tmp_path: Path, redis: RedisServer, kafka: KafkaServer) -> None:
    """H2-21, H4-8, C23, S4-50: machines, workers, the intake with a batch in hand, the extractor."""
    luck = random.Random(SEED)  # noqa: S311 - repeatable on purpose
    pages = EACH * (KILLS + 1)
    world = World(luck.randrange(1000), sites=40, pages=pages, hostile_share=0.0, spiced=False, size=3_000, seeds=40)
    print(f"SERVICE_KILLS={KILLS} SERVICE_KILLS_SEED={SEED}: {world}")
    async with rig(world, tmp_path, redis, kafka) as built:
        urls = sorted(url for url, expected in built.web.truth().items() if not expected.listing)
        pushed = [url for url in urls if not search(FOUND, url)]
        assert EACH // 2 < len(pushed) < len(urls)
        luck.shuffle(pushed)
        keys = {"lease": 2, "delay": DELAY, "concurrency": HELD, "max_recoveries": 5 * KILLS, "drain_limit": 10}
        machines = Machines(built, luck, 2, found=FOUND, **keys)
        await machines.start()

        for number, kind in enumerate(_kinds(luck)):
            await machines.strike(kind, pushed[number::KILLS])

        await until(lambda: len(built.fetched()) >= len(urls), "every page is told of", *machines.commands)
        await until_true(lambda: _is_over(built), "everything is settled", *machines.commands)
        assert [await command.stopped() for command in machines.commands] == [0] * 3
        _judge_events(built, urls, machines.kills)
        counted = await _census(built)
        assert counted.adds_up
        # What the extractor refused before it was pushed is known there by its hash: nobody can tell how it had ended.
        assert (counted.discovered, counted.leased, counted.dead) == (len(urls), 0, {}), counted
        judge = Judge(world, built.web.log())
        assert judge.gaps(DELAY, slack=SLACK) == []
        assert judge.disallowed_requests() == judge.unasked_robots() == []
        assert built.letters() == []
        assert built.told(built.failures) == []


def _kinds(luck: random.Random) -> list[str]:
    """Each of them, as evenly as the number allows, in any order."""
    kinds = [KINDS[number % len(KINDS)] for number in range(KILLS)]
    luck.shuffle(kinds)
    return kinds


async def _is_over(built: Rig) -> bool:
    with built.client() as client:
        lent = client.exists(LENT)
    return not built.waiting() and not lent and (await _census(built)).is_finished


async def _census(built: Rig) -> Census:
    settings = load(file=built.folder / "worker-0.toml", environment={}).settings
    async with open_frontier(built.redis.url, frontier_rules(settings)) as frontier:
        return await frontier.census()


def _judge_events(built: Rig, urls: list[str], kills: list[Kill]) -> None:
    """At least once each. Again only what was under way at a kill, by the same name; or what was taken in twice."""
    told = built.told()
    times = Counter(one.event["url"] for one in told)
    visits = {(one.event["url"], one.event["fetch_id"]) for one in told}
    owed_again = {url for url, number in Counter(url for url, _ in visits).items() if number > 1}
    repeated = len(told) - len(visits)
    in_hand = frozenset[str]().union(*(kill.in_hand for kill in kills))
    print(f"{dict(Counter(kill.kind for kill in kills))}, {len(in_hand)} entries in hand at a kill")
    print(f"{len(told)} events of {len(times)} pages, {repeated} told again, {len(owed_again)} owed again")
    print(f"{len(built.web.log())} requests")
    assert times.keys() == set(urls)
    assert owed_again <= in_hand
    assert repeated <= len(kills) * TOLD_AT_ONCE
    for one in told:
        event, page = one.event, built.page(one.event["url"])
        assert page is not None
        assert (len(page), sha256(page).hexdigest()) == (event["content_length"], event["content_hash"])
