"""Whose turn is it?"""

# ruff: noqa: S101 - a contract asserts

from msgspec.structs import replace

from outrider.model.ledger import Settled
from outrider.model.reason import Reason
from outrider.model.site import Breaker, Trouble
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, done, page, paths, task


class LendingContract(Base):
    async def test_a_site_is_lent_to_one_worker_at_a_time(self, name: str, clock: FakeClock) -> None:
        """H2-3, H0-7: adding to a site that is lent does not lend it twice."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1), page(2)])
            first = await frontier.lease(sites=5, tasks=1, seconds=60)
            await frontier.add([page(3)])
            clock.advance(30)
            second = await frontier.lease(sites=5, tasks=1, seconds=60)
            census = await frontier.census()

        assert [paths(lease) for lease in first.leases] == [["/1"]]
        assert second.leases == ()
        assert (census.leased, census.pending) == (1, 3)

    async def test_sites_and_tasks_are_chosen_as_the_policy_chooses(self, name: str, clock: FakeClock) -> None:
        """C20, H2-1, S2-9: longest ready, then by name; priority, then due time, then first come."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1, "b.org"), page(1, "a.org"), task("http://c.org/late", due_at=START - 5)])
            await frontier.add([task("http://a.org/low", -1), task("http://a.org/2"), task("http://a.org/high", 1)])
            lent = await frontier.lease(sites=2, tasks=3, seconds=60)
            rest = await frontier.lease(sites=9, tasks=9, seconds=60)

        assert [(lease.site.key, paths(lease)) for lease in lent.leases] == [
            ("a.org", ["/high", "/1", "/2"]),
            ("b.org", ["/1"]),
        ]
        assert [(lease.site.key, paths(lease)) for lease in rest.leases] == [("c.org", ["/late"])]

    async def test_a_task_is_not_shown_before_it_is_due(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([task("http://example.com/tomorrow", due_at=START + 100)])
            early = await frontier.lease(sites=1, tasks=1, seconds=60)
            clock.advance(100)
            in_time = await frontier.lease(sites=1, tasks=1, seconds=60)

        assert (early.leases, early.next_at) == ((), START + 100)
        assert paths(in_time.leases[0]) == ["/tomorrow"]

    async def test_adding_urls_never_makes_a_site_ready_earlier(self, name: str, clock: FakeClock) -> None:
        """H2-2: the host just fetched and due later stays due later."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            resting = replace(lease.site, not_before=START + 70)
            await frontier.settle([Settled(lease, resting, ((lease.tasks[0], done(lease.tasks[0])),))])
            await frontier.add([page(2, "example.com")])
            clock.advance(69.9)
            early = await frontier.lease(sites=1, tasks=1, seconds=60)
            clock.advance(0.1)
            in_time = await frontier.lease(sites=1, tasks=1, seconds=60)

        assert (early.leases, early.next_at) == ((), START + 70)
        assert paths(in_time.leases[0]) == ["/2"]

    async def test_a_site_outlives_its_queue(self, name: str, clock: FakeClock) -> None:
        """H2-3, H0-8: pace, breaker and robots are remembered when no URL is left."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            trouble = Trouble(Reason.HTTP_503, START - 9)
            known = replace(lease.site, breaker=Breaker(failures=2), alive_at=START, fetched=7, trouble=trouble)
            await frontier.settle([Settled(lease, known, ((lease.tasks[0], done(lease.tasks[0])),))])
            clock.advance(1_000)
            await frontier.add([page(2)])
            again = await self.lease_one(frontier)

        assert (again.site.breaker.failures, again.site.alive_at, again.site.fetched) == (2, START, 7)
        assert again.site.trouble == trouble
        assert again.token > lease.token

    async def test_the_politeness_slot_is_reserved_with_the_lease(self, name: str, clock: FakeClock) -> None:
        """C23: a site given back unvisited is not lent again within its interval."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            await frontier.release([lease])
            at_once = await frontier.lease(sites=1, tasks=1, seconds=60)
            clock.advance(1.0)
            later = await frontier.lease(sites=1, tasks=1, seconds=60)

        assert lease.site.not_before <= START
        assert (at_once.leases, at_once.next_at) == ((), START + 1)
        assert paths(later.leases[0]) == ["/1"]

    async def test_the_lease_says_what_time_it_is(self, name: str, clock: FakeClock) -> None:
        """H4-7: the store's clock, whatever the worker's own says; with something to lend, too early, and without."""
        async with self.open(name, RULES, clock) as frontier:
            empty = await frontier.lease(sites=1, tasks=1, seconds=60)
            await frontier.add([page(1), task("http://example.org/tomorrow", due_at=START + 100)])
            clock.advance(0.25)
            lent = await frontier.lease(sites=2, tasks=1, seconds=60)
            clock.advance(1.5)
            early = await frontier.lease(sites=2, tasks=1, seconds=60)

        assert (empty.at, lent.at, early.at) == (START, START + 0.25, START + 1.75)
        assert [lease.leased_at for lease in lent.leases] == [lent.at]

    async def test_nothing_owed_means_nothing_to_wait_for(self, name: str, clock: FakeClock) -> None:
        """H2-22: termination is one query."""
        async with self.open(name, RULES, clock) as frontier:
            empty = await frontier.lease(sites=1, tasks=1, seconds=60)
            await frontier.add([page(1)])
            working = await frontier.census()
            lease = await self.lease_one(frontier)
            lent = await frontier.lease(sites=1, tasks=1, seconds=60)
            await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], done(lease.tasks[0])),))])
            over = await frontier.lease(sites=1, tasks=1, seconds=60)
            finished = await frontier.census()

        assert (empty.leases, empty.next_at) == (over.leases, over.next_at) == ((), None)
        assert (lent.leases, lent.next_at) == ((), START + 61)
        assert not working.is_finished
        assert finished.is_finished
