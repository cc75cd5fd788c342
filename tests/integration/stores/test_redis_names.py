"""Which names are known, when the sets of them grow, when a name belongs to another bucket, and after a move?"""

import pytest
from tests.integration.stores.conftest import StartRedis

from outrider.model.identity import Identity
from outrider.model.ledger import Added, Settled, State
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.redis.buckets import Buckets
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.clock import FakeClock

RULES = FrontierRules(Identity(seed=42))
BUCKETS = 8


def page(n: int, site: str = "a.org") -> Task:
    return Task(Url(f"http://{site}/{n}"))


def elsewhere(site: str) -> str:
    """A site of another bucket."""
    buckets = Buckets(BUCKETS, RULES)
    names = (f"far{number}.org" for number in range(100))
    return next(name for name in names if buckets.of_site(name) != buckets.of_site(site))


async def move(source: FrontierStore, target: FrontierStore) -> int:
    moved = 0
    async for sites in source.sites():
        await target.restore(sites=sites)
    async for entries in source.entries():
        moved += await target.restore(entries)
    async for hashes in source.hashes():
        moved += await target.restore(hashes=hashes)
    return moved


async def test_the_sets_of_known_urls_stay_small_and_exact_while_they_grow(start_redis: StartRedis) -> None:
    """C26, H2-5: nothing is forgotten by a split, nothing is known that never came, and all stays in whole numbers."""
    server = start_redis()
    urls = [page(n, f"s{n % 7}.org") for n in range(30_000)]
    async with open_frontier(f"{server.url}?prefix=grow", RULES) as frontier:
        first = await frontier.add(urls)
        again = await frontier.add(urls)
        never = await frontier.knows([page(n, "never.org").url for n in range(5_000)])
        listed = [key async for keys in frontier.hashes() for key in keys]
        with server.client() as client:
            sets = [key for key in client.scan_iter(count=1_000) if b":k:" in key]
            encodings = {client.object("encoding", key) for key in sets}
            total = sum(client.scard(key) for key in sets)

    assert set(first) == {Added.NEW}
    assert set(again) == {Added.KNOWN}
    assert not any(never)
    assert listed == []
    assert (encodings, total) == ({b"intset"}, 30_000)
    assert 100 <= len(sets) <= 200


@pytest.mark.parametrize("due_at", [None, 5_000.0])
async def test_a_page_may_take_a_name_in_another_bucket(start_redis: StartRedis, due_at: float | None) -> None:
    """C10, S0-12: known there at once, an alias here; the line is found under its new name as long as it is owed."""
    server, clock = start_redis(), FakeClock(1_000.0)
    final = Url(f"http://{elsewhere('a.org')}/final")
    async with open_frontier(f"{server.url}?buckets={BUCKETS}", RULES, clock) as frontier:
        await frontier.add([page(1), page(2)])
        lent = await frontier.lease(sites=1, tasks=2, seconds=60)
        lease = lent.leases[0]
        ends = tuple((task, Done(final, task.url, 200, Validators(), Changes(), due_at=due_at)) for task in lease.tasks)
        accepted = await frontier.settle([Settled(lease, lease.site, ends)])
        census = await frontier.census()
        again = await frontier.add([Task(final), page(1), page(2)])
        found = await frontier.find(final)
        refused = await frontier.settle([Settled(lease, lease.site, ends[:1])])
        after = await frontier.census()
        hashes = [key async for keys in frontier.hashes() for key in keys]

    assert (accepted, refused) == ([True], [False])
    assert again == [Added.KNOWN] * 3
    assert (census.discovered, census.alias, census.fetched + census.waiting) == (3, 1, 2)
    assert census.adds_up
    assert (after.stale, after.adds_up, after.discovered) == (1, True, 3)
    assert (found and (found.state, found.site)) == ((State.WAITING, "a.org") if due_at else None)
    assert len(hashes) == (1 if due_at else 3)


async def test_a_refused_account_takes_no_name(start_redis: StartRedis) -> None:
    server, clock = start_redis(), FakeClock(1_000.0)
    final = Url(f"http://{elsewhere('a.org')}/final")
    async with open_frontier(f"{server.url}?buckets={BUCKETS}", RULES, clock) as frontier:
        await frontier.add([page(1)])
        lease = (await frontier.lease(sites=1, tasks=1, seconds=60)).leases[0]
        await frontier.release([lease])
        done = Done(final, lease.tasks[0].url, 200, Validators(), Changes(), due_at=5_000.0)
        accepted = await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], done),))])
        census = await frontier.census()
        known = await frontier.knows([final])

    assert accepted == [False]
    assert known == [False]
    assert (census.discovered, census.pending, census.adds_up) == (1, 1, True)


@pytest.mark.parametrize("source", ["memory", "redis"])
async def test_after_a_move_bare_hashes_are_known_to_handles_that_were_open_before(
    start_redis: StartRedis, source: str
) -> None:
    """S2-10, S2-11: a hash without its URL has no site, and is found all the same."""
    server, clock = start_redis(), FakeClock(1_000.0)
    here = f"{server.url}?buckets={BUCKETS}&prefix="
    async with (
        open_frontier(f"{here}one", RULES, clock) as compact,
        open_frontier(f"{here}two", RULES, clock) as target,
        open_frontier(f"{here}two", RULES, clock) as early,
    ):
        origin = compact if source == "redis" else MemoryFrontier(RULES, clock)
        await origin.add([page(n, site) for site in ("a.org", "b.org", "c.org") for n in range(5)])
        for lease in (await origin.lease(sites=2, tasks=4, seconds=60)).leases:
            ends = tuple((task, Done(task.url, task.url, 200, Validators(), Changes())) for task in lease.tasks)
            await origin.settle([Settled(lease, lease.site, ends)])
        await early.add([page(77, "b.org")])
        first = await move(origin, target)
        again = await move(origin, target)
        answers = await early.add([page(n, site) for site in ("a.org", "b.org", "c.org") for n in range(6)])
        census = await early.census()

    assert (first, again) == (15, 0)
    assert answers == [*[Added.KNOWN] * 5, Added.NEW] * 3
    assert (census.discovered, census.fetched, census.adds_up) == (19, 8, True)
