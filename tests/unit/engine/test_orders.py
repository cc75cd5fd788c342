"""Workers obey operators: before each request, within a second, and whatever the store does meanwhile."""

import asyncio
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, START, Scene, linking
from tests.unit.engine.watching import watched

from outrider.engine.finish import Finish, Standing, finish
from outrider.engine.orders import EVERY, Orders
from outrider.errors import StoreUnavailable
from outrider.model.event import PageFetched, PageSkipped, UrlRefused
from outrider.model.ledger import Census, Filter, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState
from outrider.policy.orders import BY_ORDER, LOOK_AGAIN
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.clock import FakeClock
from outrider.testing.site import page

KEY = "example.com"
PAUSED = SiteOrder(KEY, paused=True, at=START)
EXCLUDED = SiteOrder(KEY, excluded=True, at=START)
AS_USUAL = SiteOrder(KEY)
MANY = {f"{ROOT}/": linking(*(f"/{n}" for n in range(30)))} | {f"{ROOT}/{n}": linking() for n in range(30)}


async def test_a_paused_site_is_silent_and_what_it_owes_stays_owed_until_it_is_resumed() -> None:
    scene = Scene(MANY, delay=1)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: len(scene.web.began) == 4)
        await scene.memory.order(PAUSED)
        paused_at = scene.clock.now()
        await scene.clock.sleep(60)
        census = await scene.memory.census()
        asked, silenced = list(scene.web.began), worker.silenced
        await scene.memory.order(AS_USUAL)
        await scene.until(lambda: len(scene.web.began) > len(asked))
        resumed_after = scene.web.began[len(asked)][0] - paused_at - 60
        await scene.until_finished()

    assert max(at for at, _ in asked) <= paused_at + EVERY
    assert (census.pending > 20, census.adds_up) == (True, True)
    assert silenced == (KEY,)
    assert resumed_after <= LOOK_AGAIN + EVERY + 1.0
    assert (await scene.memory.census()).fetched == 31


async def test_a_site_that_is_paused_beforehand_is_asked_for_nothing_at_all() -> None:
    """Not even for its robots.txt, and not by one who begins: orders are heard before the first request."""
    scene = Scene(MANY)
    await scene.propose()
    await scene.memory.order(PAUSED)

    async with scene.running():
        await scene.clock.sleep(30)
        census = await scene.memory.census()

    assert scene.web.began == []
    assert (census.pending, census.waiting) == (1, 0)


async def test_a_paused_site_costs_a_lease_every_few_seconds() -> None:
    scene = Scene(MANY)
    await scene.propose()
    await scene.memory.order(PAUSED)
    async with scene.running():
        await scene.clock.sleep(60)
        await scene.memory.order(AS_USUAL)
        await scene.until(lambda: any(item.haul for item in scene.seen))

    first = next(item for item in scene.seen if item.haul)
    # A token more for each time that it was lent.
    assert 60 / LOOK_AGAIN - 3 <= first.lease.token <= 60 / LOOK_AGAIN + 2


async def test_a_redirect_under_way_is_not_followed_once_the_site_is_paused() -> None:
    """Every hop takes its turn, and so asks whether it may. The URL is visited again, from the start."""
    scene = Scene({f"{ROOT}/": page(status=302, location="/to"), f"{ROOT}/to": linking()}, delay=4)
    await scene.propose()

    async with scene.running():
        await scene.until(lambda: "GET /" in scene.asked)
        await scene.memory.order(PAUSED)
        await scene.clock.sleep(60)
        asked = list(scene.asked)
        entry = await scene.entry(f"{ROOT}/")
        await scene.memory.order(AS_USUAL)
        await scene.until_finished()

    assert asked == ["GET /robots.txt", "GET /"]
    assert (entry.state, entry.visits) == (State.PENDING, 0)
    assert scene.asked == ["GET /robots.txt", "GET /", "GET /", "GET /to"]
    assert len(scene.told(PageFetched)) == 1


async def test_a_try_again_waits_for_the_operator_too() -> None:
    scene = Scene({f"{ROOT}/": [page(status=500), linking()]})
    await scene.propose()

    async with scene.running():
        await scene.until(lambda: "GET /" in scene.asked)
        await scene.memory.order(PAUSED)
        await scene.clock.sleep(60)

    assert scene.asked == ["GET /robots.txt", "GET /"]


async def test_a_site_that_is_down_is_not_probed_while_it_is_paused() -> None:
    scene = Scene({f"{ROOT}/": linking(), f"HEAD {ROOT}/": page()})
    await scene.propose()
    down = Breaker(BreakerState.OPEN, failures=5, openings=1, probe_at=START + 5, down_since=START)
    (known,) = [site async for sites in scene.memory.sites() for site in sites]
    await scene.memory.restore(sites=[replace(known, breaker=down)])
    await scene.memory.order(PAUSED)

    async with scene.running():
        await scene.clock.sleep(30)
        asked = list(scene.asked)
        await scene.memory.order(AS_USUAL)
        await scene.until_finished()

    assert asked == []
    assert scene.asked == ["HEAD /", "GET /robots.txt", "GET /"]


async def test_what_an_excluded_site_owes_ends_without_a_request() -> None:
    scene = Scene(MANY, delay=1)
    await scene.propose()

    async with scene.running():
        await scene.until(lambda: len(scene.web.began) == 4)
        await scene.memory.order(EXCLUDED)
        excluded_at = scene.clock.now()
        await scene.until_finished()
        census = await scene.memory.census()
        taken = scene.clock.now() - excluded_at

    assert max(at for at, _ in scene.web.began) <= excluded_at + EVERY
    assert census.skipped == {Reason.EXCLUDED_SITE: 31 - census.fetched}
    assert census.adds_up
    assert {(event.reason, event.detail) for event in scene.told(PageSkipped)} == {(Reason.EXCLUDED_SITE, BY_ORDER)}
    assert taken <= 10.0


async def test_links_to_an_excluded_site_are_refused_with_their_evidence() -> None:
    scene = Scene({f"{ROOT}/": linking("http://other.org/", "/a"), f"{ROOT}/a": linking()})
    await scene.memory.order(SiteOrder("other.org", excluded=True, at=START))

    await scene.crawl()

    (refused,) = scene.told(UrlRefused)
    assert (refused.url, refused.reason, refused.rule) == ("http://other.org/", Reason.EXCLUDED_SITE, "order")
    assert BY_ORDER in refused.evidence
    assert (await scene.memory.census()).skipped == {Reason.EXCLUDED_SITE: 1}
    assert await scene.memory.revive(Filter()) == 0


async def test_a_delay_is_kept_between_all_requests_and_the_setting_comes_back() -> None:
    scene = Scene(MANY, delay=1)
    await scene.propose()

    async with scene.running():
        await scene.until(lambda: len(scene.web.began) == 3)
        await scene.memory.order(SiteOrder(KEY, delay=4.0, at=START))
        await scene.clock.sleep(EVERY)
        slow_from = len(scene.web.began)
        await scene.until(lambda: len(scene.web.began) == slow_from + 6)
        slow = gaps(scene, slow_from)
        await scene.memory.order(AS_USUAL)
        await scene.clock.sleep(6)
        fast_from = len(scene.web.began)
        await scene.until(lambda: len(scene.web.began) == fast_from + 6)
        fast = gaps(scene, fast_from + 1)

    assert min(slow) >= 4.0
    assert max(slow) <= 4.1
    assert (min(fast) >= 1.0, max(fast) <= 1.1) == (True, True)


@pytest.mark.parametrize(("delay", "expected"), [(0.5, 3.0), (5.0, 5.0)])
async def test_robots_txt_may_ask_for_more_than_the_operator(delay: float, expected: float) -> None:
    robots = page(b"User-agent: *\nCrawl-delay: 3", content_type="text/plain")
    scene = Scene({**MANY, f"{ROOT}/robots.txt": robots}, delay=1)
    await scene.propose()
    await scene.memory.order(SiteOrder(KEY, delay=delay, at=START))

    async with scene.running():
        await scene.until(lambda: len(scene.web.began) == 7)

    assert min(gaps(scene, 1)) == pytest.approx(expected)


def gaps(scene: Scene, start: int) -> list[float]:
    times = [at for at, _ in scene.web.began[start:]]
    return [later - earlier for earlier, later in pairwise(times)]


class Away(MemoryFrontier):
    """Orders cannot be heard while it `is_away`."""

    is_away = False

    async def orders(self) -> list[SiteOrder]:
        if self.is_away:
            raise StoreUnavailable("away")
        return await super().orders()


async def test_while_the_store_is_away_what_was_heard_last_stands() -> None:
    clock = FakeClock(START)
    scene = Scene(MANY)
    frontier = Away(scene.memory.rules, clock)
    await frontier.order(PAUSED)
    orders = Orders(frontier, clock)

    await orders.hear()
    frontier.is_away = True
    await frontier.order(AS_USUAL)
    await orders.hear()
    heard_while_away = dict(orders.in_force)
    frontier.is_away = False
    await orders.hear()

    assert heard_while_away == {KEY: PAUSED}
    assert orders.in_force == {}


async def test_a_crawl_that_owes_only_paused_sites_goes_on_and_says_what_it_waits_for() -> None:
    scene = Scene({f"{ROOT}/": linking()})
    await scene.propose()
    await scene.memory.order(PAUSED)
    watch = watched(scene)

    async def resume() -> None:
        await scene.until(lambda: any(progress.waiting_for for progress in watch.shown))
        await scene.clock.sleep(30)
        await scene.memory.order(AS_USUAL)

    async with asyncio.timeout(30):
        last, _ = await asyncio.gather(watch.supervisor.run(), resume())

    assert last.finish == Finish.FINISHED
    assert f"{KEY}: paused by an operator" in {progress.waiting_for for progress in watch.shown}
    assert len(scene.told(PageFetched)) == 1


def test_seeds_that_cannot_be_reached_do_not_end_a_crawl_that_an_operator_holds_back() -> None:
    standing = Standing(
        census=Census(discovered=2, pending=1, waiting=1),
        now=0.0,
        all_idle=True,
        next_at=2.0,
        tried=1,
        answers=0,
        is_new=True,
        recrawls=False,
    )

    assert finish(standing) is Finish.SEEDS_UNREACHABLE
    assert finish(replace(standing, held_back=True)) is None
