"""What an engine does by its own rules is clean, whatever the web does to it; and the report says what was judged."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, Scene, linking

from outrider.errors import ConnectError, ConnectionLost
from outrider.model.asked import Asked
from outrider.model.event import SiteOrdered
from outrider.model.record import Record
from outrider.ops.audit import Rule, Sources, audit
from outrider.ops.audit.orders import Orders
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.site import Script, page

ROBOTS = f"{ROOT}/robots.txt"
SLOWLY = page("User-agent: *\nDisallow: /no\nCrawl-delay: 3", content_type="text/plain")
TIRED = page(status=429, retry_after="20")
WEARY = page(status=503, retry_after="7")
DOWN = ConnectError("nobody listens")
PATHS = tuple(f"/{n}" for n in range(8))
FAN: Mapping[str, Script] = {f"{ROOT}/": linking(*PATHS, "/no")} | {ROOT + path: page(path) for path in (*PATHS, "/no")}
WEBS: dict[str, Mapping[str, Script]] = {
    "plain": FAN,
    "crawl-delay": {**FAN, ROBOTS: SLOWLY},
    "429": {**FAN, f"{ROOT}/1": [TIRED, TIRED, page()], f"{ROOT}/2": [WEARY, page()], f"{ROOT}/3": [TIRED, page()]},
    "429 of robots.txt": {**FAN, ROBOTS: [TIRED, page(status=404)]},
    "outage": {
        **FAN,
        **{ROOT + path: [DOWN, page()] for path in PATHS},
        f"HEAD {ROOT}/": [DOWN, page(status=429), page(status=405), page()],
    },
    "hops and tries": {
        **FAN,
        f"{ROOT}/1": page(b"", 301, location="/2"),
        f"{ROOT}/3": [ConnectionLost("gone"), page(status=500), page()],
        f"{ROOT}/4": page(b"", 302, location="http://www.example.com/"),
        "http://www.example.com/": page(),
        "http://www.example.com/robots.txt": SLOWLY,
    },
}
WAYS: dict[str, dict[str, object]] = {
    "politely": {"delay": 2},
    "at once": {"delay": 2, "site_concurrency": 3},
    "in bursts": {"delay": 2, "burst": 3},
    "in bursts at once": {"delay": 2, "burst": 3, "site_concurrency": 3},
    "without a pause": {"delay": 0},
    "for the status": {"delay": 1, "robots_blocked": "status"},
    "whatever robots.txt says": {"delay": 1, "respect_robots": False},
    "without waiting for robots.txt": {"delay": 1, "robots_unreachable": "allow"},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("web", WEBS)
async def test_what_the_engine_asks_is_clean(web: str, way: str) -> None:
    scene = Scene(WEBS[web], (f"{ROOT}/",), seconds=0.3, **{"breaker_threshold": 3, **WAYS[way]})  # type: ignore[arg-type]  # settings alone

    await scene.crawl()

    report = await audit(Sources(scene.kept, await scene.memory.census()))
    assert [(one.rule, one.url, one.evidence) for one in report.examples] == []
    assert report.clean
    assert report.requests == len(scene.asked)


async def test_the_smallest_pause_of_a_site_is_shown_beside_what_was_due() -> None:
    scene = Scene({**FAN, ROBOTS: SLOWLY}, seconds=0.5, delay=1)

    await scene.crawl()

    (line,) = (await audit(Sources(scene.kept))).sites
    assert (line.site, line.requests, line.smallest, line.allowed) == ("example.com", 10, 3.0, 3.0)


async def test_requests_of_several_workers_are_judged_together() -> None:
    """Each of them was patient; the site was asked twice as often all the same."""
    records = MemoryRecords()
    for late in (0.0, 1.0):
        scene = Scene(FAN, seconds=0.5, delay=2)
        await scene.crawl()
        requests = [one async for batch in scene.kept.requests() for one in batch]
        manners = tuple((await scene.kept.manners()).values())
        robots = tuple([one async for batch in scene.kept.robots() for one in batch])
        moved = tuple(_later(one, late) for one in requests)
        await records.write([Record(requests=moved, robots=robots, manners=manners)])

    report = await audit(Sources(records))

    assert not report.clean
    assert {one.rule for one in report.examples} == {Rule.GAP}


async def test_records_without_requests_are_told_to_be_unjudged() -> None:
    report = await audit(Sources(MemoryRecords()))

    assert report.clean
    assert (report.requests, report.sites) == (0, ())
    assert {finding.name for finding in report.rules} == set()
    assert report.skipped == (
        "no requests are on record",
        "no settings are on record: limits cannot be judged",
        "the frontier was not named: the ledger was not looked at",
    )


def test_an_order_counts_from_its_moment_with_a_grace() -> None:
    orders = Orders(
        [
            SiteOrdered(at=100.0, site="a.org", delay=5.0),
            SiteOrdered(at=200.0, site="a.org", paused=True),
            SiteOrdered(at=300.0, site="a.org"),
        ]
    )

    assert [orders.delay("a.org", at, 1.0) for at in (50.0, 105.0, 150.0, 250.0, 400.0)] == [1.0, 1.0, 5.0, 1.0, 1.0]
    assert [orders.silence("a.org", at) is not None for at in (150.0, 205.0, 250.0, 295.0, 400.0)] == [
        *(False, False, True, False, False)
    ]
    assert orders.delay("b.org", 150.0, 1.0) == 1.0
    assert orders.silence("b.org", 250.0) is None


def _later(asked: Asked, seconds: float) -> Asked:
    return replace(
        asked, at=asked.at + seconds, not_before=asked.not_before + seconds, ended_at=asked.ended_at + seconds
    )
