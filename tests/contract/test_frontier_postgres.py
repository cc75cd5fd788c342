"""The PostgreSQL frontier keeps the contract."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.services.postgres import PostgresServer, running

from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


class TestPostgresFrontier(FrontierContract):
    @pytest.fixture(autouse=True)
    async def drop_schemas(self, server: PostgresServer, name: str) -> AsyncIterator[None]:
        self.server = server
        yield
        await server.drop(name)
        await server.drop(f"{name}b")

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(self.server.url(name), rules, clock)


def test_any_story_has_the_answers_of_the_policy(server: PostgresServer) -> None:
    @asynccontextmanager
    async def open_store(name: str, rules: FrontierRules, clock: Clock) -> AsyncIterator[FrontierStore]:
        async with open_frontier(server.url(name), rules, clock) as frontier:
            yield frontier
        await server.drop(name)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "30"))
    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))
    print(f"postgresql: {examples} stories")
