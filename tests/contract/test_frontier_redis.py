"""The Redis frontier keeps the contract: on one server, with one bucket and with several."""

import os
from contextlib import AbstractAsyncContextManager

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.services.redis import RedisServer

from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine


class TestRedisFrontier(FrontierContract):
    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.server = redis_server

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{self.server.url}?prefix={name}", rules, clock)


class TestRedisFrontierInBuckets(TestRedisFrontier):
    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{self.server.url}?prefix={name}&buckets=7&pool=4", rules, clock)


@pytest.mark.parametrize("buckets", [1, 5])
def test_any_story_has_the_answers_of_the_memory_frontier(redis_server: RedisServer, buckets: int) -> None:
    def open_store(name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{redis_server.url}?prefix={name}&buckets={buckets}", rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "40"))

    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))

    print(f"redis, {buckets} buckets: {examples} stories")
