"""Is a page of a Redis frontier what it says, when the tables behind it grow, shrink, or are scattered anew?"""

from collections.abc import Iterator

import pytest
from tests.integration.stores.conftest import StartRedis
from tests.integration.stores.test_redis_restart import DURABLE, until_available
from tests.services.redis import RedisServer

from outrider.errors import ConfigError
from outrider.model.ledger import Entry, Filter, Search, State
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import Browsable, FrontierRules
from outrider.stores.registry import open_frontier
from outrider.testing.clock import FakeClock

RULES = FrontierRules()
CLOCK = FakeClock(1_000.0)


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


def task(n: int, site: str) -> Task:
    return Task(Url(f"http://{site}/{n}"))


def dead(n: int, site: str) -> Entry:
    return Entry(task(n, site).url, State.DEAD, site, task(n, site), Reason.HTTP_404, status=404, visits=1)


@pytest.mark.parametrize("text", [None, "/1"])
async def test_sites_that_come_meanwhile_move_none_of_those_that_were_there(
    redis_server: RedisServer, text: str | None
) -> None:
    """The table of sites is doubled several times between two pages."""
    url = f"{redis_server.url}?prefix=sites{text is None}&buckets=2"
    async with open_frontier(url, RULES, CLOCK) as frontier:
        assert isinstance(frontier, Browsable)
        first = [task(1, f"s{n}.org") for n in range(700)]
        await frontier.add(first)
        seen: list[str] = []
        after: str | None = None
        for turn in range(1_000):
            page = await frontier.browse(Search(text=text), after, most=90 if turn < 4 else 1_000)
            seen += [entry.url for entry in page.entries]
            after = page.after
            if after is None:
                break
            if turn < 3:
                await frontier.add([task(1, f"t{turn}-{n}.org") for n in range(700 * 2**turn)])

    assert after is None
    assert len(set(seen)) == len(seen)
    assert {one.url for one in first} <= set(seen)


async def test_ended_lines_are_shown_once_while_others_end_and_are_revived(redis_server: RedisServer) -> None:
    async with open_frontier(f"{redis_server.url}?prefix=ended", RULES, CLOCK) as frontier:
        assert isinstance(frontier, Browsable)
        stay = [dead(n, "stay.org") for n in range(500)]
        await frontier.restore([*stay, *(dead(n, "go.org") for n in range(200))])
        seen: list[str] = []
        after: str | None = None
        for turn in range(1_000):
            page = await frontier.browse(Search(state=State.DEAD), after, most=70)
            seen += [entry.url for entry in page.entries]
            after = page.after
            if after is None:
                break
            if turn < 2:
                await frontier.restore([dead(n, f"come-{turn}.org") for n in range(600)])
            if turn == 2:
                await frontier.revive(Filter(site="go.org"))

    assert after is None
    assert len(set(seen)) == len(seen)
    assert {entry.url for entry in stay} <= set(seen)


async def test_a_long_queue_is_shown_once_while_it_is_worked_off(redis_server: RedisServer) -> None:
    async with open_frontier(f"{redis_server.url}?prefix=long", RULES, clock := FakeClock(1_000.0)) as frontier:
        assert isinstance(frontier, Browsable)
        await frontier.add([task(n, "hot.org") for n in range(2_000)])
        seen: list[str] = []
        lent: set[str] = set()
        after: str | None = None
        for _ in range(1_000):
            page = await frontier.browse(Search(), after, most=300)
            seen += [entry.url for entry in page.entries]
            after = page.after
            if after is None:
                break
            clock.advance(10)
            # Held for a while, and given back by nobody: what a lease shows stays owed.
            for lease in (await frontier.lease(sites=1, tasks=700, seconds=15)).leases:
                lent |= {one.url for one in lease.tasks}

    assert after is None
    assert sorted(seen) == sorted(task(n, "hot.org").url for n in range(2_000))
    assert len(lent) >= 700


async def test_after_a_restart_of_the_server_one_must_begin_again(start_redis: StartRedis) -> None:
    """It scatters its tables by another secret, so that a place in them means nothing any more."""
    server = start_redis(*DURABLE)
    async with open_frontier(f"{server.url}?prefix=restart", RULES) as frontier:
        assert isinstance(frontier, Browsable)
        await frontier.add([task(1, f"s{n}.org") for n in range(300)])
        page = await frontier.browse(Search(), most=10)
        server.kill()
        server.start()
        await until_available(frontier)

        with pytest.raises(ConfigError, match="restarted since the last page"):
            await frontier.browse(Search(), page.after)
        anew = await frontier.browse(Search(), most=1_000)

    assert len(anew.entries) == 300
