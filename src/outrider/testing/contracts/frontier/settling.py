"""What is written when a visit is over?"""

# ruff: noqa: S101 - a contract asserts

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Added, Census, Settled
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.task import Changes
from outrider.model.url import Url
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, done, page, task


class SettlingContract(Base):
    @pytest.mark.parametrize(
        ("settlement", "expected"),
        [
            (Skip(Reason.ROBOTS_DISALLOWED, "line 3"), Census(skipped={Reason.ROBOTS_DISALLOWED: 1})),
            (Dead(Reason.HTTP_404, 1, "gone", 404), Census(dead={Reason.HTTP_404: 1})),
            (Later(START + 50, Reason.HTTP_500, 1), Census(waiting=1)),
            (MovedTo(Url("http://example.org/")), Census(alias=1)),
            (
                Done(Url("http://example.com/1"), Url("http://example.com/1"), 200, Validators(), Changes()),
                Census(fetched=1),
            ),
        ],
        ids=lambda value: type(value).__name__,
    )
    async def test_every_settlement_changes_the_state(
        self, name: str, clock: FakeClock, settlement: Settlement, expected: Census
    ) -> None:
        """H0-5, S0-8, S0-16, C30: every path ends in a state change, and the ledger closes."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            accepted = await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], settlement),))])
            census = await frontier.census()
            again = await frontier.add([page(1)])

        assert accepted == [True]
        assert replace(census, discovered=0, sites=0) == expected
        assert census.adds_up
        assert again == [Added.KNOWN]

    async def test_a_task_put_off_comes_back_with_its_counts(self, name: str, clock: FakeClock) -> None:
        later = Later(START + 120, Reason.HTTP_500, visits=2, deferrals=3, deferred_at=START)
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], later),))])
            clock.advance(119)
            early = await frontier.lease(sites=1, tasks=1, seconds=60)
            clock.advance(1)
            again = (await self.lease_one(frontier)).tasks[0]

        assert early.leases == ()
        assert (again.visits, again.deferrals, again.deferred_at, again.due_at) == (2, 3, START, START + 120)

    async def test_a_page_owed_another_look_keeps_what_is_known_of_it(self, name: str, clock: FakeClock) -> None:
        """C16, H0-10."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            url = lease.tasks[0].url
            look = Done(url, url, 200, Validators('"1"'), Changes(1, 0, 9), "ff", START + 500, START)
            await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], look),))])
            waiting = await frontier.census()
            clock.advance(500)
            again = (await self.lease_one(frontier)).tasks[0]

        assert (waiting.waiting, waiting.adds_up) == (1, True)
        assert (again.validators, again.content_sha256, again.visited_at) == (Validators('"1"'), "ff", START)
        assert again.changes == Changes(1, 0, 9)

    async def test_a_page_takes_its_final_name_and_the_asked_one_stays_known(self, name: str, clock: FakeClock) -> None:
        """C10, S0-8, S0-25, H0-12: the original is not fetched again when it is found again."""
        final = Url("http://example.com/final")
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], done(lease.tasks[0], final)),))])
            census = await frontier.census()
            again = await frontier.add([page(1), task(final)])

        assert again == [Added.KNOWN, Added.KNOWN]
        assert (census.discovered, census.fetched, census.alias) == (2, 1, 1)
        assert census.adds_up

    async def test_a_final_name_that_is_taken_leaves_both_as_they_are(self, name: str, clock: FakeClock) -> None:
        """S0-12, S0-13, S0-26, S0-30: the first wins, the second keeps its name; neither fails."""
        final = Url("http://example.com/final")
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1), page(2)])
            lease = await self.lease_one(frontier, tasks=2)
            accepted = await frontier.settle(
                [Settled(lease, lease.site, tuple((task, done(task, final)) for task in lease.tasks))]
            )
            census = await frontier.census()

        assert accepted == [True]
        assert (census.discovered, census.fetched, census.alias) == (3, 2, 1)
        assert census.adds_up

    async def test_a_lease_may_be_settled_in_parts(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(n) for n in range(3)])
            lease = await self.lease_one(frontier, tasks=2)
            first, second = lease.tasks
            await frontier.settle([Settled(lease, lease.site, ((first, done(first)),), keep=True)])
            held = await frontier.census()
            twice = await frontier.settle([Settled(lease, lease.site, ((first, done(first)), (second, done(second))))])
            given_back = await frontier.census()

        assert (held.fetched, held.leased, held.pending) == (1, 1, 2)
        assert twice == [True]
        assert (given_back.fetched, given_back.leased, given_back.pending) == (2, 0, 1)
        assert given_back.adds_up

    async def test_a_stale_settlement_is_refused_and_counted(self, name: str, clock: FakeClock) -> None:
        """S0-13: nothing of it is written, neither tasks nor site."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            old = await self.lease_one(frontier, seconds=10)
            clock.advance(20)
            new = await self.lease_one(frontier)
            spoiled = replace(old.site, not_before=START + 1e6)
            refused = await frontier.settle([Settled(old, spoiled, ((old.tasks[0], done(old.tasks[0])),))])
            accepted = await frontier.settle([Settled(new, new.site, ((new.tasks[0], done(new.tasks[0])),))])
            again = await frontier.settle([Settled(new, new.site)])
            census = await frontier.census()

        assert (refused, accepted, again) == ([False], [True], [False])
        assert (census.fetched, census.stale) == (1, 2)

    async def test_the_times_of_a_site_only_move_forward(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1), page(2)])
            lease = await self.lease_one(frontier)
            earlier = replace(lease.site, not_before=0.0)
            await frontier.settle([Settled(lease, earlier, ((lease.tasks[0], done(lease.tasks[0])),))])
            at_once = await frontier.lease(sites=1, tasks=1, seconds=60)

        assert (at_once.leases, at_once.next_at) == ((), START + 1)
