"""What the parts of the contract share: a store to open, a clock to move, and a few words for tasks."""

# ruff: noqa: S101 - a contract asserts

from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest

from outrider.model.lease import Lease
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ports import Clock, FrontierRules
from outrider.stores.registry import FrontierStore
from outrider.testing.clock import FakeClock

START = 1_000.0
RULES = FrontierRules()


def task(url: str, priority: int = 0, due_at: float = 0.0) -> Task:
    return Task(Url(url), priority=priority, due_at=due_at)


def page(n: int, site: str = "example.com") -> Task:
    return task(f"http://{site}/{n}")


def paths(lease: Lease) -> list[str]:
    return [task.url.path for task in lease.tasks]


def done(task: Task, url: Url | None = None) -> Done:
    return Done(url or task.url, task.url, 200, Validators(), Changes())


class Base:
    """Set `shared = False` when a store cannot be opened by two at once."""

    shared = True

    def open(self, name: str, rules: FrontierRules, clock: Clock) -> AbstractAsyncContextManager[FrontierStore]:
        raise NotImplementedError("say how to open the backend")

    @pytest.fixture
    def name(self) -> str:
        return f"t{uuid4().hex[:12]}"

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock(START)

    async def lease_one(self, frontier: FrontierStore, *, tasks: int = 1, seconds: float = 60) -> Lease:
        lent = await frontier.lease(sites=1, tasks=tasks, seconds=seconds)
        assert len(lent.leases) == 1
        return lent.leases[0]

    async def move(self, source: FrontierStore, target: FrontierStore) -> int:
        moved = 0
        async for sites in source.sites():
            await target.restore(sites=sites)
        async for entries in source.entries():
            moved += await target.restore(entries)
        async for hashes in source.hashes():
            moved += await target.restore(hashes=hashes)
        return moved
