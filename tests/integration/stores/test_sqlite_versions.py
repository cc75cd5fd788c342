"""A file that an older Outrider made goes on where it stood. `sqlite_v1.sql` was written by that version itself."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from outrider.model.identity import Identity
from outrider.model.ledger import Added, Census, Filter, Search, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import Browsable, FrontierRules, TakesOrders
from outrider.stores.registry import open_frontier
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.browsing import browsed

RULES = FrontierRules(Identity(seed=7))
PAGES = [
    Url(f"http://{name}") for name in ("a.org/0", "a.org/1", "a.org/4", "b.org/1", "c.org/2", "d.org/x", "a.org/9")
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "frontier.db"
    with closing(sqlite3.connect(made)) as connection:
        connection.executescript(Path(__file__).with_name("sqlite_v1.sql").read_text(encoding="utf-8"))
    return made


async def test_what_version_1_knew_and_owed_is_known_and_owed(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}", RULES, FakeClock(2_000.0)) as frontier:
        census = await frontier.census()
        known = await frontier.knows(PAGES)
        sites = {site.key: site async for batch in frontier.sites() for site in batch}

    assert census == Census(
        discovered=9,
        pending=3,
        waiting=1,
        fetched=1,
        skipped={Reason.SITE_UNREACHABLE: 2, Reason.TOO_DEEP: 1},
        dead={Reason.EMPTY_BODY: 1},
        sites=3,
        leased=1,
    )
    assert known == [True] * 6 + [False]
    assert {key: (site.admitted, site.set_aside) for key, site in sites.items()} == {
        "a.org": (5, False),
        "b.org": (1, False),
        "c.org": (2, True),
    }


async def test_a_frontier_of_version_1_is_added_to_lent_and_revived(path: Path) -> None:
    clock = FakeClock(2_000.0)
    async with open_frontier(f"sqlite://{path}", RULES, clock) as frontier:
        added = await frontier.add([Task(url) for url in PAGES])
        before = await frontier.lease(sites=9, tasks=9, seconds=60)
        revived = await frontier.revive(Filter(reason=Reason.SITE_UNREACHABLE))
        clock.advance(10_000)
        lent = await frontier.lease(sites=9, tasks=9, seconds=60)
        census = await frontier.census()

    assert added == [Added.KNOWN] * 6 + [Added.NEW]
    assert before.leases == ()
    assert revived == 2
    assert {
        (lease.site.key, lease.site.admitted): [task.url.target for task in lease.tasks] for lease in lent.leases
    } == {
        ("a.org", 6): ["/2", "/3", "/4", "/9"],
        ("b.org", 1): ["/1"],
        ("c.org", 2): ["/1", "/2"],
    }
    assert (census.discovered, census.adds_up) == (10, True)


async def test_a_frontier_of_version_1_is_looked_at_page_by_page(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}", RULES, FakeClock(2_000.0)) as frontier:
        assert isinstance(frontier, Browsable)
        lines = {line.url async for batch in frontier.entries() for line in batch}
        found = await browsed(frontier, Search(), most=2)
        dead = await frontier.browse(Search(state=State.DEAD))
        aside = await frontier.browse(Search(reason=Reason.SITE_UNREACHABLE))

    assert {line.url for line in found} == lines
    assert [line.reason for line in dead.entries] == [Reason.EMPTY_BODY]
    assert len(aside.entries) == 2


async def test_a_frontier_of_version_1_takes_orders(path: Path) -> None:
    async with open_frontier(f"sqlite://{path}", RULES, FakeClock(2_000.0)) as frontier:
        assert isinstance(frontier, TakesOrders)
        await frontier.order(SiteOrder("a.org", paused=True, at=2_000.0))
        gone = await frontier.dismiss([(url, Reason.DISMISSED) for url in PAGES])
        orders = await frontier.orders()
        census = await frontier.census()

    assert orders == [SiteOrder("a.org", paused=True, at=2_000.0)]
    assert gone == [False, True, True, True, True, False, False]
    assert census.skipped == {Reason.DISMISSED: 4, Reason.SITE_UNREACHABLE: 1, Reason.TOO_DEEP: 1}
    assert census.adds_up
