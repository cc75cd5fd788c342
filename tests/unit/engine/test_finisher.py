"""Acknowledge last: body → records → links → events → settle."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.unit.engine.crawling import ROOT, START, Scene, linking
from tests.unit.engine.wrapped import Acts, WrappedContents, WrappedEvents, WrappedFrontier, WrappedRecords

from outrider.engine.finisher import ENOUGH, GATHER, Finished, Finisher, Outcome, Stores
from outrider.errors import StoreError, StoreUnavailable
from outrider.model.event import BugFound, CrawlPaused, CrawlResumed, PageFetched
from outrider.model.lease import Lease
from outrider.model.record import PageStatus
from outrider.model.site import Site
from outrider.model.url import Url
from outrider.stores.memory.contents import MemoryContents
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.site import page

WEB = {f"{ROOT}/": linking("/a", "/b"), f"{ROOT}/a": linking("/"), f"{ROOT}/b": page("b")}
ORDER = ["put", "write", "add", "publish", "settle", "confirm"]
WRITING = set(ORDER)


def told_of(acts: Acts) -> Scene:
    """A crawl whose stores tell what was asked of them."""
    scene = Scene(WEB)
    records = WrappedRecords(acts)
    scene.kept = records
    scene.stores = Stores(
        WrappedFrontier(scene.memory, acts),
        WrappedEvents(scene.sink, acts),
        records,
        WrappedContents(scene.bodies, acts),
    )
    scene.worker = scene.another()
    return scene


async def test_each_step_is_done_before_the_next_and_settling_is_the_last_but_one() -> None:
    """DESIGN 1: body, records, links, events, settle; only then is the body confirmed."""
    acts = Acts()
    scene = told_of(acts)

    await scene.crawl()

    writing = [act for act in acts.done if act in WRITING]
    assert writing[:6] == ORDER
    for batch in " ".join(writing).split("put")[1:]:
        steps = batch.split()
        assert steps == sorted(steps, key=ORDER.index) or "settle" in steps[:-1]


@pytest.mark.parametrize("act", ORDER)
async def test_a_store_that_is_away_is_waited_for_and_nothing_is_lost_or_doubled(act: str) -> None:
    acts = Acts()
    scene = told_of(acts)
    acts.away = {act: 9}

    await scene.crawl()

    assert (await scene.memory.census()).fetched == 3
    assert (await scene.kept.tally()).pages == {PageStatus.FETCHED: 3}
    assert sorted(event.url for event in scene.told(PageFetched)) == sorted(WEB)
    assert len(scene.told(CrawlPaused)) == len(scene.told(CrawlResumed)) == 1
    assert sorted(scene.asked[1:]) == ["GET /", "GET /a", "GET /b"]


@pytest.mark.parametrize("act", ["write", "add", "settle"])
async def test_an_act_that_happened_although_it_seemed_not_to_is_harmless(act: str) -> None:
    """After `StoreUnavailable` it may have happened or not: asking again is always safe."""
    acts = Acts()
    scene = told_of(acts)
    acts.late = {act: 2}

    await scene.crawl()

    census = await scene.memory.census()
    assert (census.fetched, census.discovered, census.adds_up) == (3, 3, True)
    assert (await scene.kept.tally()).pages == {PageStatus.FETCHED: 3}


@pytest.mark.parametrize("act", ORDER[:-1])
async def test_a_store_that_is_broken_ends_it_all_and_no_later_step_was_done(act: str) -> None:
    acts = Acts()
    scene = told_of(acts)
    acts.broken = {act}
    await scene.propose()

    with pytest.raises(StoreError, match=f"{act} is broken"):
        await scene.worker.run()

    assert [done for done in acts.done if done in WRITING] == ORDER[: ORDER.index(act)]
    census = await scene.memory.census()
    assert (census.fetched, census.pending > 0) == (0, True)
    # Other workers rely on what stands there, and would leave out links that nobody has.
    assert any(scene.common.table.tolist()[2:]) == (act in {"publish", "settle"})


# by itself


class Alone:
    """A finisher with nobody behind it: items are made by hand."""

    def __init__(self, most_bytes: int = 100) -> None:
        scene = Scene({})
        self.clock = scene.clock
        self.acts = Acts()
        self.sink = MemoryEvents()
        self.frontier: MemoryFrontier = scene.memory
        stores = Stores(
            WrappedFrontier(scene.memory, self.acts), self.sink, WrappedRecords(self.acts), MemoryContents()
        )
        self.lost: list[Lease] = []
        self.batches: list[tuple[float, int]] = []
        self.paused: list[str | None] = []
        self.finisher = Finisher(
            stores,
            scene.gate,
            scene.clock,
            "us",
            most_bytes=most_bytes,
            written=self._written,
            store_away=self.paused.append,
        )

    def _written(self, batch: Sequence[Finished], outcome: Outcome) -> None:
        self.lost += outcome.lost
        self.batches.append((self.clock.now() - START, len(batch)))


def item(size: int = 0, token: int = 1, *, last: bool = False) -> Finished:
    site = Site("example.com")
    return Finished(Lease(site, (), token, 0.0, 60.0), site, size=size, last=last)


async def test_nobody_starts_a_visit_while_too_many_bytes_wait() -> None:
    alone = Alone(most_bytes=100)
    finisher = alone.finisher
    await finisher.room()

    finisher.finish(item(60))
    await finisher.room()
    finisher.finish(item(60))
    waiting = asyncio.ensure_future(finisher.room())
    await asyncio.sleep(0)
    was_done = waiting.done()
    finisher.close()
    await finisher.run()

    assert not was_done
    await waiting


async def test_that_there_was_too_much_is_told_also_when_it_has_been_written_since() -> None:
    alone = Alone(most_bytes=100)
    finisher = alone.finisher

    finisher.finish(item(100))
    enough = finisher.was_full()
    finisher.finish(item(1))
    too_much, still = finisher.was_full(), finisher.was_full()
    finisher.finish(item(1))
    finisher.close()
    await finisher.run()
    meanwhile, at_last = finisher.was_full(), finisher.was_full()

    assert (enough, too_much, still, meanwhile, at_last) == (False, True, True, True, False)


async def test_a_lease_that_was_lost_is_told_once_a_batch() -> None:
    alone = Alone()

    alone.finisher.finish(item(token=7))
    alone.finisher.finish(item(token=7, last=True))
    alone.finisher.close()
    await alone.finisher.run()

    assert [lease.token for lease in alone.lost] == [7]
    assert (await alone.frontier.census()).stale == 1


async def test_events_without_a_visit_are_published_too() -> None:
    alone = Alone()
    bug = BugFound(at=1.0, what="x", error="y", url=Url(f"{ROOT}/"))

    alone.finisher.tell(bug)
    alone.finisher.close()
    await alone.finisher.run()

    assert list(alone.sink.events) == [bug]


async def test_who_is_about_to_end_does_not_wait_for_a_store_for_ever() -> None:
    alone = Alone()
    alone.acts.away = {"settle": 1_000}

    alone.finisher.finish(item())
    alone.finisher.close()

    with pytest.raises(StoreUnavailable):
        await alone.finisher.run()
    assert len(alone.paused) == 6


async def test_visits_wait_for_each_other_to_be_written_at_once_but_not_for_long() -> None:
    alone = Alone(most_bytes=1_000)
    writing = asyncio.ensure_future(alone.finisher.run())

    for _ in range(3):
        alone.finisher.finish(item())
        await alone.clock.sleep(GATHER / 4)
    await alone.clock.sleep(2 * GATHER)
    alone.finisher.finish(item())
    await alone.clock.sleep(2 * GATHER)
    alone.finisher.close()
    await writing

    assert [size for _, size in alone.batches[:2]] == [3, 1]
    assert [at for at, _ in alone.batches[:2]] == pytest.approx([GATHER, GATHER * 15 / 4])


@pytest.mark.parametrize("urgent", [[item(last=True)], [item()] * ENOUGH, [item(200)]])
async def test_nobody_waits_where_a_site_is_given_back_or_there_is_enough_to_write(urgent: list[Finished]) -> None:
    alone = Alone(most_bytes=100)
    writing = asyncio.ensure_future(alone.finisher.run())

    alone.finisher.finish(item())
    for one in urgent:
        alone.finisher.finish(one)
    for _ in range(100):
        await asyncio.sleep(0)

    assert alone.batches == [(0.0, 1 + len(urgent))]
    alone.finisher.close()
    await writing


async def test_the_last_state_of_a_site_is_what_is_written_back() -> None:
    scene = Scene({})
    await scene.propose()
    (lease,) = (await scene.memory.lease(sites=1, tasks=1, seconds=60.0)).leases
    finisher = Finisher(
        scene.stores,
        scene.gate,
        scene.clock,
        "us",
        most_bytes=100,
        written=lambda _batch, _outcome: None,
        store_away=lambda _why: None,
    )

    for fetched in (1, 2):
        finisher.finish(Finished(lease, replace(lease.site, fetched=fetched), last=fetched == 2))
    finisher.close()
    await finisher.run()

    assert [site.fetched async for sites in scene.memory.sites() for site in sites] == [2]
    assert (await scene.memory.census()).leased == 0


async def test_who_is_to_stop_now_gives_its_sites_back_although_a_store_is_away() -> None:
    """What could not be written stays owed, and no other has to wait until a lease runs out."""
    acts = Acts()
    scene = told_of(acts)
    acts.away = {"publish": 1_000}
    await scene.propose()
    working = asyncio.ensure_future(scene.worker.run())
    await scene.until(lambda: scene.worker.paused != "")

    scene.worker.stop()
    with pytest.raises(StoreUnavailable):
        await working

    census = await scene.memory.census()
    assert (census.leased, census.fetched, census.pending) == (0, 0, census.discovered)
    assert census.discovered > 0
