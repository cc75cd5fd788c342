"""Does the store keep what an operator said about a site? Skipped for a store that takes no orders."""

# ruff: noqa: S101 - a contract asserts

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol, cast

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Settled
from outrider.model.order import SiteOrder
from outrider.ports import FrontierRules, TakesOrders
from outrider.stores.registry import FrontierStore
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, page


class OrderedStore(FrontierStore, TakesOrders, Protocol):
    """A store that does."""


class OrdersBase(Base):
    @asynccontextmanager
    async def ordered(self, name: str, clock: FakeClock, rules: FrontierRules = RULES) -> AsyncIterator[OrderedStore]:
        async with self.open(name, rules, clock) as frontier:
            if not isinstance(frontier, TakesOrders):
                pytest.skip("this store takes no orders")
            yield cast("OrderedStore", frontier)


class OrdersContract(OrdersBase):
    async def test_the_last_order_about_a_site_stands_whether_the_site_is_known_or_not(
        self, name: str, clock: FakeClock
    ) -> None:
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(1, "b.org")])
            none = await frontier.orders()
            for order in (
                SiteOrder("b.org", paused=True, at=START),
                SiteOrder("bücher.example:8080", delay=0.25, at=START + 1),
                SiteOrder("a.org", excluded=True, at=START + 2),
                SiteOrder("b.org", delay=7.5, at=START + 3),
            ):
                await frontier.order(order)
            said = await frontier.orders()
            await frontier.order(SiteOrder("b.org", at=START + 4))
            await frontier.order(SiteOrder("never.said", at=START + 4))
            left = await frontier.orders()

        assert none == []
        assert said == [
            SiteOrder("a.org", excluded=True, at=START + 2),
            SiteOrder("b.org", delay=7.5, at=START + 3),
            SiteOrder("bücher.example:8080", delay=0.25, at=START + 1),
        ]
        assert [order.site for order in left] == ["a.org", "bücher.example:8080"]

    async def test_no_holder_unsays_an_order_and_all_who_share_the_store_hear_it(
        self, name: str, clock: FakeClock
    ) -> None:
        order = SiteOrder("example.com", paused=True, excluded=True, delay=3.0, at=START)
        async with self.ordered(name, clock) as frontier:
            await frontier.add([page(1), page(2)])
            lease = await self.lease_one(frontier)
            await frontier.order(order)
            await frontier.settle([Settled(lease, replace(lease.site, fetched=1))])
            clock.advance(60)
            given_back = await self.lease_one(frontier)
            await frontier.release([given_back])
            heard = await frontier.orders()
            if not self.shared:
                return
            async with self.ordered(name, clock) as other:
                elsewhere = await other.orders()

        assert heard == elsewhere == [order]

    async def test_orders_outlive_whoever_heard_them(self, name: str, clock: FakeClock) -> None:
        if not self.shared:
            pytest.skip("this store belongs to one process")
        async with self.ordered(name, clock) as frontier:
            await frontier.order(SiteOrder("a.org", paused=True, at=START))

        async with self.ordered(name, clock) as frontier:
            kept = await frontier.orders()

        assert kept == [SiteOrder("a.org", paused=True, at=START)]
