"""Whoever holds a site visits its URLs, one after the other, until there is a reason to give it back."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, START, Scene, linking
from tests.unit.engine.wrapped import Acts, WrappedFrontier

from outrider.errors import ConnectError, DnsError
from outrider.model.event import BugFound, PageSkipped, SiteCameBack, SiteProbed, SiteWentDown, UrlDied
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState
from outrider.ports import Request, Response, Transport
from outrider.testing.site import page

PATHS = tuple(f"/{number}" for number in range(12))


def fan(paths: tuple[str, ...] = PATHS) -> dict[str, Response]:
    return {f"{ROOT}/": linking(*paths)} | {ROOT + path: page(path) for path in paths}


class Buggy:
    """A transport with a bug in it, for requests that `strikes` chooses."""

    def __init__(self, transport: Transport, strikes: Callable[[Request], bool]) -> None:
        self._transport = transport
        self._strikes = strikes

    async def request(self, request: Request) -> Response:
        if self._strikes(request):
            raise LookupError("a bug")
        return await self._transport.request(request)


# one at a time


async def test_a_site_has_one_visit_at_a_time() -> None:
    scene = Scene(fan(), seconds=1.0)

    await scene.crawl()

    assert scene.web.most["example.com"] == 1
    assert (await scene.memory.census()).fetched == 13


async def test_a_site_of_ones_own_may_have_more() -> None:
    scene = Scene(fan(), seconds=1.0, site_concurrency=3)

    await scene.crawl()

    assert scene.web.most["example.com"] == 3
    assert (await scene.memory.census()).fetched == 13


async def test_between_two_requests_the_site_has_its_pause() -> None:
    scene = Scene(fan(PATHS[:4]), delay=2)

    await scene.crawl()

    moments = [at for at, _ in scene.web.began]
    assert all(later - earlier >= 2.0 for earlier, later in pairwise(moments))


async def test_a_site_whose_next_turn_is_far_is_given_back_and_others_are_served_meanwhile() -> None:
    other = "http://other.test"
    scene = Scene({**fan(PATHS[:3]), f"{other}/": page("x")}, [f"{ROOT}/", f"{other}/"], delay=100)

    await scene.propose()
    async with scene.running() as worker:
        await scene.until(lambda: len(scene.site.asked) == 4)
        await scene.clock.sleep(20.0)
        held = worker.held
        await scene.until_finished()

    assert held == 0
    assert (await scene.memory.census()).fetched == 5


# sites that are down


async def test_a_site_that_is_down_is_asked_by_one_probe_before_anything_else() -> None:
    """C5, C6: five failures open the breaker; then one HEAD finds out."""
    table = fan(PATHS[:6]) | {f"HEAD {ROOT}/": page(b"")}
    failing = [ConnectError("no")] * 5
    scene = Scene(
        {**table, **{ROOT + path: [*failing, page("up")] for path in PATHS[:6]}}, network_retries=0, max_visits=9
    )

    await scene.crawl()

    heads = [at for at, request in scene.web.began if request.method == "HEAD"]
    opened = scene.told(SiteWentDown)[0].at
    assert 30.0 <= heads[0] - opened <= 34.0
    assert not [at for at, _ in scene.web.began if opened < at < heads[0]]
    assert scene.told(SiteProbed)[0].alive
    assert scene.told(SiteCameBack)
    assert (await scene.memory.census()).fetched == 7


@pytest.mark.parametrize("at_once", [1, 3])
async def test_a_site_is_probed_by_one_visitor_alone(at_once: int) -> None:
    scene = Scene(fan(PATHS[:6]) | {f"HEAD {ROOT}/": page(b"")}, seconds=1.0, site_concurrency=at_once)
    await scene.propose(*(ROOT + path for path in PATHS[:6]))
    open_site = Breaker(BreakerState.OPEN, 5, openings=1, probe_at=START, down_since=START)
    async for sites in scene.memory.sites():
        await scene.memory.restore(sites=[replace(site, breaker=open_site) for site in sites])

    async with scene.running():
        await scene.until_finished()

    assert [method for method in scene.asked if method.startswith("HEAD")] == ["HEAD /"]
    assert len(scene.told(SiteProbed)) == 1


async def test_a_name_that_does_not_exist_is_set_aside_and_the_crawl_ends() -> None:
    scene = Scene({f"{ROOT}/robots.txt": DnsError("no", exists=False), f"{ROOT}/": DnsError("no", exists=False)})

    await scene.crawl()

    entry = await scene.entry(f"{ROOT}/")
    assert (entry.state, entry.reason) == (State.SKIPPED, Reason.SITE_UNREACHABLE)


# our own bugs


async def test_a_bug_puts_the_url_off_and_at_last_it_is_dead() -> None:
    scene = Scene(
        fan(PATHS[:2]), transport=lambda web: Buggy(web, lambda request: request.url == f"{ROOT}/1"), max_visits=3
    )

    await scene.crawl()

    entry = await scene.entry(f"{ROOT}/1")
    assert (entry.state, entry.reason, entry.visits) == (State.DEAD, Reason.INTERNAL_ERROR, 3)
    assert (await scene.memory.census()).fetched == 2
    bugs = scene.told(BugFound)
    assert [bug.url for bug in bugs] == [f"{ROOT}/1"] * 3
    assert "LookupError: a bug" in bugs[0].error
    assert [(event.url, event.reason) for event in scene.told(UrlDied)] == [(f"{ROOT}/1", Reason.INTERNAL_ERROR)]


@pytest.mark.parametrize("at_once", [1, 2])
async def test_a_bug_in_a_probe_does_not_go_on_for_ever(at_once: int) -> None:
    scene = Scene(
        fan(PATHS[:2]),
        transport=lambda web: Buggy(web, lambda request: request.method == "HEAD"),
        site_concurrency=at_once,
        max_visits=2,
    )
    await scene.propose(*(ROOT + path for path in PATHS[:2]))
    open_site = Breaker(BreakerState.OPEN, 5, openings=1, probe_at=START, down_since=START)
    async for sites in scene.memory.sites():
        await scene.memory.restore(sites=[replace(site, breaker=open_site) for site in sites])

    async with scene.running():
        await scene.until_finished()

    census = await scene.memory.census()
    assert census.dead == {Reason.INTERNAL_ERROR: 2}
    assert len(scene.told(BugFound)) == 4


# enough of a site


@pytest.mark.parametrize("at_once", [1, 4])
async def test_no_more_pages_of_a_site_than_wanted_and_no_fewer(at_once: int) -> None:
    scene = Scene(fan(), seconds=1.0, site_concurrency=at_once, max_site_pages=7)

    await scene.crawl()

    census = await scene.memory.census()
    assert (census.fetched, census.skipped) == (7, {Reason.SITE_QUOTA: 6})
    assert len([at for at in scene.asked if at != "GET /robots.txt"]) == 7
    assert [event.reason for event in scene.told(PageSkipped)] == [Reason.SITE_QUOTA] * 6


async def test_a_failure_is_no_page_of_the_site() -> None:
    table = fan() | {f"{ROOT}/{number}": page("", 404) for number in range(6)}
    scene = Scene(table, seconds=1.0, site_concurrency=4, max_site_pages=7)

    await scene.crawl()

    assert (await scene.memory.census()).fetched == 7


# leases


async def test_a_site_is_left_alone_once_its_lease_has_run_out() -> None:
    """One who is cut off from the frontier cannot know that another has the site: only the holder talks to it."""
    acts = Acts()
    other = Scene(fan(PATHS[:5]), seconds=10.0)
    cut_off = Scene(
        fan(PATHS[:5]),
        clock=other.clock,
        frontier=WrappedFrontier(other.memory, acts),
        seconds=10.0,
    )
    cut_off.rules = replace(cut_off.rules, lease=15.0)
    await other.propose(*(ROOT + path for path in PATHS[:5]))

    async with cut_off.running(cut_off.another()):
        await other.until(lambda: len(cut_off.web.began) > 0)
        acts.away = {"extend": 1_000, "settle": 1_000, "lease": 1_000}
        async with other.running():
            await other.until_finished()
        acts.away = {}

    assert [at - START for at, _ in cut_off.web.began] == [0.0, 10.0]
    assert other.web.began[0][0] - START >= 15.0
    census = await other.memory.census()
    assert census.fetched == 5
    assert census.stale > 0
