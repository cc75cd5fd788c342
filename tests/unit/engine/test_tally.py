"""What a worker counts is what happened, seen in whole small crawls."""

from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, Scene, linking
from tests.unit.engine.wrapped import Acts, WrappedFrontier

from outrider.errors import ConnectError
from outrider.model.progress import WorstBreaker
from outrider.model.reason import Reason
from outrider.ports import Response
from outrider.testing.site import Script, page

PATHS = ("/a", "/b", "/c", "/d", "/e", "/f")
ROBOTS = Response(200, (("content-type", "text/plain"),), b"User-agent: *\nDisallow: /private\n")


async def test_pages_refusals_and_dead_letters_are_counted_apart() -> None:
    """S4-46"""
    web = {
        f"{ROOT}/robots.txt": ROBOTS,
        f"{ROOT}/": linking("/a", "/private", "/gone"),
        f"{ROOT}/a": page("x" * 5_000),
        f"{ROOT}/gone": page(status=404),
    }
    scene = Scene(web, seconds=0.3)

    await scene.crawl()

    counts = scene.worker.counts
    assert (counts.pages, counts.disallowed, counts.dead, counts.requeued) == (2, 1, 1, 0)
    assert counts.errors == {Reason.HTTP_404: 1, Reason.ROBOTS_DISALLOWED: 1}
    assert counts.dead == sum((await scene.memory.census()).dead.values())


async def test_time_and_size_are_measured_of_what_was_asked_for() -> None:
    """S4-49: a URL that robots.txt forbids took no time at a site, and would only blur the picture."""
    web = {f"{ROOT}/robots.txt": ROBOTS, f"{ROOT}/": linking("/a", "/private"), f"{ROOT}/a": page("x" * 5_000)}
    scene = Scene(web, seconds=0.3)

    await scene.crawl()

    counts = scene.worker.counts
    assert counts.seconds.count == counts.sizes.count == counts.pages == 2
    assert counts.sizes.total >= 5_000
    assert counts.seconds.total >= 0.6


async def test_an_outage_is_counted_from_the_first_failure_to_the_recovery() -> None:
    """S4-46 to S4-48, S4-26: five go back, the breaker opens, a probe fails, the next one closes it."""
    down = ConnectError("refused")
    seeds = [f"{ROOT}{path}" for path in PATHS]
    table: dict[str, Script] = {url: [down, page()] for url in seeds[:5]}
    table |= {seeds[5]: page(), f"{ROOT}/robots.txt": Response(404, (), b""), f"HEAD {ROOT}/": [down, page()]}
    scene = Scene(table, seeds, profile="service", delay=0)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.broken == 1)
        opened = worker.breaker
        await scene.until(lambda: worker.counts.probes_failed == 1)
        again = worker.breaker
        await scene.until_finished()

    counts = worker.counts
    assert (counts.requeued, counts.dead, counts.pages) == (5, 0, 6)
    assert (counts.opened, counts.closed, counts.probes_failed, counts.probes_alive) == (2, 1, 1, 1)
    assert (opened, again) == (WorstBreaker(30.0, 5, is_open=True), WorstBreaker(60.0, 6, is_open=True))
    assert (worker.broken, worker.breaker) == (0, WorstBreaker())


async def test_a_site_that_is_just_being_probed_is_half_open() -> None:
    """S4-48"""
    down = ConnectError("refused")
    seeds = [f"{ROOT}{path}" for path in PATHS]
    table = dict.fromkeys(seeds, down) | {f"HEAD {ROOT}/": page(), f"{ROOT}/robots.txt": Response(404, (), b"")}
    scene = Scene(table, seeds, profile="service", delay=0, seconds=2.0)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.breaker.state == 1)
        await scene.until(lambda: worker.breaker.state == 2)
        worker.stop()


async def test_a_lease_that_went_to_another_is_counted_once() -> None:
    """However many of its visits are refused."""
    acts = Acts()
    other = Scene({f"{ROOT}/": linking()})
    late = Scene(
        {f"{ROOT}/": linking()}, clock=other.clock, frontier=WrappedFrontier(other.memory, acts), seconds=500.0
    )
    await other.propose()

    async with late.running() as worker:
        await other.until(lambda: worker.in_flight == 1)
        acts.away = {"extend": 1_000, "lease": 1_000, "settle": 1_000}
        async with other.running():
            await other.until(lambda: len(other.web.began) > 0)
            acts.away = {}
            await other.until(lambda: not worker.held)
            await other.until_finished()

    assert worker.counts.lost_leases == 1
    assert other.worker.counts.lost_leases == 0


async def test_a_site_that_is_lent_as_down_is_known_to_be_down_at_once() -> None:
    """Another worker opened its breaker: whoever probes it knows of the trouble before the answer is there."""
    down = ConnectError("refused")
    seeds = [f"{ROOT}{path}" for path in PATHS]
    table = dict.fromkeys([*seeds, f"HEAD {ROOT}/"], down) | {f"{ROOT}/robots.txt": Response(404, (), b"")}
    scene = Scene(table, seeds, profile="service", delay=0, seconds=1.0)
    await scene.propose()

    async with scene.running():
        await scene.until(lambda: scene.worker.broken == 1)
    other = scene.another()
    async with scene.running(other):
        await scene.until(lambda: other.held == 1)

        assert (other.broken, other.counts.opened) == (1, 0)
        assert replace(other.breaker, is_probed=False) == scene.worker.breaker
