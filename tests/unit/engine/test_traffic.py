"""Every request is on record, whatever became of its visit, with what was promised when it was sent."""

from collections.abc import Sequence

import pytest
from tests.unit.engine.crawling import ROOT, START, Scene, linking

from outrider.errors import ConnectError, ConnectionLost
from outrider.model.asked import Asked, AskedFor
from outrider.model.record import Record
from outrider.model.site import BreakerState
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.site import Script, page

ROBOTS = f"{ROOT}/robots.txt"


async def on_record(records: MemoryRecords) -> list[Asked]:
    return sorted([one async for batch in records.requests() for one in batch], key=lambda one: (one.at, one.turn))


async def test_pages_hops_retries_and_robots_txt_are_on_record_as_they_were_asked() -> None:
    web: dict[str, Script] = {
        ROBOTS: page("User-agent: *\nDisallow: /no\nCrawl-delay: 2", content_type="text/plain"),
        f"{ROOT}/": linking("/old", "/no", "/late"),
        f"{ROOT}/old": page(b"", 301, location="/new"),
        f"{ROOT}/new": page(),
        f"{ROOT}/late": [ConnectionLost("gone"), page()],
    }
    scene = Scene(web, seconds=0.5, delay=1, robots_blocked="status")

    await scene.crawl()

    kept = await on_record(scene.kept)
    assert [f"{one.method} {one.url.removeprefix(ROOT)}" for one in kept] == scene.asked
    assert [one.at for one in kept] == [at for at, _ in scene.web.began]
    assert {one.kind: one.url for one in kept if one.kind is not AskedFor.PAGE} == {
        AskedFor.ROBOTS: ROBOTS,
        AskedFor.STATUS: f"{ROOT}/no",
    }
    assert [one.interval for one in kept] == [1.0] + [2.0] * (len(kept) - 1)
    assert all(one.not_before <= one.at < one.ended_at for one in kept)
    assert all(one.breaker is BreakerState.CLOSED for one in kept)
    names = {page.url: page.fetch_id for page in [finished.record.page for finished in scene.seen if finished.record]}  # type: ignore[union-attr]
    assert {one.visit for one in kept if one.url.endswith("/new")} == {names[f"{ROOT}/old"]}
    assert {one.manners for one in kept} == set(await scene.kept.manners())


async def test_the_body_of_each_robots_txt_is_on_record() -> None:
    scene = Scene({ROBOTS: page("Disallow:", content_type="text/plain"), f"{ROOT}/": page()})

    await scene.crawl()

    ((heard,),) = [batch async for batch in scene.kept.robots()]
    assert (heard.site, heard.file.origin, heard.file.body) == ("example.com", ROOT, b"Disallow:")
    assert heard.file.fetched_at == START


async def test_probes_are_on_record_with_the_breaker_as_it_was() -> None:
    web: dict[str, Script] = {
        f"{ROOT}/": linking("/1", "/2"),
        f"{ROOT}/1": [ConnectError("down"), page()],
        f"{ROOT}/2": [ConnectError("down"), page()],
        f"HEAD {ROOT}/": [ConnectError("down"), page()],
    }
    scene = Scene(web, breaker_threshold=2, network_retries=0)

    await scene.crawl()

    probes = [one for one in await on_record(scene.kept) if one.kind is AskedFor.PROBE]
    assert [(one.method, one.breaker, one.openings) for one in probes] == [
        ("HEAD", BreakerState.HALF_OPEN, 1),
        ("HEAD", BreakerState.HALF_OPEN, 2),
    ]
    assert all(one.probe_at is not None and one.probe_at <= one.not_before for one in probes)


async def test_a_request_that_was_given_up_is_on_record_all_the_same() -> None:
    """Its visit stays owed, and leaves no page; but the site was asked."""
    scene = Scene({f"{ROOT}/": page()}, seconds=10.0, respect_robots=False)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: len(scene.web.began) == 1)
        worker.stop()

    (asked,) = await on_record(scene.kept)
    assert (asked.url, asked.status, asked.reason) == (f"{ROOT}/", None, None)
    assert (await scene.kept.tally()).pages == {}


class Witness(MemoryRecords):
    """Looks, whenever it is told of a site that asked for silence, until when the frontier keeps it."""

    def __init__(self) -> None:
        super().__init__()
        self.frontier: MemoryFrontier | None = None
        self.seen: list[tuple[Asked, float]] = []

    async def write(self, records: Sequence[Record]) -> None:
        assert self.frontier is not None
        ((site,),) = [batch async for batch in self.frontier.sites()]
        asked = [one for record in records for one in record.requests if one.asked_to_wait]
        self.seen += [(one, site.not_before) for one in asked]
        await super().write(records)


@pytest.mark.parametrize("path", ["/slow", "/robots.txt"])
async def test_silence_is_kept_before_it_is_on_record_that_it_was_asked_for(path: str) -> None:
    """Whoever is killed between the two would leave the site to others that do not know what it asked for."""
    web = {f"{ROOT}/": linking("/slow"), f"{ROOT}/slow": page(), ROBOTS: page(status=404)}
    witness = Witness()
    scene = Scene(web | {ROOT + path: [page(status=429, retry_after="50"), page()]}, records=witness)
    witness.frontier = scene.memory

    await scene.crawl()

    ((asked, silent_until),) = witness.seen
    assert asked.url == ROOT + path
    assert silent_until >= asked.ended_at + 50.0


async def test_a_robots_txt_that_asks_for_silence_gets_it_also_when_pages_need_not_wait_for_it() -> None:
    """Under `robots_unreachable=allow` no outcome tells that the site asked us to wait (C17)."""
    web = {ROBOTS: page(status=429, retry_after="50"), f"{ROOT}/": page()}
    scene = Scene(web, robots_unreachable="allow", rate_limit_retries=0)

    await scene.crawl()

    robots, first = await on_record(scene.kept)
    assert (robots.status, first.url) == (429, f"{ROOT}/")
    assert first.at >= robots.ended_at + 50.0
