"""Can an operator end what is owed, or might be revived, for good? Skipped for a store that takes no orders."""

# ruff: noqa: S101 - a contract asserts

import asyncio
from typing import cast

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Added, Filter, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules, OwesAgain
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import START, done, page, paths, task
from outrider.testing.contracts.frontier.orders import OrderedStore, OrdersBase
from outrider.testing.contracts.frontier.owing import OwingStore, pushed

DISMISSED = Reason.DISMISSED


def unwanted(*tasks: Task, reason: Reason = DISMISSED) -> list[tuple[Url, Reason]]:
    return [(task.url, reason) for task in tasks]


class DismissingContract(OrdersBase):
    async def end(self, frontier: OrderedStore, ends: dict[str, Settlement]) -> None:
        """What is due and named here by its path, becomes this."""
        lent = await frontier.lease(sites=10, tasks=100, seconds=60)
        accounts = [
            Settled(lease, lease.site, tuple((t, ends[t.url.path]) for t in lease.tasks if t.url.path in ends))
            for lease in lent.leases
        ]
        assert all(await frontier.settle(accounts))

    async def test_what_is_owed_now_or_later_is_dismissed_and_stays_known(self, name: str, clock: FakeClock) -> None:
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(n) for n in range(5)])
            await self.end(frontier, {"/0": Later(START + 50, Reason.HTTP_500, 1)})
            gone = await frontier.dismiss(
                [*unwanted(page(0), page(3)), *unwanted(page(4), reason=Reason.EXCLUDED_SITE), *unwanted(page(9))]
            )
            census = await frontier.census()
            added = await frontier.add([page(0), page(3), page(4)])
            revived = await frontier.revive(Filter())
            entry = await frontier.find(page(3).url)
            clock.advance(100)
            left = await self.lease_one(frontier, tasks=9)

        assert gone == [True, True, True, False]
        assert (census.pending, census.waiting, census.skipped) == (2, 0, {DISMISSED: 2, Reason.EXCLUDED_SITE: 1})
        assert census.adds_up
        assert (added, revived) == ([Added.KNOWN] * 3, 0)
        assert entry is None or (entry.state, entry.reason, entry.task) == (State.SKIPPED, DISMISSED, None)
        assert paths(left) == ["/1", "/2"]

    async def test_of_two_who_dismiss_one_url_one_does(self, name: str, clock: FakeClock) -> None:
        """Also twice in one batch, also under another spelling: there is one URL, and the first reason counts."""
        async with self.ordered(name, clock) as frontier:
            await frontier.add([task("http://example.com/~user"), page(2)])
            both = await frontier.dismiss(
                [
                    (Url("http://example.com/%7euser"), Reason.EXCLUDED_SITE),
                    (Url("http://example.com/~user"), DISMISSED),
                ]
            )
            later = await frontier.dismiss([(Url("http://example.com/~user"), DISMISSED)])
            nothing = await frontier.dismiss([])
            census = await frontier.census()

        assert (both, later, nothing) == ([True, False], [False], [])
        assert (census.pending, census.skipped, census.adds_up) == (1, {Reason.EXCLUDED_SITE: 1}, True)

    async def test_many_who_dismiss_at_once_dismiss_each_url_once(self, name: str, clock: FakeClock) -> None:
        if not self.shared:
            pytest.skip("this store belongs to one process")
        pages = [page(n, f"s{n % 4}.org") for n in range(24)]
        async with self.ordered(name, clock) as one, self.ordered(name, clock) as two:
            await one.add(pages)
            answers = await asyncio.gather(
                *(store.dismiss(unwanted(*part)) for store in (one, two) for part in (pages, pages[::-1], pages[::3]))
            )
            census = await two.census()

        assert sum(sum(answer) for answer in answers) == len(pages)
        assert (census.pending, census.skipped, census.adds_up) == (0, {DISMISSED: 24}, True)

    async def test_a_task_that_a_lease_shows_is_taken_back(self, name: str, clock: FakeClock) -> None:
        """What its holder settles about it is ignored; the rest of the account is taken."""
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(n) for n in range(4)])
            lease = await self.lease_one(frontier, tasks=3)
            gone = await frontier.dismiss(unwanted(page(0), page(3)))
            extended = await frontier.extend([lease], 60)
            moved = Done(Url("http://example.com/new"), lease.tasks[0].url, 200, Validators(), Changes())
            ends: tuple[tuple[Task, Settlement], ...] = (
                (lease.tasks[0], moved),
                (lease.tasks[1], done(lease.tasks[1])),
            )
            taken = await frontier.settle([Settled(lease, replace(lease.site, fetched=1), ends)])
            census = await frontier.census()
            clock.advance(60)
            left = await self.lease_one(frontier, tasks=9)

        assert gone == [True, True]
        assert extended != [None]
        assert taken == [True]
        assert (census.discovered, census.pending, census.fetched, census.skipped) == (4, 1, 1, {DISMISSED: 2})
        assert census.adds_up
        assert (paths(left), left.site.fetched) == (["/2"], 1)

    async def test_a_holder_that_is_left_with_nothing_gives_the_site_back_as_usual(
        self, name: str, clock: FakeClock
    ) -> None:
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(1)])
            lease = await self.lease_one(frontier)
            await frontier.dismiss(unwanted(page(1)))
            during = await frontier.lease(sites=1, tasks=1, seconds=60)
            await frontier.settle([Settled(lease, lease.site)])
            census = await frontier.census()
            await frontier.add([page(2)])
            clock.advance(60)
            left = await self.lease_one(frontier, tasks=9)

        assert (during.leases, during.next_at) == ((), None)
        assert (census.leased, census.is_finished, census.adds_up) == (0, True, True)
        assert paths(left) == ["/2"]

    async def test_a_lease_that_runs_out_recovers_what_was_not_dismissed(self, name: str, clock: FakeClock) -> None:
        rules = FrontierRules(settle=SettleRules(max_recoveries=1))
        async with self.ordered(name, clock, rules) as frontier:
            await frontier.add([page(1), page(2)])
            await self.lease_one(frontier, tasks=2, seconds=10)
            await frontier.dismiss(unwanted(page(1)))
            clock.advance(20)
            again = await self.lease_one(frontier, tasks=2, seconds=10)
            census = await frontier.census()

        assert [(t.url.path, t.recoveries) for t in again.tasks] == [("/2", 1)]
        assert (census.pending, census.skipped, census.adds_up) == (1, {DISMISSED: 1}, True)

    async def test_what_is_dead_or_skipped_and_could_be_revived_is_dismissed_for_good(
        self, name: str, clock: FakeClock
    ) -> None:
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(n) for n in range(4)])
            dead, skipped = Dead(Reason.HTTP_404, 1, status=404), Skip(Reason.ROBOTS_DISALLOWED)
            await self.end(frontier, {"/0": dead, "/1": skipped, "/2": Dead(Reason.HTTP_500, 3)})
            gone = await frontier.dismiss(unwanted(page(0), page(1)))
            again = await frontier.dismiss(unwanted(page(0)))
            census = await frontier.census()
            revived = await frontier.revive(Filter())
            lines = [entry async for entries in frontier.entries(Filter(State.DEAD)) for entry in entries]

        assert (gone, again) == ([True, True], [False])
        assert (census.skipped, census.dead, census.adds_up) == ({DISMISSED: 2}, {Reason.HTTP_500: 1}, True)
        assert (revived, lines) == (1, [])

    async def test_what_was_fetched_refused_or_is_an_alias_is_left_alone(self, name: str, clock: FakeClock) -> None:
        refused = Url("http://example.com/refused")
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(n) for n in range(3)], [(refused, Reason.TOO_DEEP)])
            final = Url("http://example.com/final")
            await self.end(frontier, {"/0": done(page(0)), "/1": MovedTo(page(0).url), "/2": done(page(2), final)})
            before = await frontier.census()
            gone = await frontier.dismiss(
                [*unwanted(page(0), page(1), page(2)), (final, DISMISSED), (refused, DISMISSED)]
            )
            after = await frontier.census()

        assert gone == [False] * 5
        assert after == before

    async def test_what_a_site_set_aside_owes_is_dismissed_and_does_not_come_back(
        self, name: str, clock: FakeClock
    ) -> None:
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(n) for n in range(3)])
            lease = await self.lease_one(frontier)
            await frontier.settle([Settled(lease, replace(lease.site, set_aside=True))])
            gone = await frontier.dismiss(unwanted(page(0), page(2)))
            census = await frontier.census()
            revived = await frontier.revive(Filter(reason=Reason.SITE_UNREACHABLE))
            clock.advance(60)
            back = await self.lease_one(frontier, tasks=9)

        assert gone == [True, True]
        assert (census.skipped, census.adds_up) == ({DISMISSED: 2, Reason.SITE_UNREACHABLE: 1}, True)
        assert (revived, paths(back)) == (1, ["/1"])

    async def test_a_task_in_the_queue_of_another_site_is_found_there(self, name: str, clock: FakeClock) -> None:
        """A redirect gave it a name of another site while it was owed on."""
        other = page(2, "other.org")
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(1)])
            owed_on = Done(other.url, page(1).url, 200, Validators(), Changes(), due_at=START + 50)
            await self.end(frontier, {"/1": owed_on})
            gone = await frontier.dismiss(unwanted(other))
            census = await frontier.census()
            nothing = await frontier.lease(sites=9, tasks=9, seconds=60)

        assert gone == [True]
        assert (census.waiting, census.alias, census.skipped, census.adds_up) == (0, 1, {DISMISSED: 1}, True)
        assert (nothing.leases, nothing.next_at) == ((), None)

    async def test_a_dismissed_url_is_owed_again_by_an_explicit_wish_alone(self, name: str, clock: FakeClock) -> None:
        async with self.ordered(name, clock) as frontier:
            if not isinstance(frontier, OwesAgain):
                pytest.skip("this store owes nothing again")
            owing = cast("OwingStore", frontier)
            await owing.add([page(1), page(2)])
            await self.end(frontier, {"/2": Dead(Reason.HTTP_404, 1)})
            await frontier.dismiss(unwanted(page(1), page(2)))
            left_alone = await owing.owe_again([pushed(page(1)), pushed(page(2))])
            wished = await owing.owe_again([pushed(page(1)), pushed(page(2))], ended=True)
            census = await owing.census()
            clock.advance(60)
            back = await self.lease_one(frontier, tasks=9)

        assert (left_alone, wished) == (0, 2)
        assert (census.pending, census.skipped, census.adds_up) == (2, {}, True)
        assert sorted(paths(back)) == ["/1", "/2"]

    async def test_many_are_dismissed_at_once(self, name: str, clock: FakeClock) -> None:
        pages = [page(n, f"s{n % 7}.org") for n in range(400)]
        async with self.ordered(name, clock) as frontier:
            await frontier.add(pages)
            gone = await frontier.dismiss(unwanted(*pages[:350]))
            census = await frontier.census()
            left = [entry.url async for entries in frontier.entries(Filter(State.PENDING)) for entry in entries]

        assert gone == [True] * 350
        assert (census.pending, census.skipped, census.adds_up) == (50, {DISMISSED: 350}, True)
        assert sorted(left) == sorted(page.url for page in pages[350:])
