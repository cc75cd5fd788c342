"""From any store into any other: what a site has admitted stays admitted, so that its quota holds."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from itertools import product
from pathlib import Path
from uuid import uuid4

import pytest
from tests.services.postgres import PostgresServer, running
from tests.services.redis import RedisServer

from outrider.errors import ConfigError
from outrider.model.identity import Identity
from outrider.model.ledger import Added, Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ops.move import move
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.clock import FakeClock

RULES = FrontierRules(Identity(seed=42), site_quota=4)
STORES = ("memory", "sqlite", "redis", "postgres")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, PostgresServer]]:
    redis = RedisServer(tmp_path_factory.mktemp("redis")).start()
    try:
        with running() as postgres:
            yield redis, postgres
    finally:
        redis.stop()


def opened(
    kind: str, folder: Path, servers: tuple[RedisServer, PostgresServer], clock: FakeClock
) -> AbstractAsyncContextManager[FrontierStore]:
    name = f"n{uuid4().hex[:12]}"
    urls = {
        "memory": "memory:",
        "sqlite": f"sqlite://{folder}/{name}.db",
        "redis": f"{servers[0].url}?prefix={name}&buckets=3",
        "postgres": servers[1].url(name),
    }
    return open_frontier(urls[kind], RULES, clock)


def page(n: int, site: str = "a.org") -> Task:
    return Task(Url(f"http://{site}/{n}"))


async def admitted(store: FrontierStore) -> dict[str, int]:
    return {site.key: site.admitted async for sites in store.sites() for site in sites}


@pytest.mark.parametrize(("source", "target"), list(product(STORES, STORES)))
async def test_after_a_move_a_site_has_admitted_as_many_as_before(
    tmp_path: Path, servers: tuple[RedisServer, PostgresServer], source: str, target: str
) -> None:
    """S2-10, S2-11, H2-21: also the ended, which have no line in a compact store; however often it is moved."""
    clock = FakeClock(1_000.0)
    async with opened(source, tmp_path, servers, clock) as old, opened(target, tmp_path, servers, clock) as new:
        await old.add([page(n) for n in range(3)] + [page(n, "b.org") for n in range(9)])
        lease = (await old.lease(sites=1, tasks=2, seconds=60)).leases[0]
        ends = tuple((task, Done(task.url, task.url, 200, Validators(), Changes())) for task in lease.tasks)
        await old.settle([Settled(lease, lease.site, ends)])
        before = await admitted(old)
        report = await move(old, new)
        once = await admitted(new)
        again = await move(old, new)
        twice = await admitted(new)
        answers = await new.add([page(n) for n in range(10, 12)])

    assert before == once == twice == {"a.org": 3, "b.org": 4}
    assert (report.differences, again.progress.new) == ((), 0)
    assert answers == [Added.NEW, Added.OVER_QUOTA]


async def test_a_store_that_must_exist_is_not_made(tmp_path: Path, servers: tuple[RedisServer, PostgresServer]) -> None:
    redis, postgres = servers
    absent = {
        f"{redis.url}?prefix=absent": "there is no frontier under the prefix 'absent'",
        f"redis+files://127.0.0.1:{redis.port}/0?prefix=absent&files={tmp_path}": "there is no frontier under",
        postgres.url("absent"): "there is no frontier in schema absent",
    }
    for url, said in absent.items():
        with pytest.raises(ConfigError, match=said):
            async with open_frontier(url, RULES, must_exist=True):
                pass

    with redis.client() as client:
        assert client.keys("*absent*") == []
    async with postgres.connected() as connection:
        found = await connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'absent'")
        assert await found.fetchone() == (0,)
    assert await asyncio.to_thread(lambda: list(tmp_path.iterdir())) == []
