"""The Redis frontier keeps the contract: on one server, with one bucket and with several."""

import os
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.services.redis import RedisServer

from outrider.errors import StoreError
from outrider.model.reason import Reason
from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier import FrontierContract, machine
from outrider.testing.contracts.frontier.base import RULES, page
from outrider.testing.contracts.frontier.owing import OwingStore


class TestRedisFrontier(FrontierContract):
    compact = True

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.server = redis_server

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{self.server.url}?prefix={name}", rules, clock)


class TestRedisFrontierInBuckets(TestRedisFrontier):
    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{self.server.url}?prefix={name}&buckets=7&pool=4", rules, clock)


class TestRedisFrontierByFilter(TestRedisFrontier):
    """C26: with an error of one in a million, so few URLs are told apart as exactly as by their hashes."""

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        options = "buckets=3&dedup=bloom&capacity=3000&error=0.000001"
        return open_frontier(f"{self.server.url}?prefix={name}&{options}", rules, clock)

    async def bare(self, frontier: OwingStore) -> list[int] | None:
        """A filter lists nothing; so it must be asked only while there is nothing to list."""
        try:
            return await super().bare(frontier)
        except StoreError:
            return None

    async def test_a_frontier_can_be_moved_and_moved_again(self, name: str, clock: FakeClock) -> None:
        """Only while nothing has ended: a filter cannot be listed, and whoever asks it to is told."""
        async with self.open(name, RULES, clock) as source, self.open(f"{name}b", source.rules, clock) as target:
            await source.add([page(n) for n in range(4)])
            first = await self.move(source, target)
            again = await self.move(source, target)
            await source.add([], [(page(9).url, Reason.TOO_DEEP)])
            with pytest.raises(StoreError, match="in a Bloom filter"):
                await self.move(source, target)
            after = await target.census()

        assert (first, again) == (4, 0)
        assert (after.discovered, after.pending) == (4, 4)


@pytest.mark.parametrize("options", ["buckets=1", "buckets=5"])
async def test_the_time_of_a_lease_is_the_server_s(redis_server: RedisServer, options: str) -> None:
    """H4-7: whatever the worker's own clock says."""

    def time() -> float:
        with redis_server.client() as client:
            seconds, microseconds = client.time()
        return float(seconds + microseconds / 1e6)

    async with open_frontier(f"{redis_server.url}?prefix=t{uuid4().hex[:12]}&{options}", RULES) as frontier:
        await frontier.add([page(1), page(1, "example.org")])
        times = [time()]
        for _ in range(2):
            leased = await frontier.lease(sites=9, tasks=1, seconds=60)
            times += [leased.at, time()]

    assert times == sorted(times)


@pytest.mark.parametrize("options", ["buckets=1", "buckets=5", "buckets=2&dedup=bloom&capacity=100&error=0.000001"])
def test_any_story_has_the_answers_of_the_memory_frontier(redis_server: RedisServer, options: str) -> None:
    def open_store(name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{redis_server.url}?prefix={name}&{options}", rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "24"))

    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))

    print(f"redis, {options}: {examples} stories")
