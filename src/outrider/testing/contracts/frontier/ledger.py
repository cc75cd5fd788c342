"""Can the store be read, moved, and shared by many?"""

# ruff: noqa: S101 - a contract asserts

import asyncio

import pytest
from msgspec.structs import replace

from outrider.model.identity import Identity
from outrider.model.ledger import Added, Entry, Settled, State
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, Settlement
from outrider.model.site import Site
from outrider.model.url import Url
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, done, page, paths


class LedgerContract(Base):
    async def test_a_line_of_the_ledger_says_what_became_of_a_url(self, name: str, clock: FakeClock) -> None:
        async with self.open(name, RULES, clock) as frontier:
            await frontier.add([page(1), page(2)])
            lease = await self.lease_one(frontier)
            dead = Dead(Reason.HTTP_404, 1, "gone", 404)
            await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], dead),))])
            found = [await frontier.find(page(n).url) for n in (1, 2, 3)]

        assert found[0] == Entry(
            page(1).url, State.DEAD, "example.com", lease.tasks[0], Reason.HTTP_404, "gone", status=404, visits=1
        )
        assert found[1] is not None
        assert (found[1].state, found[1].task and found[1].task.url) == (State.PENDING, page(2).url)
        assert found[2] is None

    async def test_a_frontier_can_be_moved_and_moved_again(self, name: str, clock: FakeClock) -> None:
        """S2-10, S2-11, H2-21: into a second store, idempotently; the ledger is the same, and so is what is lent."""
        async with self.open(name, RULES, clock) as source, self.open(f"{name}b", source.rules, clock) as target:
            refused = [(Url("http://c.org/x|y"), Reason.OUT_OF_SCOPE)]
            await source.add([page(n, site) for site in ("a.org", "b.org") for n in range(4)], refused)
            lease = await self.lease_one(source, tasks=3)
            ends: list[Settlement] = [
                done(lease.tasks[0]),
                Dead(Reason.HTTP_404, 1),
                Later(START + 50, Reason.HTTP_500, 1),
            ]
            await source.settle([Settled(lease, lease.site, tuple(zip(lease.tasks, ends, strict=True)))])
            first = await self.move(source, target)
            again = await self.move(source, target)
            before, after = await source.census(), await target.census()
            clock.advance(100)
            lent = [await frontier.lease(sites=9, tasks=9, seconds=60) for frontier in (source, target)]

        assert (first, again) == (9, 0)
        # A compact store knows only the hashes of what was fetched or refused, so those count together.
        assert (before.discovered, before.pending, before.waiting, before.dead, before.sites) == (
            after.discovered,
            after.pending,
            after.waiting,
            after.dead,
            after.sites,
        )
        assert after.adds_up
        assert [[(lease.site.key, paths(lease)) for lease in leased.leases] for leased in lent] == [
            [("b.org", ["/0", "/1", "/2", "/3"]), ("a.org", ["/3", "/2"])],
        ] * 2

    async def test_a_site_excluded_by_hand_stays_so_when_it_is_moved(self, name: str, clock: FakeClock) -> None:
        """S2-3, S2-20."""
        async with self.open(name, RULES, clock) as frontier:
            await frontier.restore(sites=[Site("example.com", excluded=True), Site("b.org", not_before=START + 9)])
            await frontier.add([page(1), page(1, "b.org")])
            nothing = await frontier.lease(sites=9, tasks=9, seconds=60)
            clock.advance(9)
            lent = await frontier.lease(sites=9, tasks=9, seconds=60)

        assert (nothing.leases, nothing.next_at) == ((), START + 9)
        assert [lease.site.key for lease in lent.leases] == ["b.org"]

    async def test_a_store_keeps_a_seed_of_its_own_that_all_who_open_it_share(
        self, name: str, clock: FakeClock
    ) -> None:
        async with self.open(name, RULES, clock) as one, self.open(f"{name}b", RULES, clock) as other:
            await one.add([page(1)])
            async with self.open(name, RULES, clock) as two:
                again = await two.add([page(1)])
                rules = two.rules

        assert again == [Added.KNOWN]
        assert 0 < one.rules.identity.seed < 2**63
        assert rules == one.rules == replace(RULES, identity=one.rules.identity)
        assert other.rules.identity.seed not in {0, rules.identity.seed}

    async def test_a_seed_that_is_given_is_kept(self, name: str, clock: FakeClock) -> None:
        given = replace(RULES, identity=Identity(seed=2**62 + 1))
        async with self.open(name, given, clock) as frontier:
            await frontier.add([page(1)])
            made = frontier.rules
        async with self.open(name, RULES, clock) as frontier:
            kept = frontier.rules

        assert made == kept == given

    async def test_many_workers_at_once_lease_every_site_exactly_once(self, name: str, clock: FakeClock) -> None:
        """C25, C33, H2-13, H2-14, H2-33: many handles on one store, no site twice, nothing lost."""
        if not self.shared:
            pytest.skip("this store belongs to one process")
        sites = [f"s{n}.org" for n in range(40)]
        async with (
            self.open(name, RULES, clock) as one,
            self.open(name, RULES, clock) as two,
            self.open(name, RULES, clock) as three,
        ):
            await one.add([page(n, site) for site in sites for n in range(2)])
            lent = await asyncio.gather(
                *(frontier.lease(sites=3, tasks=5, seconds=60) for _ in range(6) for frontier in (one, two, three))
            )
            census = await two.census()

        keys = [lease.site.key for leased in lent for lease in leased.leases]
        assert sorted(keys) == sorted(sites)
        assert census.leased == 40

    async def test_many_workers_add_the_same_urls_and_each_is_new_once(self, name: str, clock: FakeClock) -> None:
        """H2-20."""
        if not self.shared:
            pytest.skip("this store belongs to one process")
        async with self.open(name, RULES, clock) as one, self.open(name, RULES, clock) as two:
            answers = await asyncio.gather(
                *(frontier.add([page(n) for n in range(50)]) for _ in range(4) for frontier in (one, two))
            )
            census = await one.census()

        assert sum(answer is Added.NEW for batch in answers for answer in batch) == 50
        assert (census.discovered, census.pending) == (50, 50)
