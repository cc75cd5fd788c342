"""The memory frontier keeps the contract."""

import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from outrider.ports import Clock, FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.registry import FrontierStore
from outrider.testing.contracts.frontier import FrontierContract, machine


class TestMemoryFrontier(FrontierContract):
    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return self._same(name, rules, clock)

    @asynccontextmanager
    async def _same(self, name: str, rules: FrontierRules, clock: Clock) -> AsyncIterator[FrontierStore]:
        """One process is all it has, so every handle is the same object."""
        stores = self.__dict__.setdefault("stores", {})
        yield stores.setdefault(name, MemoryFrontier(rules, clock))


def test_any_story_has_the_answers_of_the_policy() -> None:
    @asynccontextmanager
    async def open_store(_: str, rules: FrontierRules, clock: Clock) -> AsyncIterator[FrontierStore]:
        yield MemoryFrontier(rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "60"))
    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))
    print(f"memory: {examples} stories")
