"""A frontier that is fed on a clock: new URLs are added, ended ones are owed again, owed ones stay as they are."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from outrider.engine.schedule import Scheduler
from outrider.engine.schedule_frontier import FrontierSchedule, SourceRules
from outrider.errors import ConfigError, StoreError
from outrider.model.ledger import Settled
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Settlement
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules
from outrider.policy.schedule import Edition, Kind, Listed, Source
from outrider.ports import Frontier, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.clock import FakeClock

START = 1_800_000_000.0
HOUR = 3_600.0
PAGE = Source(Kind.URL, "https://example.org/page", HOUR, priority=3)
FEED = Source(Kind.FEED, "https://example.org/feed.xml", HOUR)
SEEDS = Source(Kind.SEEDS, "seeds.txt", None)
URLS = [Url(f"https://site{n}.org/") for n in range(2_500)]
RULES = SourceRules(AdmitRules(extensions=frozenset({".xml"})), AdmitRules())


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
async def frontier(clock: FakeClock) -> AsyncIterator[FrontierStore]:
    async with open_frontier("memory:", FrontierRules(), clock) as store:
        yield store


class Feeding:
    """One scheduler after the other, over the same file."""

    def __init__(self, frontier: Frontier, clock: FakeClock, file: Path, most: int = 10_000) -> None:
        self.made = frontier, RULES, file, most, clock
        self.clock = clock
        self.told: list[str] = []

    async def feed(self, *sources: Source) -> None:
        await Scheduler(sources, self.read, FrontierSchedule(*self.made), self.clock, self.told.append).run(once=True)

    async def read(self, source: Source) -> Listed:
        if source.kind is Kind.SEEDS:
            return Listed(URLS, Edition(len(URLS), "d", 1))
        return Listed([Url(source.what)])


@pytest.fixture
def feeding(frontier: FrontierStore, clock: FakeClock, tmp_path: Path) -> Feeding:
    return Feeding(frontier, clock, tmp_path / "fed.json")


async def visited(frontier: Frontier, url: str, end: Settlement) -> Task:
    lent = await frontier.lease(sites=1, tasks=10, seconds=60.0)
    (lease,) = lent.leases
    task = next(task for task in lease.tasks if task.url == url)
    assert await frontier.settle([Settled(lease, lease.site, ((task, end),))]) == [True]
    return task


async def test_pages_are_seeds_and_feeds_are_listings(feeding: Feeding, frontier: FrontierStore) -> None:
    await feeding.feed(PAGE, FEED)

    lent = await frontier.lease(sites=1, tasks=10, seconds=60.0)
    assert [(task.url, task.origin, task.priority) for task in lent.leases[0].tasks] == [
        (PAGE.what, Origin.SEED, 3),
        (FEED.what, Origin.LISTING, 0),
    ]


@pytest.mark.parametrize(
    "end", [Done(Url(PAGE.what), Url(PAGE.what), 200, Validators(), Changes()), Dead(Reason.HTTP_404, 1)]
)
async def test_what_has_ended_is_owed_again_at_its_next_turn(
    feeding: Feeding, frontier: FrontierStore, clock: FakeClock, end: Settlement
) -> None:
    await feeding.feed(PAGE)
    await visited(frontier, PAGE.what, end)

    await feeding.feed(PAGE)
    at_once = (await frontier.census()).pending
    clock.advance(2 * HOUR)
    await feeding.feed(PAGE)

    assert (at_once, (await frontier.census()).pending) == (0, 1)


async def test_what_is_owed_is_left_alone(feeding: Feeding, frontier: FrontierStore, clock: FakeClock) -> None:
    await feeding.feed(PAGE)
    clock.advance(2 * HOUR)

    await feeding.feed(PAGE)

    assert (await frontier.census()).pending == 1


async def test_a_list_goes_on_when_what_is_pending_has_become_less(
    frontier: FrontierStore, clock: FakeClock, tmp_path: Path
) -> None:
    feeding = Feeding(frontier, clock, tmp_path / "fed.json", most=2_000)
    await feeding.feed(SEEDS)
    full = (await frontier.census()).pending

    lent = await frontier.lease(sites=2_000, tasks=1, seconds=60.0)
    ends = [(task, Dead(Reason.HTTP_404, 1)) for lease in lent.leases for task in lease.tasks]
    await frontier.settle([Settled(lease, lease.site, (end,)) for lease, end in zip(lent.leases, ends, strict=True)])
    await feeding.feed(SEEDS)
    await feeding.feed(SEEDS)

    assert full == 2_000
    census = await frontier.census()
    assert (census.discovered, census.pending) == (2_500, 500)


async def test_what_admission_refuses_is_in_the_ledger(feeding: Feeding, frontier: FrontierStore) -> None:
    await feeding.feed(Source(Kind.URL, "https://example.org/data.xml"))

    assert (await frontier.census()).skipped == {Reason.NON_TEXT_EXTENSION: 1}


async def test_a_kill_between_frontier_and_file_repeats_the_step_and_changes_nothing(
    frontier: FrontierStore, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    feeding = Feeding(frontier, clock, folder / "fed.json")
    with pytest.raises(StoreError):  # there is no folder to write the file to
        await feeding.feed(PAGE)

    folder.mkdir()
    await feeding.feed(PAGE)

    assert (await frontier.census()).discovered == 1


async def test_a_frontier_that_cannot_owe_again_is_refused(clock: FakeClock, tmp_path: Path) -> None:
    class Plain:
        add = lease = extend = settle = release = revive = census = None

    with pytest.raises(ConfigError, match="cannot owe a page another visit"):
        FrontierSchedule(Plain(), RULES, tmp_path / "fed.json", 1, clock)  # type: ignore[arg-type]
