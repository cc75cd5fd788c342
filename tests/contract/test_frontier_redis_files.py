"""The Redis frontier keeps the contract when most of every queue is in files: order, ledger and all."""

import os
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test
from tests.services.redis import RedisServer

from outrider.model.ledger import Entry, Settled, State
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.settle import SettleRules
from outrider.ports import Clock, FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.frontier import FrontierContract, machine
from outrider.testing.contracts.frontier.base import done
from outrider.testing.contracts.frontier.machine import FrontierMachine


def url_of(server: RedisServer, folder: Path, name: str, options: str) -> str:
    return f"redis+files://127.0.0.1:{server.port}/0?prefix={name}&files={folder}&{options}"


class TestRedisFilesFrontier(FrontierContract):
    """S2-4, S2-42."""

    compact = True
    options = "head=3"

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer, tmp_path: Path) -> None:
        self.server = redis_server
        self.folder = tmp_path

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(url_of(self.server, self.folder, name, self.options), rules, clock)


class TestRedisFilesFrontierWithTheShortestHead(TestRedisFilesFrontier):
    options = "head=1&buckets=7&pool=4"


HOT = FrontierRules(settle=SettleRules(max_recoveries=2))


class HotSites(FrontierMachine):
    """Queues that grow faster than they are visited, so that most leases are filled from files; no quota stops them."""

    def __init__(self) -> None:
        super().__init__()
        self.model = MemoryFrontier(HOT, self.clock)
        self.pages = 0

    @initialize()
    def begin(self) -> None:
        opened = type(self).open_store(f"m{uuid4().hex[:12]}", HOT, self.clock)
        self.store = self.run(self.stack.enter_async_context(opened))

    @rule(pages=st.integers(4, 15), site=st.sampled_from(["a", "b"]), priority=st.sampled_from([0, 0, 0, 1]))
    def add_many(self, pages: int, site: str, priority: int) -> None:
        numbers = range(self.pages, self.pages + pages)
        self.pages += pages
        batch = [Task(Url(f"http://{site}.org/hot/{number}"), priority=priority) for number in numbers]
        self.both(lambda frontier: frontier.add(batch))

    @rule(data=st.data())
    def owe_many_again(self, data: st.DataObject) -> None:
        """Some are in the queue, most of those in files; some have been visited."""
        numbers = data.draw(st.lists(st.integers(0, self.pages), max_size=12))
        batch = [Task(Url(f"http://{site}.org/hot/{number}")) for number in numbers for site in ("a", "b")]
        self.both(lambda frontier: frontier.owe_again(batch, ended=True))

    @rule(data=st.data())
    def dismiss_many(self, data: st.DataObject) -> None:
        """Some are at the head, some in files, some behind those, and some are shown."""
        numbers = data.draw(st.lists(st.integers(0, self.pages), max_size=12))
        batch = [(Url(f"http://{site}.org/hot/{number}"), Reason.DISMISSED) for number in numbers for site in "ab"]
        self.both(lambda frontier: frontier.dismiss(batch))

    @rule(tasks=st.integers(1, 9))
    def lease_and_give_back(self, tasks: int) -> None:
        self.clock.advance(50.0)
        leased = self.both(lambda frontier: frontier.lease(sites=4, tasks=tasks, seconds=40.0))
        self.both(lambda frontier: frontier.release(leased.leases))
        self.lent_at |= {lease.site.key: self.clock.now() for lease in leased.leases}

    @rule()
    def visit_many(self) -> None:
        self.clock.advance(50.0)
        leased = self.both(lambda frontier: frontier.lease(sites=4, tasks=7, seconds=40.0))
        self.lent_at |= {lease.site.key: self.clock.now() for lease in leased.leases}
        accounts = [
            Settled(lease, lease.site, tuple((task, done(task)) for task in lease.tasks)) for lease in leased.leases
        ]
        self.both(lambda frontier: frontier.settle(accounts))

    @rule()
    def read_all_that_is_owed(self) -> None:
        async def owed(frontier: FrontierStore) -> dict[str, list[Entry]]:
            by_site: dict[str, list[Entry]] = {}
            async for entries in frontier.entries():
                for entry in entries:
                    if entry.state in {State.PENDING, State.WAITING}:
                        by_site.setdefault(entry.site, []).append(entry)
            return by_site

        self.both(owed)


@pytest.mark.parametrize("hot", [False, True], ids=["few tasks", "hot sites"])
@pytest.mark.parametrize("options", ["head=3", "head=1&buckets=5"])
def test_any_story_has_the_answers_of_the_memory_frontier(
    redis_server: RedisServer, tmp_path: Path, options: str, *, hot: bool
) -> None:
    def open_store(name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        return open_frontier(url_of(redis_server, tmp_path, name, options), rules, clock)

    examples = int(os.environ.get("CONTRACT_EXAMPLES", "20"))

    kind = type("Machine", (HotSites,), {"open_store": staticmethod(open_store)}) if hot else machine(open_store)
    run_state_machine_as_test(kind, settings=settings(max_examples=examples, deadline=None))

    print(f"redis+files, {options}{', hot sites' * hot}: {examples} stories")
