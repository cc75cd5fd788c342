"""One who watches over all workers: starts them again, shares out the limits, and knows when it is over."""

import asyncio
from collections.abc import Sequence

import pytest
from tests.unit.engine.crawling import ROOT, Scene, linking
from tests.unit.engine.watching import Puppet, Watch, watched

from outrider.engine.budget import Account, Limits
from outrider.engine.finish import Finish
from outrider.engine.inside import Inside
from outrider.engine.mates import Mate
from outrider.engine.messages import Broke, Channel, Done, Drain, Grant, Report, Stop
from outrider.errors import ConnectError, DnsError, OutriderError, StoreError, StoreUnavailable
from outrider.model.event import CrawlFinished, CrawlStarted, Event, WorkerVanished
from outrider.model.ledger import Census
from outrider.model.progress import Counts, WorstBreaker
from outrider.model.record import PageStatus, Tally
from outrider.ports import Response
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.site import page

WANTS = Report(Counts(), account=Account(wants=True))


def site_of(pages: int, host: str = "example.com") -> dict[str, Response]:
    """A root that leads to so many pages."""
    root = f"http://{host}"
    paths = [f"/{number}" for number in range(pages)]
    return {f"{root}/": linking(*paths)} | {root + path: page(path) for path in paths}


async def ended(watch: Watch) -> str | None:
    """Bounded, because what is tested here is often that it ends at all."""
    async with asyncio.timeout(30):
        return (await watch.supervisor.run()).finish


# how it ends


async def test_a_crawl_that_owes_nothing_is_finished() -> None:
    scene = Scene(site_of(5))
    await scene.propose()
    watch = watched(scene, workers=2)

    assert await ended(watch) == "finished"

    assert (await scene.memory.census()).fetched == 6
    assert [event.workers for event in scene.told(CrawlStarted)] == [2]
    assert [(event.finish, event.pages) for event in scene.told(CrawlFinished)] == [("finished", 6)]
    assert watch.shown[-1].counts.pages == 6


@pytest.mark.parametrize("workers", [1, 3])
async def test_max_pages_is_exact(workers: int) -> None:
    table = {url: script for host in "abcd" for url, script in site_of(8, f"{host}.test").items()}
    scene = Scene(table, [f"http://{host}.test/" for host in "abcd"], seconds=0.3)
    await scene.propose()

    assert await ended(watched(scene, workers=workers, limits=Limits(pages=13))) == "max_pages"

    assert (await scene.kept.tally()).pages == {PageStatus.FETCHED: 13}
    census = await scene.memory.census()
    assert (census.fetched, census.leased) == (13, 0)
    assert not census.is_finished


async def test_a_limit_that_is_not_reached_does_not_matter() -> None:
    scene = Scene(site_of(3))
    await scene.propose()

    assert await ended(watched(scene, limits=Limits(pages=50))) == "finished"

    assert (await scene.memory.census()).fetched == 4


async def test_a_limit_of_size_is_never_exceeded() -> None:
    table = {f"{ROOT}/": linking(*(f"/{n}" for n in range(20)))} | {f"{ROOT}/{n}": page("x" * 100) for n in range(20)}
    scene = Scene(table, max_body=500)
    await scene.propose()

    assert await ended(watched(scene, limits=Limits(bytes=1_500, body=500))) == "size_limit"

    assert 1_000 < (await scene.kept.tally()).bytes <= 1_500


async def test_the_time_limit_gives_up_what_is_under_way() -> None:
    scene = Scene(site_of(50), seconds=30.0)
    await scene.propose()

    assert await ended(watched(scene, seconds=100.0)) == "time_limit"

    census = await scene.memory.census()
    assert 0 < census.fetched < 10
    assert census.leased == 0


async def test_seeds_that_cannot_be_reached_end_a_new_crawl() -> None:
    scene = Scene({f"{ROOT}/": ConnectError("no"), f"{ROOT}/robots.txt": ConnectError("no")})
    await scene.propose()

    assert await ended(watched(scene)) == "seeds_unreachable"


async def test_a_crawl_that_looks_again_is_up_to_date_when_the_next_look_is_far() -> None:
    scene = Scene(site_of(2), recrawl=True)
    await scene.propose()

    assert await ended(watched(scene, recrawls=True)) == "up_to_date"

    census = await scene.memory.census()
    assert (census.waiting, census.pending) == (3, 0)


async def test_a_first_signal_drains_and_a_second_stops() -> None:
    scene = Scene({})
    puppet = Puppet()
    watch = watched(scene, spawn=lambda _: puppet)
    await scene.propose()
    running = asyncio.ensure_future(watch.supervisor.run())

    watch.supervisor.drain(Finish.INTERRUPTED)
    assert isinstance(await puppet.hears(), Drain)
    watch.supervisor.drain(Finish.TERMINATED)
    assert isinstance(await puppet.hears(), Stop)
    await puppet.says(Done())
    puppet.vanish()

    assert (await running).finish == "interrupted"


# what becomes of workers


async def test_a_worker_that_vanished_is_replaced_and_nothing_is_lost() -> None:
    scene = Scene(site_of(6), seconds=5.0)
    await scene.propose()
    watch = watched(scene)
    running = asyncio.ensure_future(watch.supervisor.run())
    await scene.until(lambda: len(scene.web.began) > 3)

    watch.mates[0].kill()

    async with asyncio.timeout(30):
        assert (await running).finish == "finished"
    assert len(watch.mates) == 2
    assert [event.worker for event in scene.told(WorkerVanished)] == [0]
    assert watch.shown[-1].deaths == 1
    census = await scene.memory.census()
    assert (census.fetched, census.discovered) == (7, 7)


async def test_a_worker_that_dies_never_makes_the_crawl_exceed_its_limit() -> None:
    scene = Scene(site_of(30), seconds=5.0)
    await scene.propose()
    watch = watched(scene, limits=Limits(pages=11))
    running = asyncio.ensure_future(watch.supervisor.run())
    for pages in (4, 7):
        await scene.until(lambda pages=pages: len(scene.site.asked) > pages)  # type: ignore[misc]
        watch.mates[-1].kill()

    async with asyncio.timeout(30):
        assert (await running).finish == "max_pages"

    assert (await scene.kept.tally()).pages == {PageStatus.FETCHED: 11}


async def test_workers_that_die_at_once_are_given_up() -> None:
    scene = Scene({})
    await scene.propose()

    def stillborn(_: int) -> Mate:
        puppet = Puppet()
        puppet.vanish()
        return puppet

    watch = watched(scene, spawn=stillborn)

    with pytest.raises(OutriderError, match="die as soon as they are started"):
        await ended(watch)

    assert len(watch.mates) == 11


async def test_what_breaks_a_worker_breaks_the_crawl_and_nobody_is_left_behind() -> None:
    scene = Scene({})
    await scene.propose()
    puppets = [Puppet(), Puppet()]
    watch = watched(scene, workers=2, spawn=lambda number: puppets[number])
    running = asyncio.ensure_future(watch.supervisor.run())

    await puppets[0].says(Broke("StoreError", "the disk is full"))

    with pytest.raises(StoreError, match="the disk is full"):
        await running
    assert all(puppet.was_killed for puppet in puppets)


async def test_a_worker_that_dies_while_the_crawl_ends_is_not_replaced() -> None:
    scene = Scene({}, seeds=())
    puppets = [Puppet(), Puppet(), Puppet()]
    watch = watched(scene, workers=2, spawn=lambda _: puppets[len(watch.mates)])
    running = asyncio.ensure_future(watch.supervisor.run())
    for puppet in puppets[:2]:
        assert isinstance(await puppet.hears(), Drain)

    puppets[0].vanish()
    await puppets[1].says(Done())
    puppets[1].vanish()

    async with asyncio.timeout(10):
        assert (await running).finish == "finished"
    assert len(watch.mates) == 2


async def test_a_watcher_that_is_cancelled_leaves_nobody_behind() -> None:
    scene = Scene({})
    await scene.propose()
    watch = watched(scene, workers=2, spawn=lambda _: Puppet())
    running = asyncio.ensure_future(watch.supervisor.run())
    await scene.until(lambda: len(watch.shown) > 0)

    running.cancel()
    await asyncio.wait([running])
    await scene.clock.sleep(1.0)

    assert len(watch.mates) == 2
    assert all(isinstance(mate, Puppet) and mate.was_killed for mate in watch.mates)


async def test_a_bug_of_a_worker_inside_is_the_programs_own_to_see() -> None:
    scene = Scene({})
    await scene.propose()

    async def work(_: Channel) -> None:
        raise LookupError("a bug")

    watch = watched(scene, spawn=lambda _: Inside(work))

    with pytest.raises(LookupError, match="a bug"):
        await ended(watch)


# sharing out


async def test_who_dies_while_the_record_is_counted_is_counted_again() -> None:
    """What it had written by then is not in that count, and was never accounted for."""
    scene = Scene({})
    await scene.propose()
    puppets = [Puppet(), Puppet(), Puppet()]
    counts = iter([0, 2, 2])

    async def tally() -> Tally:
        counted = Tally({PageStatus.FETCHED: next(counts)})
        puppets[1].vanish()
        await scene.until(lambda: len(watch.mates) == 3)
        return counted

    watch = watched(scene, workers=2, limits=Limits(pages=2), spawn=lambda _: puppets[len(watch.mates)], tally=tally)
    running = asyncio.ensure_future(watch.supervisor.run())
    await puppets[0].says(WANTS)

    told = await puppets[0].hears()
    for puppet in (puppets[0], puppets[2]):
        await puppet.says(Done())
        puppet.vanish()

    assert not isinstance(told, Grant)
    assert (await running).finish == "max_pages"


async def test_a_worker_that_is_gone_for_good_is_not_granted_anything() -> None:
    scene = Scene({})
    await scene.propose()
    puppets = [Puppet() for _ in range(2)]
    deaths = 0

    def spawn(number: int) -> Mate:
        nonlocal deaths
        if number == 0:
            return puppets[0]
        deaths += 1
        puppet = Puppet()
        if deaths > 1:
            puppet.vanish()
        else:
            puppets[1] = puppet
        return puppet

    async def tally() -> Tally:
        puppets[1].vanish()
        await scene.until(lambda: len(scene.told(WorkerVanished)) == 11)
        return Tally()

    watch = watched(scene, workers=2, limits=Limits(pages=10), spawn=spawn, tally=tally)
    running = asyncio.ensure_future(watch.supervisor.run())
    await puppets[1].says(WANTS)
    await puppets[0].says(WANTS)

    async with asyncio.timeout(10):
        granted = await puppets[0].hears()
    running.cancel()
    await asyncio.wait([running])

    assert isinstance(granted, Grant)


# stores that are away


class Shy:
    """Raises `StoreUnavailable` the first times that it is asked."""

    def __init__(self, times: int = 3) -> None:
        self._left = times

    def show_up(self) -> None:
        self._left -= 1
        if self._left >= 0:
            raise StoreUnavailable("away for a moment")


class ShyEvents(MemoryEvents, Shy):
    def __init__(self) -> None:
        MemoryEvents.__init__(self)
        Shy.__init__(self)

    async def publish(self, events: Sequence[Event]) -> None:
        self.show_up()
        await super().publish(events)


class ShyFrontier(MemoryFrontier):
    shy: Shy

    async def census(self) -> Census:
        self.shy.show_up()
        return await super().census()


async def test_a_store_that_is_away_does_not_end_the_crawl() -> None:
    scene = Scene(site_of(5))
    await scene.propose()
    shy = Shy()

    async def tally() -> Tally:
        shy.show_up()
        return await scene.kept.tally()

    events = ShyEvents()
    watch = watched(scene, limits=Limits(pages=4), tally=tally, events=events)

    assert await ended(watch) == "max_pages"

    assert [event.finish for event in events.events if isinstance(event, CrawlFinished)] == ["max_pages"]


async def test_what_a_crawl_waits_for_is_told_unless_nobody_can_say() -> None:
    """An idle crawl whose site is down: the pause is a minute, and the frontier is away when it is asked."""
    down, other = DnsError("no", exists=True), "http://example.net"
    scene = Scene(
        {f"{ROOT}/": down, f"{ROOT}/robots.txt": down, f"{other}/": linking()},
        [f"{ROOT}/", f"{other}/"],
        give_up_probes=1,
        respect_robots=False,
        network_retries=0,
    )
    await scene.propose()
    shy = Shy()

    async def waits_for() -> str:
        shy.show_up()
        return "example.com"

    watch = watched(scene, waits_for=waits_for, resumed=True)

    assert await ended(watch) == "finished"

    assert "example.com" in {progress.waiting_for for progress in watch.shown}


async def test_the_worst_breaker_of_all_workers_is_what_a_watcher_is_shown() -> None:
    """S4-48: one number for many sites."""
    scene = Scene({})
    await scene.propose()
    puppets = [Puppet(), Puppet()]
    watch = watched(scene, workers=2, spawn=lambda number: puppets[number], endless=True)
    running = asyncio.ensure_future(watch.supervisor.run())
    worst = WorstBreaker(60.0, 6, is_open=True)

    await puppets[0].says(Report(Counts(), breaker=WorstBreaker(30.0, 5, is_open=True)))
    await puppets[1].says(Report(Counts(), breaker=worst))

    await scene.until(lambda: bool(watch.shown) and watch.shown[-1].breaker == worst)
    running.cancel()
    await asyncio.wait([running])


async def test_a_worker_that_breaks_while_all_are_to_end_keeps_the_others_from_nothing() -> None:
    scene = Scene({})
    await scene.propose()
    puppets = [Puppet(), Puppet()]
    watch = watched(scene, workers=2, spawn=lambda number: puppets[number], endless=True)
    running = asyncio.ensure_future(watch.supervisor.run())
    await scene.until(lambda: len(watch.shown) > 0)

    watch.supervisor.drain(Finish.TERMINATED)
    await puppets[0].says(Broke("StoreUnavailable", "the broker is away"))
    puppets[0].vanish()
    await scene.until(lambda: watch.shown[-1].workers == 2)
    assert not running.done()
    await puppets[1].says(Done())
    puppets[1].vanish()

    with pytest.raises(StoreError, match="the broker is away"):
        await running
    assert not puppets[1].was_killed
