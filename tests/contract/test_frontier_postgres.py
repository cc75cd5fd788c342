"""The PostgreSQL frontier keeps the contract."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from tests.services.postgres import PostgresServer, running

from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine
from outrider.testing.contracts.frontier.base import RULES, page


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


async def test_the_time_of_a_lease_is_the_server_s(server: PostgresServer) -> None:
    """H4-7: whatever the worker's own clock says."""

    async def time() -> float:
        async with server.connected() as connection:
            cursor = await connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
            ((now,),) = await cursor.fetchall()
        return float(str(now))

    name = f"t{uuid4().hex[:12]}"
    async with open_frontier(server.url(name), RULES) as frontier:
        await frontier.add([page(1), page(1, "example.org")])
        times = [await time()]
        for _ in range(2):
            leased = await frontier.lease(sites=9, tasks=1, seconds=60)
            times += [leased.at, await time()]
    await server.drop(name)

    assert times == sorted(times)


def test_any_story_has_the_answers_of_the_policy(server: PostgresServer) -> None:
    @asynccontextmanager
    async def open_store(name: str, rules: FrontierRules, clock: Clock) -> AsyncIterator[FrontierStore]:
        async with open_frontier(server.url(name), rules, clock) as frontier:
            yield frontier
        await server.drop(name)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "16"))
    run_state_machine_as_test(machine(open_store), settings=settings(max_examples=examples, deadline=None))
    print(f"postgresql: {examples} stories")
