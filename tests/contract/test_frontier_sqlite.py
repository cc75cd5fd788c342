"""The SQLite frontier keeps the contract."""

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine


class TestSqliteFrontier(FrontierContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"sqlite://{self.path}/{name}.db", rules, clock)


class TestSqliteFrontierThatKeepsMerging(TestSqliteFrontier):
    """With room for three hashes before the tree: most acts find some here, some there, and merge them."""

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"sqlite://{self.path}/{name}.db?recent=3", rules, clock)


@pytest.mark.parametrize("options", ["", "?recent=3"])
def test_any_story_has_the_answers_of_the_policy(tmp_path: Path, options: str) -> None:
    def open_store(name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(f"sqlite://{tmp_path}/{name}.db{options}", rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "30"))
    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))
    print(f"sqlite: {examples} stories")
