"""Where the seconds of the sites that are held go: no second is missing, and none is counted twice."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, Scene, linking

from outrider.engine import worker as workers
from outrider.engine.budget import Permits
from outrider.engine.crew import Crew
from outrider.errors import ConnectError, ConnectionLost
from outrider.model.activity import Activity
from outrider.model.outcome import Timing
from outrider.ports import Response
from outrider.testing.site import Script, page

OTHER = "http://other.test"
TIMING = Timing(dns=0.0625, connect=0.125, tls=0.1875, first_byte=0.375, total=0.5)


class Watched(Crew):
    """Notes, by itself, how long each of its visitors was there."""

    lived: float = 0.0

    async def _work(self, stay: object) -> None:
        began = self._tools.clock.now()
        try:
            await super()._work(stay)  # type: ignore[arg-type]  # the stay is the crew's own business
        finally:
            Watched.lived += self._tools.clock.now() - began


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    monkeypatch.setattr(Watched, "lived", 0.0)
    monkeypatch.setattr(workers, "Crew", Watched)
    return lambda: Watched.lived


def timed(response: Response) -> Response:
    return replace(response, timing=TIMING)


async def test_the_parts_are_exactly_the_whole(watched: Callable[[], float]) -> None:
    """Three requests of half a second, and one pause of two while the site was held; the other was spent elsewhere."""
    web: dict[str, Script] = {
        f"{ROOT}/robots.txt": timed(page(b"", 404)),
        f"{ROOT}/": timed(linking("/1")),
        f"{ROOT}/1": timed(page()),
    }
    scene = Scene(web, seconds=0.5, delay=2)

    await scene.crawl()

    activity = scene.worker.counts.activity
    assert activity == {
        Activity.TURN: 2.0,
        Activity.RESOLVING: 3 * 0.0625,
        Activity.CONNECTING: 3 * 0.0625,
        Activity.TLS: 3 * 0.0625,
        Activity.FIRST_BYTE: 3 * 0.1875,
        Activity.RECEIVING: 3 * 0.125,
    }
    assert sum(activity.values()) == watched() == 3.5


async def test_several_visitors_of_one_site_and_several_sites_add_up(watched: Callable[[], float]) -> None:
    """Pauses, retries, silences, failures, redirects, robots.txt and probes included."""
    paths = tuple(f"/{number}" for number in range(9))
    web: dict[str, Script] = {
        f"{ROOT}/": timed(linking(*paths, f"{OTHER}/", "/moved", "/late", "/busy")),
        f"{ROOT}/moved": timed(page(b"", 301, location="/0")),
        f"{ROOT}/late": [ConnectionLost("gone"), timed(page())],
        f"{ROOT}/busy": [timed(page(b"", 429, retry_after="3")), timed(page())],
        f"{OTHER}/": [ConnectError("down"), ConnectError("down"), timed(linking("/x", "/y"))],
        f"{OTHER}/x": timed(page()),
        f"{OTHER}/y": timed(page()),
        f"HEAD {OTHER}/": [ConnectError("down"), timed(page())],
        **{ROOT + path: timed(page(path)) for path in paths},
    }
    scene = Scene(web, seconds=0.5, delay=0.25, site_concurrency=3, breaker_threshold=1, network_retries=0)

    await scene.crawl()

    activity = scene.worker.counts.activity
    assert sum(activity.values()) == pytest.approx(watched(), rel=1e-9)
    assert {Activity.TURN, Activity.PROBING, Activity.FIRST_BYTE, Activity.CONNECTING} <= set(activity)
    assert all(seconds > 0 for seconds in activity.values())


async def test_waiting_for_permits_is_no_politeness(watched: Callable[[], float]) -> None:
    permits = Permits(lambda: None)
    scene = Scene({f"{ROOT}/": timed(page())}, seconds=0.5, purse=permits)
    await scene.propose()

    async with scene.running():
        await scene.until(lambda: scene.worker.held == 1)
        await scene.clock.sleep(4.0)
        permits.receive(1)
        await scene.until_finished()

    activity = scene.worker.counts.activity
    assert activity[Activity.ROOM] == pytest.approx(4.0, abs=0.1)
    assert sum(activity.values()) == pytest.approx(watched(), rel=1e-9)


async def test_a_visitor_that_is_stopped_has_spent_its_time_too(watched: Callable[[], float]) -> None:
    scene = Scene({f"{ROOT}/": page()}, seconds=8.0)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: len(scene.web.began) == 1)
        await scene.clock.sleep(1.0)
        worker.stop()

    assert scene.worker.counts.activity == {Activity.OTHER: watched()}
    assert watched() > 0.0
