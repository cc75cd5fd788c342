"""Known by a Bloom filter: what it costs, what it loses, and that all who share a store share the choice."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.integration.stores.conftest import StartRedis

from outrider.errors import ConfigError, StoreError
from outrider.model.ledger import Added, Settled
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.ops.move import move
from outrider.ports import FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.redis.dedup import Bloom
from outrider.stores.redis.frontier import RedisFrontier
from outrider.stores.registry import open_frontier
from outrider.testing.clock import FakeClock

RULES = FrontierRules()


def page(n: int, site: str = "a.org") -> Task:
    return Task(Url(f"http://{site}/{n}"))


def refusals(first: int, count: int) -> list[tuple[Url, Reason]]:
    return [(page(n).url, Reason.TOO_DEEP) for n in range(first, first + count)]


@pytest.fixture
def bloom_module(tmp_path: Path) -> Path:
    """The commands of a Bloom filter of the server's own; no package brings one."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the stand-in for the server's own filter cannot be built")
    source = Path(__file__).parents[2] / "services" / "bloom_module.c"
    target = tmp_path / "bloom.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source], check=True)
    return target


@pytest.mark.parametrize(("urls", "most"), [(20_000, 0.02), (60_000, 0.04)], ids=["as foreseen", "three times as many"])
async def test_a_filter_forgets_nothing_and_loses_what_it_says(start_redis: StartRedis, urls: int, most: float) -> None:
    """S2-6, S2-19, S2-29, C26: one in a hundred at its capacity; it grows beyond, and loses less than twice that."""
    server = start_redis()
    async with open_frontier(f"{server.url}?dedup=bloom&capacity=20000&error=0.01", RULES) as frontier:
        for first in range(0, urls, 4_000):
            await frontier.add([], refusals(first, 4_000))
        census = await frontier.census()
        again = await frontier.add([page(n) for n in range(0, urls, 7)])
        never = await frontier.knows([page(n, "never.org").url for n in range(10_000)])

    assert set(again) == {Added.KNOWN}
    assert urls * (1 - most) < census.discovered <= urls
    assert census.adds_up
    # The luck of ten thousand: half of the promise and half as much again are more than six deviations away.
    assert 0 < sum(never) / len(never) < most


async def test_a_filter_takes_two_bytes_a_url(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}?dedup=bloom&capacity=2000000&error=0.001", RULES) as frontier:
        await frontier.add([], refusals(0, 100))
        with server.client() as client:
            keys = sorted(key.decode() for key in client.scan_iter() if b":k:" in key)
            taken = sum(client.memory_usage(key) for key in keys)

    assert keys == ["{outrider:0}:k:0:0"]
    assert 1.8 * 2_000_000 < taken < 2.2 * 2_000_000


async def test_a_large_filter_is_many_strings_and_none_is_too_long_for_the_server(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}?dedup=bloom&capacity=20000000", RULES) as frontier:
        await frontier.add([page(n) for n in range(500)])
        again = await frontier.add([page(n) for n in range(500)])
        with server.client() as client:
            lengths = [client.strlen(key) for key in client.scan_iter() if b":k:" in key]

    assert set(again) == {Added.KNOWN}
    assert len(lengths) == 5
    assert max(lengths) < 2**23


async def test_the_servers_own_filter_is_used_where_there_is_one(start_redis: StartRedis, bloom_module: Path) -> None:
    """H2-17, S2-19: it is reserved with the size and the error that were asked for, never left to the server."""
    server = start_redis("--loadmodule", str(bloom_module))
    async with open_frontier(f"{server.url}?dedup=bloom&capacity=6000&error=0.002&buckets=3", RULES) as frontier:
        first = await frontier.add([page(n, f"s{n % 9}.org") for n in range(90)])
        again = await frontier.add([page(n, f"s{n % 9}.org") for n in range(91)])
        assert isinstance(frontier, RedisFrontier)
        loss = frontier.expected_loss
        with server.client() as client:
            filters = [client.smembers(key) for key in client.scan_iter() if key.endswith(b":k:filter")]

    assert set(first) == {Added.NEW}
    assert again == [*[Added.KNOWN] * 90, Added.NEW]
    assert loss == Bloom(6_000, 0.002, has_module=True)
    assert [b"reserved 0.002 2000" in members for members in filters] == [True] * 3
    assert sum(map(len, filters)) == 3 + 91


@pytest.mark.parametrize(
    ("made", "asked", "said"),
    [
        ("", "dedup=bloom", "made with dedup=exact where dedup=bloom is asked for"),
        ("dedup=bloom", "dedup=exact", "made with dedup=bloom where dedup=exact is asked for"),
        ("dedup=bloom", "dedup=bloom&capacity=7&error=0.1", "capacity=160000000 where capacity=7 .* error=0.001 where"),
    ],
)
async def test_another_choice_is_refused_and_the_difference_shown(
    start_redis: StartRedis, made: str, asked: str, said: str
) -> None:
    server = start_redis()
    async with open_frontier(f"{server.url}?{made}", RULES):
        pass

    with pytest.raises(ConfigError, match=said):
        async with open_frontier(f"{server.url}?{asked}", RULES):
            pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("capacity=7", "capacity and error are for dedup=bloom"),
        ("dedup=bloom&error=0", "error='0'; expected a probability"),
        ("dedup=bloom&error=much", "error='much'; expected a probability"),
        ("dedup=cuckoo", "expected exact or bloom"),
    ],
)
async def test_a_choice_that_cannot_be_is_named(options: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        async with open_frontier(f"redis://127.0.0.1/0?{options}", RULES):
            pass


async def test_who_does_not_choose_takes_what_the_store_has(start_redis: StartRedis) -> None:
    """H2-17: what it means is there to be read from the first moment on."""
    server = start_redis()
    async with open_frontier(f"{server.url}?dedup=bloom&capacity=1000", RULES) as one:
        await one.add([page(1)])

    async with open_frontier(server.url, RULES) as other:
        assert isinstance(other, RedisFrontier)
        loss = other.expected_loss
        again = await other.add([page(1), page(2)])

    assert str(loss) == "bloom, 1 of 1,000 new URLs is taken for known at 1,000 (a filter of ours)"
    assert again == [Added.KNOWN, Added.NEW]


async def test_what_only_a_filter_knows_cannot_be_moved_and_nothing_is(start_redis: StartRedis) -> None:
    """What is owed can be; a URL that has ended would be new again in the other store."""
    server, clock = start_redis(), FakeClock(1_000.0)
    async with open_frontier(f"{server.url}?dedup=bloom&capacity=1000", RULES, clock) as frontier:
        await frontier.add([page(1), page(2)])
        owed = await move(frontier, MemoryFrontier(frontier.rules, clock))
        lease = (await frontier.lease(sites=1, tasks=1, seconds=60)).leases[0]
        end = Done(lease.tasks[0].url, lease.tasks[0].url, 200, Validators(), Changes())
        await frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], end),))])
        target = MemoryFrontier(frontier.rules, clock)

        with pytest.raises(ConfigError, match="1 URLs of the source are in a Bloom filter"):
            await move(frontier, target)
        with pytest.raises(StoreError, match="1 URLs that have ended are in a Bloom filter"):
            [keys async for keys in frontier.hashes()]

    assert (owed.progress.new, owed.differences) == (2, ())
    assert (await target.census()).discovered == 0
