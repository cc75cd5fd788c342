"""Can one site be looked at, without a walk over all? Skipped for a store that does not offer it."""

# ruff: noqa: S101 - a contract asserts

import pytest
from msgspec.structs import replace

from outrider.model.ledger import Settled
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.site import Breaker, BreakerState, Site
from outrider.stores.registry import FrontierStore, LooksAtSites
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import RULES, START, Base, page


class LookingContract(Base):
    async def test_one_site_is_seen_as_the_walk_over_all_shows_it_and_until_when_it_is_lent(
        self, name: str, clock: FakeClock
    ) -> None:
        robots = RobotsFile("http://a.org", RobotsStatus.FOUND, START, START + 60, b"User-agent: *\nDisallow: /x")
        breaker = Breaker(BreakerState.OPEN, failures=5, openings=1, probe_at=START + 30, down_since=START)
        async with self.open(name, RULES, clock) as frontier:
            if not isinstance(frontier, LooksAtSites):
                pytest.skip("this frontier does not look at one site")
            await frontier.add([page(1, "a.org")])
            lease = await self.lease_one(frontier, seconds=60)

            lent = await frontier.look_at("a.org")
            known = replace(lease.site, robots=(robots,), breaker=breaker, not_before=START + 30, fetched=3)
            await frontier.settle([Settled(lease, known)])
            given_back = await frontier.look_at("a.org")
            nobody = await frontier.look_at("b.org")

            assert lent is not None
            assert lent[1] == START + 60
            assert given_back is not None
            assert given_back == (await _walked_to(frontier, "a.org"), None)
            assert (given_back[0].robots, given_back[0].breaker, given_back[0].fetched) == ((robots,), breaker, 3)
            assert nobody is None


async def _walked_to(frontier: FrontierStore, key: str) -> Site:
    return next(site for sites in [batch async for batch in frontier.sites()] for site in sites if site.key == key)
