"""A page that was fetched once for all can be owed another visit, in the stores that offer it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeAlias

import pytest

from outrider.model.ledger import Census, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, MovedTo, Settlement
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.registry import open_frontier
from outrider.stores.sqlite.frontier import SqliteFrontier
from outrider.testing.clock import FakeClock

START = 1_000.0
RULES = FrontierRules()
Store: TypeAlias = MemoryFrontier | SqliteFrontier


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture(params=["memory:", "sqlite", "sqlite?recent=3"])
async def frontier(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    place = str(request.param)
    if place.startswith("sqlite"):
        place = f"sqlite://{tmp_path}/crawl.db{place.removeprefix('sqlite')}"
    async with open_frontier(place, RULES, clock) as store:
        assert isinstance(store, MemoryFrontier | SqliteFrontier)
        yield store


def page(n: int, site: str = "example.com") -> Task:
    return Task(Url(f"http://{site}/{n}"))


def again(task: Task, due_at: float = 2_000.0) -> Task:
    return Task(
        task.url,
        depth=2,
        priority=-2,
        due_at=due_at,
        validators=Validators('"1"'),
        changes=Changes(1.0, 0.0, 10.0),
        visited_at=START,
        content_sha256="aa",
    )


def done(task: Task, url: str | None = None) -> Done:
    return Done(Url(url) if url else task.url, task.url, 200, Validators(), Changes())


async def settle_all(frontier: Store, settlements: dict[str, Settlement] | None = None) -> None:
    """Every URL that is due is fetched, unless something else becomes of its path."""
    lent = await frontier.lease(sites=10, tasks=100, seconds=60)
    accounts = [
        Settled(
            lease,
            lease.site,
            tuple((task, (settlements or {}).get(task.url.path) or done(task)) for task in lease.tasks),
        )
        for lease in lent.leases
    ]
    assert all(await frontier.settle(accounts))


def states(census: Census) -> tuple[int, int, int, int]:
    assert census.adds_up
    return census.discovered, census.waiting, census.fetched, census.alias


async def test_a_fetched_page_is_owed_again_when_it_is_due(frontier: Store, clock: FakeClock) -> None:
    await frontier.add([page(1), page(2)])
    await settle_all(frontier)

    count = await frontier.owe_again([again(page(1))])
    owed = await frontier.census()
    early = await frontier.lease(sites=1, tasks=9, seconds=60)
    clock.advance(1_000)
    lent = await frontier.lease(sites=1, tasks=9, seconds=60)

    assert count == 1
    assert states(owed) == (2, 1, 1, 0)
    assert (early.leases, early.next_at) == ((), 2_000.0)
    (task,) = lent.leases[0].tasks
    assert (task.url, task.validators, task.changes) == (page(1).url, Validators('"1"'), Changes(1.0, 0.0, 10.0))
    assert (task.depth, task.priority, task.visited_at, task.content_sha256) == (2, -2, START, "aa")
    assert task.sequence == 3


async def test_it_may_be_repeated_and_named_twice(frontier: Store) -> None:
    await frontier.add([page(1), page(2, "other.org")])
    await settle_all(frontier)

    first = await frontier.owe_again([again(page(1)), again(page(1), 3_000.0)])
    second = await frontier.owe_again([again(page(1)), again(page(2, "other.org"))])
    census = await frontier.census()

    assert (first, second) == (1, 1)
    assert states(census) == (2, 2, 0, 0)


async def test_what_is_in_another_state_is_left_alone(frontier: Store, clock: FakeClock) -> None:
    await frontier.add([page(n) for n in range(5)], [(Url("http://example.com/no"), Reason.SKIP_PATTERN)])
    moved, dead = MovedTo(Url("http://b.org/")), Dead(Reason.UNDECODABLE, 1)
    await settle_all(frontier, {"/1": moved, "/2": dead})
    await frontier.add([page(9)])
    clock.advance(60)
    (lease,) = (await frontier.lease(sites=1, tasks=1, seconds=60)).leases
    before = await frontier.census()

    count = await frontier.owe_again(
        [again(page(n)) for n in (1, 2, 9, 77)] + [again(Task(Url("http://example.com/no")))]
    )
    after = await frontier.census()

    assert count == 0
    assert after == before
    assert await frontier.knows([page(77).url]) == [False]
    assert await frontier.settle([Settled(lease, lease.site, ((page(9), done(page(9))),))]) == [True]


async def test_a_page_is_owed_under_the_name_that_it_took(frontier: Store) -> None:
    await frontier.add([page(1)])
    await settle_all(frontier, {"/1": done(page(1), "http://example.com/final")})

    count = await frontier.owe_again([again(page(1)), again(Task(Url("http://example.com/final")))])
    census = await frontier.census()
    entry = await frontier.find(Url("http://example.com/final"))

    assert count == 1
    assert states(census) == (2, 1, 0, 1)
    assert entry is not None
    assert entry.state is State.WAITING


async def test_a_page_that_duplicates_another_is_owed_as_well(frontier: Store, clock: FakeClock) -> None:
    """Its line says whose duplicate it is; that line ends, and may be written again."""
    await frontier.add([page(1)])
    await settle_all(frontier)
    await frontier.add([page(2)])
    clock.advance(60)
    await settle_all(frontier, {"/2": done(page(2), str(page(1).url))})

    count = await frontier.owe_again([again(page(1)), again(page(2))])
    owed = await frontier.census()
    clock.advance(2_000)
    await settle_all(frontier, {"/2": done(page(2), str(page(1).url))})
    census = await frontier.census()
    entry = await frontier.find(page(2).url)

    assert count == 2
    assert states(owed) == (2, 2, 0, 0)
    assert states(census) == (2, 0, 2, 0)
    assert entry is not None
    assert entry.of == page(1).url


async def test_a_hash_that_came_without_its_url_is_owed_by_its_url(frontier: Store) -> None:
    await frontier.restore(hashes=[frontier.rules.identity.hash(page(1).url)])

    count = await frontier.owe_again([again(page(1))])
    census = await frontier.census()

    assert count == 1
    assert states(census) == (1, 1, 0, 0)
    assert census.sites == 1


async def test_a_page_in_the_queue_of_another_site_is_owed_once(frontier: Store, clock: FakeClock) -> None:
    """A redirect gave it a name of another site while it was owed on."""
    await frontier.add([page(1)])
    elsewhere = Done(page(2, "other.org").url, page(1).url, 200, Validators(), Changes(), due_at=5_000.0)
    await settle_all(frontier, {"/1": elsewhere})
    clock.advance(60)
    before = await frontier.census()

    count = await frontier.owe_again([again(page(2, "other.org"))])
    after = await frontier.census()

    assert count == 0
    assert after == before
