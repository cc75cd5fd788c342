"""One process's share of a crawl: lease sites, serve them, extend what takes long, until nothing is owed."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, START, Scene, linking
from tests.unit.engine.wrapped import Acts, WrappedFrontier

from outrider.errors import ConnectError, DnsError, Phase, StoreError, TimedOut, TransportError
from outrider.model.event import CrawlPaused, CrawlResumed, SiteWentDown
from outrider.model.ledger import Leased, Settled, State
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState
from outrider.policy.network import NetworkLimits
from outrider.ports import Clock, Frontier, Request, Response, Transport
from outrider.testing.site import Script, page


async def test_a_crawl_follows_its_links_and_ends() -> None:
    scene = Scene({f"{ROOT}/": linking("/a", "/b"), f"{ROOT}/a": linking("/b"), f"{ROOT}/b": linking("/")})

    await scene.crawl()

    census = await scene.memory.census()
    assert (census.fetched, census.discovered, census.leased) == (3, 3, 0)
    assert scene.asked == ["GET /robots.txt", "GET /", "GET /a", "GET /b"]
    assert (await scene.entry(f"{ROOT}/a")).state is State.FETCHED


async def test_a_stop_that_comes_before_a_visit_has_begun_gives_the_site_back() -> None:
    """Its task is cancelled before its first step, so that nothing in it ever runs."""
    scene = Scene({f"{ROOT}/": linking()})
    await scene.propose()
    held = scene.worker.held

    async def stop_at_once() -> None:
        while not scene.worker.held:  # noqa: ASYNC110 - the moment before its first step is what this is about
            await asyncio.sleep(0)
        scene.worker.stop()

    async with asyncio.timeout(5):
        await asyncio.gather(scene.worker.run(), stop_at_once())

    census = await scene.memory.census()
    assert (held, scene.worker.held, census.leased, census.pending) == (0, 0, 0, 1)


async def test_drain_finishes_what_is_under_way_and_gives_everything_back() -> None:
    scene = Scene({f"{ROOT}/": linking("/a", "/b")} | {f"{ROOT}/{name}": linking() for name in "ab"}, seconds=5.0)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.in_flight == 1 and len(scene.web.began) == 2)
        worker.drain()

    census = await scene.memory.census()
    assert (census.fetched, census.pending, census.leased) == (1, 2, 0)
    assert scene.asked == ["GET /robots.txt", "GET /"]


async def test_stop_gives_up_what_is_under_way_and_it_stays_owed() -> None:
    scene = Scene({f"{ROOT}/": linking("/a")}, seconds=5.0)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.in_flight == 1 and len(scene.web.began) == 2)
        worker.stop()

    census = await scene.memory.census()
    assert (census.fetched, census.pending, census.leased) == (0, 1, 0)
    assert (await scene.entry(f"{ROOT}/")).visits == 0


async def test_after_a_stop_the_site_keeps_its_pause() -> None:
    scene = Scene({f"{ROOT}/": linking("/a")}, seconds=5.0, delay=30)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.in_flight == 1)
        worker.stop()
        ended_at = scene.clock.now()

    async for sites in scene.memory.sites():
        assert [site.not_before >= ended_at + 29 for site in sites] == [True]


async def test_a_lease_is_extended_for_as_long_as_it_is_needed() -> None:
    scene = Scene({f"{ROOT}/": linking("/a"), f"{ROOT}/a": linking()}, seconds=400.0)

    await scene.crawl()

    census = await scene.memory.census()
    assert (census.fetched, census.stale) == (2, 0)
    assert scene.asked == ["GET /robots.txt", "GET /", "GET /a"]


async def test_who_has_lost_a_site_drops_it_at_once() -> None:
    """Another has it by now: the request that is under way is given up, and nothing of it is settled."""
    acts = Acts()
    other = Scene({f"{ROOT}/": linking()})
    late = Scene(
        {f"{ROOT}/": linking()}, clock=other.clock, frontier=WrappedFrontier(other.memory, acts), seconds=500.0
    )
    await other.propose()

    async with late.running() as worker:
        await other.until(lambda: worker.in_flight == 1)
        acts.away = {"extend": 1_000, "lease": 1_000}
        async with other.running():
            await other.until(lambda: len(other.web.began) > 0)
            acts.away = {}
            await other.until(lambda: not worker.held)
            await other.until_finished()

    assert late.web.inside["example.com"] == 0
    assert (await other.memory.census()).fetched == 1
    assert late.seen[-1].haul is None


async def test_a_worker_with_nothing_to_do_says_until_when() -> None:
    scene = Scene({f"{ROOT}/": page("", 500)}, server_error_retries=0, revisit_backoff=60)
    await scene.propose()

    async with scene.running() as worker:
        assert not worker.idle
        await scene.until(lambda: worker.idle)
        entry = await scene.entry(f"{ROOT}/")
        assert entry.task is not None
        assert worker.idle_until == pytest.approx(entry.task.due_at)
        await scene.until_finished()
        await scene.until(lambda: worker.idle and worker.idle_until is None)


async def test_a_worker_that_is_short_of_memory_goes_on_with_little_at_a_time() -> None:
    """What a process once had it seldom gives back: a crawl that waited for that would never end."""
    hosts = [f"http://site{number}.test/" for number in range(40)]
    scene = Scene({host: linking() for host in hosts}, hosts, seconds=1.0)
    scene.worker.memory_is_short = True
    most = 0

    await scene.propose()
    async with scene.running() as worker:
        while not (await scene.memory.census()).is_finished:
            most = max(most, worker.held)
            await scene.clock.sleep(0.1)

    assert 0 < most <= 8
    assert (await scene.memory.census()).fetched == 40


async def test_no_more_sites_are_held_than_allowed() -> None:
    hosts = [f"http://site{number}.test/" for number in range(10)]
    scene = Scene({host: linking() for host in hosts}, hosts, seconds=1.0, concurrency=2)
    await scene.propose()
    most = 0

    async with scene.running() as worker:
        while not (await scene.memory.census()).is_finished:
            most = max(most, worker.held)
            await scene.clock.sleep(0.1)

    assert most == 2


async def test_it_says_when_there_is_nothing_left_to_do() -> None:
    scene = Scene({f"{ROOT}/": linking("/a"), f"{ROOT}/a": linking()})
    pages: list[int] = []
    scene.worker.fell_idle = lambda: pages.append(scene.worker.counts.pages)

    await scene.crawl()

    assert pages == [2]


async def test_a_frontier_that_is_away_pauses_the_crawl_and_is_told() -> None:
    acts = Acts()
    scene = Scene({f"{ROOT}/": linking()})
    scene.stores = replace(scene.stores, frontier=WrappedFrontier(scene.memory, acts))
    acts.away = {"lease": 2}
    await scene.propose()

    async with scene.running(scene.another()) as worker:
        await scene.until(lambda: worker.paused != "")
        await scene.until_finished()

    assert worker.paused == ""
    assert [event.cause for event in scene.told(CrawlPaused)] == ["a store is away: lease is away"]
    assert len(scene.told(CrawlResumed)) == 1


async def test_a_frontier_that_is_broken_ends_the_worker() -> None:
    acts = Acts()
    scene = Scene({f"{ROOT}/": linking()})
    scene.stores = replace(scene.stores, frontier=WrappedFrontier(scene.memory, acts))
    acts.broken = {"lease"}

    with pytest.raises(StoreError, match="lease is broken"):
        await scene.another().run()


class SlowFrontier(WrappedFrontier):
    """As far away as a server: what it answers is a tenth of a second old."""

    def __init__(self, inner: Frontier, clock: Clock) -> None:
        super().__init__(inner, Acts())
        self._clock = clock

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        leased = await super().lease(sites=sites, tasks=tasks, seconds=seconds)
        await self._clock.sleep(0.1)
        return leased

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        await self._clock.sleep(0.02)
        return await super().settle(accounts)


async def test_a_site_that_is_given_back_while_we_ask_is_asked_for_at_once() -> None:
    """The answer is older than the news: napping on it would cost a quarter of a second for every lease."""
    paths = [f"/{number}" for number in range(20)]
    scene = Scene({f"{ROOT}{path}": page(path) for path in paths}, seconds=0.05)
    scene.stores = replace(scene.stores, frontier=SlowFrontier(scene.memory, scene.clock))
    scene.rules = replace(scene.rules, tasks=1)
    await scene.propose(*(ROOT + path for path in paths))

    async with scene.running(scene.another()):
        await scene.until(lambda: sum(item.task is not None for item in scene.seen) == 20)

    leases = sum(item.last for item in scene.seen)
    assert leases > 4
    assert scene.clock.now() - START < 20 * 0.05 + leases * 2 * 0.1 + 1.0


# our own network


def web_of(count: int, answer: Script) -> dict[str, Script]:
    """So many sites, all of which give this answer."""
    return {f"http://site{number}.test/{path}": answer for number in range(count) for path in ("", "robots.txt")}


def seeds_of(count: int) -> list[str]:
    return [f"http://site{number}.test/" for number in range(count)]


async def test_when_all_sites_fall_silent_it_is_our_network_and_nobody_is_blamed() -> None:
    """C4: a pause, and then everything as if nothing had been."""
    cable = Cable()
    scene = Scene({url: linking() for url in seeds_of(30)}, seeds_of(30), transport=cable.to, network_retries=0)
    cable.is_cut = True
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: "our own network" in worker.paused)
        await scene.until(lambda: worker.held == 0)
        asked = len(scene.web.began)
        await scene.until(lambda: len(scene.web.began) > asked)
        tried = len(scene.web.began) - asked
        blamed = [line async for lines in scene.memory.entries() for line in lines if line.state is State.WAITING]
        cable.is_cut = False
        await scene.until_finished()

    assert tried <= 3
    # Until it is known, each of the first ones has to be believed.
    assert len(blamed) < NetworkLimits().least_sites
    assert (await scene.memory.census()).fetched == 30
    assert not scene.told(SiteWentDown)
    assert len(scene.told(CrawlPaused)) == len(scene.told(CrawlResumed)) == 1


@pytest.mark.parametrize("answer", [ConnectError("closed", refused=True), DnsError("no such name", exists=False)])
async def test_refusals_and_names_that_do_not_exist_are_answers(answer: TransportError) -> None:
    """C4: somebody was reached, so it is not our cable."""
    scene = Scene(web_of(30, answer), seeds_of(30), give_up_probes=2, network_retries=0)

    await scene.crawl()

    assert not scene.told(CrawlPaused)
    assert sum((await scene.memory.census()).skipped.values()) == 30


async def test_sites_that_are_down_are_only_probed_while_our_network_is() -> None:
    """C4, C6: the probe says nothing of the site then, so neither its breaker nor its URLs are touched."""
    cable = Cable()
    scene = Scene({url: linking() for url in seeds_of(14)}, seeds_of(14), transport=cable.to)
    cable.is_cut = True
    await scene.propose()
    down = Breaker(BreakerState.OPEN, 5, openings=1, probe_at=START, down_since=START)
    async for sites in scene.memory.sites():
        await scene.memory.restore(sites=[replace(site, breaker=down) for site in sites])

    async with scene.running() as worker:
        await scene.until(lambda: "our own network" in worker.paused)
        asked = len(scene.web.began)
        await scene.until(lambda: len(scene.web.began) > asked + 4)
        methods = {request.method for _, request in scene.web.began}
        openings = [site.breaker.openings async for sites in scene.memory.sites() for site in sites]
        cable.is_cut = False
        await scene.until_finished()

    assert methods == {"HEAD"}
    assert sum(number == 1 for number in openings) >= 14 - NetworkLimits().least_sites + 1
    assert (await scene.memory.census()).fetched == 14


async def test_a_crawl_over_sites_that_are_all_dead_still_ends() -> None:
    scene = Scene(web_of(12, TimedOut("silence", Phase.CONNECT)), seeds_of(12), give_up_after=2_000, network_retries=0)

    await scene.crawl()

    assert scene.told(CrawlPaused)
    assert (await scene.memory.census()).skipped == {Reason.SITE_UNREACHABLE: 12}


class Cable:
    """Between us and the web: while it is cut, every connection times out."""

    def __init__(self) -> None:
        self.is_cut = False
        self._web: Transport | None = None

    def to(self, web: Transport) -> "Cable":
        self._web = web
        return self

    async def request(self, request: Request) -> Response:
        assert self._web is not None
        if self.is_cut:
            raise TimedOut("the cable is cut", Phase.CONNECT)
        return await self._web.request(request)


async def test_who_cannot_reach_the_lender_asks_nobody_once_the_lease_has_ended() -> None:
    """Neither with a new request, nor with one that is under way: another may ask the site from then on."""
    acts = Acts()
    pages = {f"{ROOT}/{name}": linking() for name in "abc"}
    held = Scene(pages, pages, delay=4)
    scene = Scene(
        pages,
        clock=held.clock,
        frontier=WrappedFrontier(held.memory, acts),
        seconds=8.0,
        delay=4,
        lease=30,
    )
    await held.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.in_flight == 1)
        acts.away = dict.fromkeys(("extend", "lease", "settle"), 1_000)
        ends_at = scene.clock.now() + 30
        await scene.until(lambda: not worker.held)
        stopped_at = scene.clock.now()
        await scene.until(lambda: scene.clock.now() > ends_at + 60)
        asked, inside = scene.asked, scene.web.inside["example.com"]
        acts.away = {}
        await held.until_finished()

    assert stopped_at == pytest.approx(ends_at, abs=1.1)
    assert (asked, inside) == (["GET /robots.txt", "GET /a", "GET /b"], 0)
    assert (await held.memory.census()).fetched == 3
