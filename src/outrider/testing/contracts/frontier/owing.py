"""Can what has ended be owed a visit again? Skipped for a store that does not offer it."""

# ruff: noqa: S101 - a contract asserts

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, cast

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Census, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, MovedTo, Settlement, Skip
from outrider.model.site import Breaker, BreakerState, Site
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules, OwesAgain
from outrider.stores.registry import FrontierStore
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, done, page, paths, task


class OwingStore(FrontierStore, OwesAgain, Protocol):
    """A store that can."""


def again(task: Task, due_at: float = START + 1_000) -> Task:
    """A recrawl: what was seen at the last visit comes along."""
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


def pushed(task: Task) -> Task:
    """Somebody wants it now."""
    return Task(task.url, priority=3, origin=Origin.QUEUE)


def states(census: Census) -> tuple[int, int, int, int]:
    assert census.adds_up
    return census.discovered, census.pending + census.waiting, census.fetched, census.alias


class OwingBase(Base):
    """Set `compact = True` when the store has but the hash of an alias and of a refused URL."""

    compact = False

    @asynccontextmanager
    async def owing(self, name: str, clock: FakeClock, rules: FrontierRules = RULES) -> AsyncIterator[OwingStore]:
        async with self.open(name, rules, clock) as frontier:
            if not isinstance(frontier, OwesAgain):
                pytest.skip("this store owes nothing again")
            yield cast("OwingStore", frontier)

    async def settle_all(self, frontier: OwingStore, ends: dict[str, Settlement] | None = None) -> None:
        """Every URL that is due is fetched, unless something else becomes of its path."""
        lent = await frontier.lease(sites=10, tasks=100, seconds=60)
        accounts = [
            Settled(
                lease, lease.site, tuple((task, (ends or {}).get(task.url.path) or done(task)) for task in lease.tasks)
            )
            for lease in lent.leases
        ]
        assert all(await frontier.settle(accounts))

    async def lines(self, frontier: OwingStore) -> list[Url]:
        return [entry.url async for entries in frontier.entries() for entry in entries]

    async def bare(self, frontier: OwingStore) -> list[int] | None:
        """The hashes of URLs without a line; None from a store that cannot list them."""
        return [key async for keys in frontier.hashes() for key in keys]


class OwingContract(OwingBase):
    async def test_a_fetched_page_is_owed_again_when_it_is_due(self, name: str, clock: FakeClock) -> None:
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(1), page(2)])
            await self.settle_all(frontier)
            count = await frontier.owe_again([again(page(1))])
            owed = await frontier.census()
            early = await frontier.lease(sites=1, tasks=9, seconds=60)
            clock.advance(1_000)
            lent = await self.lease_one(frontier, tasks=9)

        assert count == 1
        assert (states(owed), owed.waiting) == ((2, 1, 1, 0), 1)
        assert (early.leases, early.next_at) == ((), START + 1_000)
        assert lent.tasks == (replace(again(page(1)), sequence=3),)

    async def test_what_is_owed_or_died_or_is_unknown_is_left_alone(self, name: str, clock: FakeClock) -> None:
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(n) for n in range(5)])
            await self.settle_all(
                frontier, {"/2": Dead(Reason.UNDECODABLE, 1), "/3": Later(START + 5_000, Reason.HTTP_500, 1)}
            )
            await frontier.add([page(8), page(9)])
            clock.advance(60)
            lease = await self.lease_one(frontier)
            before = await frontier.census()
            count = await frontier.owe_again([again(page(n)) for n in (2, 3, 8, 9, 77)])
            after = await frontier.census()
            settled = await frontier.settle([Settled(lease, lease.site, ((page(8), done(page(8))),))])
            known = await frontier.knows([page(77).url])

        assert (count, known, settled) == (0, [False], [True])
        assert after == before

    async def test_an_alias_and_a_refused_url_are_no_pages_that_were_fetched(self, name: str, clock: FakeClock) -> None:
        if self.compact:
            pytest.skip("this store has the bare hash of them")
        async with self.owing(name, clock) as frontier:
            refused = Url("http://example.com/no")
            await frontier.add([page(1), page(2), page(3)], [(refused, Reason.SKIP_PATTERN)])
            moved = MovedTo(Url("http://b.org/"))
            await self.settle_all(frontier, {"/1": moved, "/2": done(page(2), Url("http://example.com/final"))})
            before = await frontier.census()
            count = await frontier.owe_again([again(page(1)), again(page(2)), again(Task(refused))])
            after = await frontier.census()

        assert count == 0
        assert after == before

    async def test_a_page_is_owed_under_the_name_that_it_took(self, name: str, clock: FakeClock) -> None:
        final = task("http://example.com/final")
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(1)])
            await self.settle_all(frontier, {"/1": done(page(1), final.url)})
            count = await frontier.owe_again([again(final)])
            census = await frontier.census()
            entry = await frontier.find(final.url)

        assert count == 1
        assert states(census) == (2, 1, 0, 1)
        assert entry is not None
        assert entry.state is State.WAITING

    async def test_a_page_that_duplicates_another_is_owed_as_well(self, name: str, clock: FakeClock) -> None:
        """S0-12: its line, if it has one, says whose duplicate it is; that line ends, and may be written again."""
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(1)])
            await self.settle_all(frontier)
            await frontier.add([page(2)])
            clock.advance(60)
            await self.settle_all(frontier, {"/2": done(page(2), page(1).url)})
            count = await frontier.owe_again([again(page(1)), again(page(2))])
            owed = await frontier.census()
            clock.advance(2_000)
            await self.settle_all(frontier, {"/2": done(page(2), page(1).url)})
            census = await frontier.census()
            entry = await frontier.find(page(2).url)

        assert count == 2
        assert states(owed) == (2, 2, 0, 0)
        assert states(census) == (2, 0, 2, 0)
        assert self.compact or entry is not None
        assert entry is None or entry.of == page(1).url

    async def test_what_has_ended_in_any_way_is_owed_again_when_it_is_asked_for(
        self, name: str, clock: FakeClock
    ) -> None:
        """What somebody pushes into the queue again is to be fetched again."""
        final, refused, over = (task(f"http://example.com/{path}") for path in ("final", "no", "over"))
        rules = replace(RULES, site_quota=6)
        async with self.owing(name, clock, rules) as frontier:
            await frontier.add([page(n) for n in range(6)], [(refused.url, Reason.SKIP_PATTERN)])
            await frontier.add([over])
            ends: dict[str, Settlement] = {
                "/0": Skip(Reason.ROBOTS_DISALLOWED),
                "/1": MovedTo(Url("http://b.org/")),
                "/2": Dead(Reason.HTTP_404, 3, "gone", 404),
                "/3": done(page(3), final.url),
            }
            await self.settle_all(frontier, ends)
            everything = [*(page(n) for n in range(6)), final, refused, over]
            before = await frontier.census()
            count = await frontier.owe_again([pushed(one) for one in [*everything, page(77)]], ended=True)
            repeated = await frontier.owe_again([pushed(one) for one in everything], ended=True)
            census = await frontier.census()
            known = await frontier.knows([one.url for one in everything])
            entries = [await frontier.find(one.url) for one in everything]
            clock.advance(60)
            lease = await self.lease_one(frontier, tasks=99)
            await frontier.release([lease])
            clock.advance(60)
            await self.settle_all(frontier, {"/2": Dead(Reason.HTTP_404, 1)})
            once_more = await frontier.owe_again([pushed(one) for one in everything], ended=True)

        assert before.adds_up
        assert (count, repeated, once_more) == (9, 0, 9)
        assert (states(census), census.skipped, census.dead) == ((9, 9, 0, 0), {}, {})
        assert known == [True] * 9
        assert [entry and (entry.url, entry.state, entry.visits) for entry in entries] == [
            (one.url, State.PENDING, 0) for one in everything
        ]
        assert [replace(one, sequence=0) for one in lease.tasks] == [pushed(one) for one in everything]

    async def test_what_is_put_off_stays_so_and_no_pause_is_shortened(self, name: str, clock: FakeClock) -> None:
        """H2-2: a recrawl that is due tomorrow is left alone, too; the pause is the site's."""
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(1), page(2)])
            lease = await self.lease_one(frontier, tasks=2)
            tomorrow = replace(done(page(1)), due_at=START + 86_400)
            resting = replace(lease.site, not_before=START + 70)
            await frontier.settle([Settled(lease, resting, ((page(1), tomorrow), (page(2), done(page(2)))))])
            count = await frontier.owe_again([pushed(page(1)), pushed(page(2))], ended=True)
            early = await frontier.lease(sites=1, tasks=9, seconds=60)
            clock.advance(70)
            lent = await self.lease_one(frontier, tasks=9)

        assert count == 1
        assert (early.leases, early.next_at) == ((), START + 70)
        assert paths(lent) == ["/2"]

    async def test_a_site_that_is_set_aside_comes_back_to_life_for_it(self, name: str, clock: FakeClock) -> None:
        """With all that it owed, as by `revive`; not for a URL that nobody proposed, and not for a mere recrawl."""
        async with self.owing(name, clock) as frontier:
            await frontier.add([page(n) for n in range(5)])
            lease = await self.lease_one(frontier, tasks=1)
            down = Breaker(BreakerState.OPEN, failures=5, probes=12, probe_at=START + 9, down_since=START)
            given_up = replace(lease.site, set_aside=True, breaker=down)
            await frontier.settle([Settled(lease, given_up, ((lease.tasks[0], done(lease.tasks[0])),))])
            unknown = await frontier.owe_again([pushed(page(77))], ended=True)
            recrawl = await frontier.owe_again([again(page(1))])
            aside = await frontier.census()
            count = await frontier.owe_again([pushed(page(n)) for n in (0, 1, 2, 77)], ended=True)
            census = await frontier.census()
            clock.advance(60)
            back = await self.lease_one(frontier, tasks=9)

        assert (unknown, recrawl, count) == (0, 0, 3)
        assert (aside.is_finished, aside.skipped) == (True, {Reason.SITE_UNREACHABLE: 4})
        assert (states(census), census.skipped) == ((5, 5, 0, 0), {})
        assert paths(back) == ["/0", "/1", "/2", "/3", "/4"]
        assert (back.site.breaker, back.site.set_aside) == (Breaker(), False)

    async def test_a_site_that_nobody_knows_is_begun_for_it(self, name: str, clock: FakeClock) -> None:
        async with self.owing(name, clock) as frontier:
            await frontier.restore(sites=[Site("b.org", excluded=True)])
            refused = [page(1), page(1, "b.org")]
            await frontier.add([], [(one.url, Reason.OUT_OF_SCOPE) for one in refused])
            count = await frontier.owe_again([pushed(one) for one in refused], ended=True)
            census = await frontier.census()
            lent = await frontier.lease(sites=9, tasks=9, seconds=60)

        assert count == 2
        assert (states(census), census.skipped, census.sites) == ((2, 2, 0, 0), {}, 2)
        assert [lease.site.key for lease in lent.leases] == ["example.com"]
