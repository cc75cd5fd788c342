"""What owing again means where there is no index of what is owed: how much is looked through, and what is guessed."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import cast
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisServer

from outrider.model.identity import Identity
from outrider.model.ledger import Filter, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, MovedTo, Settlement
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.redis import owing
from outrider.stores.redis.frontier import RedisFrontier
from outrider.stores.registry import open_frontier
from outrider.testing.clock import FakeClock

RULES = FrontierRules()


def page(n: int, site: str = "a.org") -> Task:
    return Task(Url(f"http://{site}/{n}"))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_000.0)


@pytest.fixture
async def frontier(start_redis: StartRedis, clock: FakeClock) -> AsyncIterator[RedisFrontier]:
    async with open_frontier(f"{start_redis().url}?buckets=3", RULES, clock) as store:
        yield cast("RedisFrontier", store)


async def settle_all(frontier: RedisFrontier, clock: FakeClock, ends: dict[str, Settlement] | None = None) -> None:
    leased = await frontier.lease(sites=9, tasks=99, seconds=60)
    for lease in leased.leases:
        pairs = tuple((task, (ends or {}).get(task.url.path) or done(task, task.url)) for task in lease.tasks)
        assert await frontier.settle([Settled(lease, lease.site, pairs)]) == [True]
    clock.advance(60)


def done(task: Task, url: Url, due_at: float | None = None) -> Done:
    return Done(url, task.url, 200, Validators(), Changes(), due_at=due_at)


async def test_a_site_that_owes_very_much_is_left_alone(frontier: RedisFrontier, clock: FakeClock) -> None:
    """Others are not; and when it owes less, it is its turn."""
    await frontier.add([page(1), page(1, "b.org")])
    await settle_all(frontier, clock)
    await frontier.add([page(n) for n in range(2, 7)])
    frontier.most_owed = 4

    count = await frontier.owe_again([page(1), page(1, "b.org")], ended=True)
    await settle_all(frontier, clock)
    later = await frontier.owe_again([page(1)], ended=True)

    assert (count, later) == (1, 1)
    assert (await frontier.census()).adds_up


async def test_a_call_looks_through_so_much_and_the_rest_is_asked_again(
    frontier: RedisFrontier, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sites = [f"s{n}.org" for n in range(12)]
    await frontier.add([page(n, site) for site in sites for n in range(2)])
    await settle_all(frontier, clock)
    await settle_all(frontier, clock)
    await frontier.add([page(n, site) for site in sites for n in range(2, 6)])
    monkeypatch.setattr(owing, "MOST_LOOKED", 6)

    count = await frontier.owe_again([page(n, site) for site in sites for n in range(6)], ended=True)
    census = await frontier.census()

    assert count == 24
    assert (census.pending, census.fetched, census.adds_up) == (72, 0, True)


async def test_a_name_that_is_only_claimed_is_left_alone(frontier: RedisFrontier) -> None:
    """Its account may still be refused, and then it was never known."""
    bucket, key = frontier.buckets.of_site("a.org"), frontier.identity.hash(page(1).url)
    await frontier.server.call("claim", bucket, ("?", key, ""))

    while_claimed = await frontier.owe_again([page(1)], ended=True)
    await frontier.server.call("claim", bucket, ("=", key, ""))
    once_written = await frontier.owe_again([page(1)], ended=True)
    census = await frontier.census()

    assert (while_claimed, once_written) == (0, 1)
    assert (census.discovered, census.pending, census.fetched) == (1, 1, 0)


async def test_a_bare_hash_is_taken_for_fetched_then_for_an_alias_then_for_refused(
    frontier: RedisFrontier, clock: FakeClock
) -> None:
    """Nobody can tell; what counts is that the ledger closes, and that nothing is counted below zero."""
    refused = [(page(n).url, Reason.TOO_DEEP) for n in (7, 8)]
    await frontier.add([page(1), page(2)], refused)
    await settle_all(frontier, clock, {"/1": MovedTo(page(9).url)})

    counted = []
    for n in (7, 1, 2, 8):
        assert await frontier.owe_again([page(n)], ended=True) == 1
        census = await frontier.census()
        assert census.adds_up
        counted.append((census.pending, census.fetched, census.alias, census.skipped))

    assert counted == [
        (1, 0, 1, {Reason.TOO_DEEP: 2}),
        (2, 0, 0, {Reason.TOO_DEEP: 2}),
        (3, 0, 0, {Reason.TOO_DEEP: 1}),
        (4, 0, 0, {}),
    ]


async def test_a_page_that_is_owed_in_another_site_s_queue_is_told_by_its_pointer(
    start_redis: StartRedis, clock: FakeClock
) -> None:
    """In one bucket as in many; also after it died there and was revived, and while that site is set aside."""
    server = start_redis()
    for buckets in (1, 8):
        async with open_frontier(f"{server.url}?prefix=p{buckets}&buckets={buckets}", RULES, clock) as store:
            frontier = cast("RedisFrontier", store)
            other = page(2, "other.org")
            await frontier.add([page(1)])
            await settle_all(frontier, clock, {"/1": done(page(1), other.url, clock.now() + 30)})
            await settle_all(frontier, clock, {"/2": Dead(Reason.HTTP_404, 1)})
            assert await frontier.revive(Filter()) == 1
            found = await frontier.find(other.url)
            while_owed = await frontier.owe_again([other], ended=True)
            (lease,) = (await frontier.lease(sites=1, tasks=1, seconds=60)).leases
            await frontier.settle([Settled(lease, replace(lease.site, set_aside=True))])
            while_aside = await frontier.owe_again([other, other], ended=True)
            census = await frontier.census()

        assert found is not None
        assert (found.state, found.site) == (State.PENDING, "a.org")
        assert (while_owed, while_aside) == (0, 1)
        assert (census.discovered, census.pending, census.alias, census.skipped) == (2, 1, 1, {})


# Few enough that the same URL comes in several spellings nearly every time.
stems = ["%7e", "~", "%7E%zz", "%7e%zz", "%c3%A9", "%C3%a9"]
queries = ["", "?", "?b=1&a=2", "?a=2&b=1", "?utm_x=1&a=2", "?a=2", "?gclid=3", "?a=2&a=1", "?a=1&a=2&fbclid", "?&a=2"]
spellings = st.lists(
    st.builds("{}{}".format, st.sampled_from(stems), st.sampled_from(queries)), min_size=2, max_size=10
)
identities = st.builds(Identity, seed=st.just(5), strip_tracking=st.booleans(), sort_query=st.booleans())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@settings(max_examples=60, deadline=None)
@given(identity=identities, paths=spellings, later=spellings)
def test_a_url_is_found_in_its_queue_however_it_is_spelled(
    server: RedisServer, identity: Identity, paths: list[str], later: list[str]
) -> None:
    """The script has rules of identity of its own: they tell apart, and together, what the others do."""
    clock = FakeClock(1_000.0)
    rules = FrontierRules(identity)

    async def story(frontier: MemoryFrontier | RedisFrontier) -> list[object]:
        first, second = ([Task(Url(f"http://a.org/{path}")) for path in some] for some in (paths, later))
        told: list[object] = [await frontier.add(first)]
        (lease,) = (await frontier.lease(sites=1, tasks=2, seconds=60)).leases
        pairs = tuple((task, done(task, task.url)) for task in lease.tasks)
        told += await frontier.settle([Settled(lease, lease.site, pairs)])
        for batch in (second, first[::-1], second[::-1]):
            told += [await frontier.owe_again(batch, ended=True), await frontier.census()]
        return told

    async def both() -> tuple[list[object], list[object]]:
        async with open_frontier(f"{server.url}?prefix=s{uuid4().hex}", rules, clock) as store:
            return await story(MemoryFrontier(rules, clock)), await story(cast("RedisFrontier", store))

    expected, told = asyncio.run(both())

    assert told == expected
