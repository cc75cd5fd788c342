"""What happens when leases run out, and when the ended are wanted again?"""

# ruff: noqa: S101 - a contract asserts

from msgspec.structs import replace

from outrider.model.ledger import Added, Filter, Settled, State
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Skip
from outrider.model.site import Breaker, BreakerState
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, page, paths


class EndingContract(Base):
    async def test_a_crashed_worker_loses_nothing(self, name: str, clock: FakeClock) -> None:
        """H0-4, H2-21: the lease runs out, the site rests, the tasks are still there."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1), page(2)])
            lost = await self.lease_one(frontier, tasks=2, seconds=10)
            clock.advance(10.9)
            early = await frontier.lease(sites=1, tasks=2, seconds=10)
            clock.advance(0.1)
            again = await self.lease_one(frontier, tasks=2)

        assert (early.leases, early.next_at) == ((), START + 11)
        assert [(task.url, task.recoveries) for task in again.tasks] == [(task.url, 1) for task in lost.tasks]

    async def test_a_task_that_kills_its_workers_dies(self, name: str, clock: FakeClock) -> None:
        """H0-5: recoveries are counted and capped."""
        rules = FrontierRules(settle=SettleRules(max_recoveries=2))
        async with self.open(name, rules, clock) as frontier:
            await frontier.add([page(1)])
            for _ in range(3):
                await self.lease_one(frontier, seconds=10)
                clock.advance(20)
            over = await frontier.lease(sites=1, tasks=1, seconds=10)
            census = await frontier.census()

        assert (over.leases, over.next_at) == ((), None)
        assert (census.dead, census.leased) == ({Reason.LEASE_EXPIRED_TOO_OFTEN: 1}, 0)
        assert census.adds_up

    async def test_a_lease_can_be_extended_and_given_back(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier, seconds=10)
            clock.advance(9)
            extended = await frontier.extend([lease], 10)
            clock.advance(9)
            nothing = await frontier.lease(sites=1, tasks=1, seconds=10)
            await frontier.release([lease])
            lost = await frontier.extend([lease], 10)
            again = await self.lease_one(frontier)

        assert extended == [replace(lease, deadline=START + 19)]
        assert nothing.leases == ()
        assert lost == [None]
        assert again.tasks[0].recoveries == 0

    async def test_a_site_set_aside_takes_its_tasks_with_it_and_revive_brings_them_back(
        self, name: str, clock: FakeClock
    ) -> None:
        """DESIGN 2.2: skipped as site_unreachable, apart from the dead letters, and the crawl still ends."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(n) for n in range(4)])
            lease = await self.lease_one(frontier)
            down = Breaker(BreakerState.OPEN, failures=5, probes=12, probe_at=START + 9, down_since=START)
            given_up = replace(lease.site, set_aside=True, breaker=down)
            skip = Skip(Reason.SITE_UNREACHABLE)
            await frontier.settle([Settled(lease, given_up, ((lease.tasks[0], skip),))])
            late = await frontier.add([page(9)])
            clock.advance(1_000)
            ended = await frontier.lease(sites=1, tasks=9, seconds=60)
            aside = await frontier.census()
            revived = await frontier.revive(Filter(reason=Reason.SITE_UNREACHABLE))
            back = await self.lease_one(frontier, tasks=9)
            census = await frontier.census()

        assert late == [Added.NEW]
        assert (ended.leases, ended.next_at) == ((), None)
        assert (aside.is_finished, aside.skipped) == (True, {Reason.SITE_UNREACHABLE: 5})
        assert aside.adds_up
        assert revived == 5
        assert sorted(paths(back)) == ["/0", "/1", "/2", "/3", "/9"]
        assert (back.site.breaker, back.site.set_aside) == (Breaker(), False)
        assert (census.pending, census.skipped, census.adds_up) == (5, {}, True)

    async def test_the_dead_are_revived_by_filter_with_fresh_counts(self, name: str, clock: FakeClock) -> None:
        """C18, S0-18, H0-13."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1), page(2), page(1, "example.org"), page(3)])
            lent = await frontier.lease(sites=2, tasks=9, seconds=60)
            for lease in lent.leases:
                gone, looping = Dead(Reason.HTTP_404, 1), Dead(Reason.TOO_MANY_REDIRECTS, 2)
                ends = tuple((task, looping if task.url.path == "/2" else gone) for task in lease.tasks)
                await frontier.settle([Settled(lease, lease.site, ends)])
            none = await frontier.revive(Filter(reason=Reason.HTTP_500))
            by_reason = await frontier.revive(Filter(State.DEAD, Reason.TOO_MANY_REDIRECTS))
            by_site = await frontier.revive(Filter(site="example.org"))
            census = await frontier.census()
            clock.advance(60)
            again = await frontier.lease(sites=9, tasks=9, seconds=60)

        assert (none, by_reason, by_site) == (0, 1, 1)
        assert (census.pending, census.dead, census.adds_up) == (2, {Reason.HTTP_404: 2}, True)
        assert [(paths(lease), lease.tasks[0].visits) for lease in again.leases] == [(["/2"], 0), (["/1"], 0)]
