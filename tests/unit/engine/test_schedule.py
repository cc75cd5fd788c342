"""The loop of a schedule: nothing lost, nothing twice, nothing dropped when there is no room, and no spinning."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from outrider.engine.schedule import LONGEST_NAP, POLL, STEP, Scheduler
from outrider.errors import ConfigError, SchemaMismatch, StoreError, StoreUnavailable
from outrider.model.url import Url
from outrider.policy.schedule import Edition, Fed, Kind, Listed, Look, Source, Step, Turn
from outrider.testing.clock import FakeClock

START = 1_800_000_000.0
HOUR = 3_600.0


class ListOutlet:
    """A queue in memory, which somebody empties by `taken_each_second` whenever it is looked at."""

    def __init__(self, clock: FakeClock, most: int = 100_000) -> None:
        self.most = most
        self.clock = clock
        self.queue: list[Url] = []
        self.given: list[tuple[float, Url]] = []
        self.turns: dict[str, Turn] = {}
        self.looks = 0
        self.longest = 0
        self.taken_each_second = 0.0
        self.failure: StoreError | None = None
        self._emptied_at = clock.now()

    async def look(self, sources: Sequence[Source] = ()) -> Look:
        self.looks += 1
        if self.failure is not None:
            raise self.failure
        taken = int((self.clock.now() - self._emptied_at) * self.taken_each_second)
        self._emptied_at = self.clock.now()
        del self.queue[:taken]
        names = {source.name for source in sources}
        turns = {name: turn for name, turn in self.turns.items() if name in names}
        # Its clock is not ours.
        return Look(self.clock.now() + 1_000, len(self.queue), turns)

    async def feed(self, step: Step) -> Fed:
        if self.failure is not None:
            raise self.failure
        if self.turns.get(step.source.name) != step.before:
            return Fed(None, len(self.queue))
        urls = step.urls[: max(self.most - len(self.queue), 0)]
        if urls:
            self.queue += urls
            self.given += [(self.clock.now(), url) for url in urls]
            self.turns[step.source.name] = replace(step.turn, given=step.turn.given + len(urls))
        self.longest = max(self.longest, len(self.queue))
        return Fed(len(urls), len(self.queue))


class World:
    """One scheduler over one outlet; lists by name, which a test may change."""

    def __init__(self, *sources: Source, most: int = 100_000) -> None:
        self.clock = FakeClock(START)
        self.outlet = ListOutlet(self.clock, most)
        self.lists: dict[str, Listed | ConfigError] = {}
        self.told: list[str] = []
        self.scheduler = Scheduler(sources, self.read, self.outlet, self.clock, self.told.append)

    async def read(self, source: Source) -> Listed:
        if source.kind is not Kind.SEEDS:
            return Listed([Url(source.what)])
        found = self.lists[source.what]
        if isinstance(found, ConfigError):
            raise found
        return found

    async def pass_time(self, seconds: float) -> None:
        """The scheduler runs on meanwhile, or begins to."""
        work = asyncio.ensure_future(self.scheduler.run())
        await self.clock.sleep(seconds)
        assert not work.done() or work.exception() is None
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work


def page(name: str = "news", every: float | None = HOUR) -> Source:
    return Source(Kind.URL, f"https://example.org/{name}", every)


def seeds(count: int, digest: str = "d", written_at: int = 1) -> Listed:
    return Listed([Url(f"https://example.org/{digest}/{n}") for n in range(count)], Edition(count, digest, written_at))


SEEDS = Source(Kind.SEEDS, "seeds.txt")


async def test_a_page_is_given_at_each_interval_and_does_not_drift() -> None:
    world = World(page(every=600.0))

    await world.pass_time(24 * HOUR)

    moments = [at - START for at, _ in world.outlet.given]
    assert len(moments) in {143, 144}
    assert moments[0] == 0
    assert moments[-1] - moments[1] == pytest.approx((len(moments) - 2) * 600.0)
    counts = world.scheduler.counts
    assert counts.urls_enqueued == counts.seed_urls_enqueued == len(moments)


async def test_a_short_interval_is_kept_although_nothing_else_is_due() -> None:
    world = World(page(every=3.0))

    await world.pass_time(60.0)

    assert len(world.outlet.given) in {19, 20}


async def test_sitemaps_and_feeds_are_no_seed_urls() -> None:
    world = World(Source(Kind.SITEMAP, "https://example.org/sitemap.xml"), Source(Kind.FEED, "https://example.org/f"))

    await world.pass_time(1.0)

    assert (world.scheduler.counts.urls_enqueued, world.scheduler.counts.seed_urls_enqueued) == (2, 0)


async def test_a_list_longer_than_the_room_is_given_whole_and_once_as_room_comes() -> None:
    """H4-12: nothing is dropped, nothing goes round."""
    world = World(SEEDS, page(every=60.0), most=500)
    world.lists[SEEDS.what] = seeds(5_000)
    world.outlet.taken_each_second = 10.0

    await world.pass_time(600.0)

    listed = [url for _, url in world.outlet.given if "/d/" in url]
    assert listed == list(seeds(5_000).urls)
    assert world.outlet.longest == 500
    # The page has had its turns all the while: at most a step of the list came before each.
    assert len(world.outlet.given) - len(listed) in {9, 10, 11}


async def test_a_full_queue_is_asked_once_a_second_and_nothing_is_lost() -> None:
    """H4-12: no busy loop."""
    world = World(SEEDS, page(), most=10)
    world.lists[SEEDS.what] = seeds(30)
    world.outlet.queue = [Url("https://example.org/before")] * 10

    await world.pass_time(HOUR)

    assert world.outlet.given == []
    assert world.outlet.looks <= HOUR / POLL + 2
    assert world.scheduler.counts.loop_lag == pytest.approx(HOUR, abs=2)
    assert [line for line in world.told if "no room" in line] == world.told

    world.outlet.taken_each_second = 1.0
    await world.pass_time(60.0)

    assert sorted(url for _, url in world.outlet.given) == sorted([*seeds(30).urls, Url(page().what)])
    assert world.scheduler.counts.loop_lag == 0


async def test_who_has_nothing_to_do_sleeps() -> None:
    world = World(page(every=None))

    await world.pass_time(24 * HOUR)

    assert len(world.outlet.given) == 1
    assert world.outlet.looks <= 24 * HOUR / LONGEST_NAP + 2


async def test_long_lists_and_pages_take_turns() -> None:
    other = Source(Kind.SEEDS, "other.txt")
    world = World(SEEDS, other, page())
    world.lists = {SEEDS.what: seeds(3 * STEP, "d"), other.what: seeds(3 * STEP, "e")}

    await world.pass_time(1.0)

    order = ["d" if "/d/" in url else "e" if "/e/" in url else "page" for _, url in world.outlet.given]
    assert order == [*["d"] * STEP, *["e"] * STEP, "page", *(["d"] * STEP + ["e"] * STEP) * 2]


async def test_two_schedulers_of_one_file_give_everything_once() -> None:
    world = World(SEEDS, page(), most=700)
    world.lists[SEEDS.what] = seeds(5_000)
    world.outlet.taken_each_second = 100.0
    second = Scheduler([SEEDS, page()], world.read, world.outlet, world.clock, world.told.append)
    beside = asyncio.ensure_future(second.run())

    await world.pass_time(300.0)
    beside.cancel()

    assert sorted(url for _, url in world.outlet.given) == sorted([*seeds(5_000).urls, Url(page().what)])


async def test_a_store_that_is_away_is_told_of_once_and_waited_for() -> None:
    world = World(page())
    world.outlet.failure = StoreUnavailable("redis://127.0.0.1:1: the server cannot be reached")

    await world.pass_time(HOUR)

    assert world.told == ["redis://127.0.0.1:1: the server cannot be reached; waiting until it is back"]
    assert world.scheduler.trouble is not None
    assert world.outlet.looks < HOUR / 10

    world.outlet.failure = None
    await world.pass_time(20.0)

    assert len(world.outlet.given) == 1
    assert "the store is back: going on" in world.told
    assert world.scheduler.trouble is None


async def test_a_store_of_another_version_ends_it() -> None:
    world = World(page())
    world.outlet.failure = SchemaMismatch("migrate first")

    with pytest.raises(SchemaMismatch):
        await world.scheduler.run()


async def test_a_list_that_cannot_be_read_is_told_of_once_and_stops_nobody_else() -> None:
    world = World(SEEDS, page())
    world.lists[SEEDS.what] = ConfigError("seeds.txt: the seeds cannot be read: No such file or directory")

    await world.pass_time(100.0)

    assert [url for _, url in world.outlet.given] == [page().what]
    assert len([line for line in world.told if "until it is mended" in line]) == 1
    assert world.outlet.looks <= 102

    world.lists[SEEDS.what] = seeds(3)
    await world.pass_time(2.0)

    assert len(world.outlet.given) == 4


async def test_a_list_that_changes_while_it_is_given_begins_anew() -> None:
    world = World(SEEDS, most=100)
    world.lists[SEEDS.what] = seeds(150)
    await world.pass_time(1.0)
    world.lists[SEEDS.what] = seeds(50, "e", written_at=2)
    world.outlet.taken_each_second = 100.0

    await world.pass_time(5.0)

    assert [url for _, url in world.outlet.given] == [*seeds(150).urls[:100], *seeds(50, "e").urls]
    assert [line for line in world.told if "has changed while it was fed" in line]


async def test_an_older_list_waits_while_a_newer_one_is_given() -> None:
    world = World(SEEDS, most=100)
    world.lists[SEEDS.what] = seeds(150, written_at=2)
    await world.pass_time(1.0)
    world.lists[SEEDS.what] = seeds(50, "e", written_at=1)
    world.outlet.taken_each_second = 100.0

    await world.pass_time(5.0)

    assert len(world.outlet.given) == 100
    assert len([line for line in world.told if "a later version" in line]) == 1


async def test_a_list_that_was_fed_once_and_edited_is_spoken_of() -> None:
    world = World(SEEDS)
    world.lists[SEEDS.what] = seeds(3)
    await world.pass_time(1.0)
    world.lists[SEEDS.what] = seeds(5, "e", written_at=2)

    world.scheduler.reload([SEEDS], world.read)
    await world.pass_time(1.0)

    assert len(world.outlet.given) == 3
    assert [line for line in world.told if "was fed once already" in line]


async def test_new_sources_are_fed_from_the_next_step_on_and_old_ones_keep_their_turns() -> None:
    world = World(page("one"), page("two"))
    await world.pass_time(10.0)

    world.scheduler.reload([page("two"), page("three")], world.read)
    await world.pass_time(10.0)

    assert [url for _, url in world.outlet.given] == [page(name).what for name in ("one", "two", "three")]


@pytest.mark.parametrize("waits", [0, 10])
async def test_what_was_fed_is_not_fed_again_when_new_sources_come_in_the_middle_of_a_round(waits: int) -> None:
    world = World(page("one"), most=10)
    await world.pass_time(1.0)
    world.outlet.queue = [Url("https://example.org/before")] * waits
    world.scheduler.reload([page("one"), page("full")], world.read)
    await world.pass_time(5.0)
    look = world.outlet.look

    async def look_and_reload(sources: Sequence[Source] = ()) -> Look:
        world.scheduler.reload([page("one"), page("two")], world.read)
        world.outlet.queue.clear()
        return await look(sources)

    world.outlet.look = look_and_reload  # type: ignore[method-assign]
    await world.scheduler.run(once=True)
    world.outlet.look = look  # type: ignore[method-assign]
    await world.pass_time(5.0)

    urls = [url for _, url in world.outlet.given]
    assert sorted(urls) == sorted(page(name).what for name in ("full", "one", "two"))


async def test_once_means_one_round() -> None:
    world = World(SEEDS, page(), most=10)
    world.lists[SEEDS.what] = seeds(30)

    await world.scheduler.run(once=True)

    assert len(world.outlet.given) == 10
    assert world.clock.now() == START


async def test_once_does_not_wait_for_a_store() -> None:
    world = World(page())
    world.outlet.failure = StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        await world.scheduler.run(once=True)


async def test_it_stops_at_once() -> None:
    world = World(page())
    work = asyncio.ensure_future(world.scheduler.run())
    await world.clock.sleep(5.0)
    looks = world.outlet.looks

    world.scheduler.stop()
    await work

    assert world.outlet.looks == looks
