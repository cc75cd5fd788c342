"""The Redis frontier keeps the contract when most of every queue is in files: order, ledger and all."""

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.services.redis import RedisServer

from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine


def url_of(server: RedisServer, folder: Path, name: str, options: str) -> str:
    return f"redis+files://127.0.0.1:{server.port}/0?prefix={name}&files={folder}&{options}"


class TestRedisFilesFrontier(FrontierContract):
    """S2-4, S2-42."""

    options = "head=3"

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer, tmp_path: Path) -> None:
        self.server = redis_server
        self.folder = tmp_path

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(url_of(self.server, self.folder, name, self.options), rules, clock)


class TestRedisFilesFrontierWithTheShortestHead(TestRedisFilesFrontier):
    options = "head=1&buckets=7&pool=4"


@pytest.mark.parametrize("options", ["head=3", "head=1&buckets=5"])
def test_any_story_has_the_answers_of_the_memory_frontier(
    redis_server: RedisServer, tmp_path: Path, options: str
) -> None:
    def open_store(name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(url_of(redis_server, tmp_path, name, options), rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "40"))

    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))

    print(f"redis+files, {options}: {examples} stories")
