"""The Redis frontier keeps the contract on a cluster of three, too."""

import os
from contextlib import AbstractAsyncContextManager

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.services.redis import RedisClusterNodes

from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine


class TestRedisClusterFrontier(FrontierContract):
    compact = True

    @pytest.fixture(autouse=True)
    def _cluster(self, redis_cluster: RedisClusterNodes) -> None:
        self.cluster = redis_cluster

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{self.cluster.url}?prefix={name}", rules, clock)


def test_any_story_has_the_answers_of_the_memory_frontier(redis_cluster: RedisClusterNodes) -> None:
    def open_store(name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"{redis_cluster.url}?prefix={name}&buckets=6", rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "20"))

    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))

    print(f"redis cluster: {examples} stories")
