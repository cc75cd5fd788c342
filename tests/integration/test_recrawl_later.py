"""A crawl that looked once is told to look again: over real sockets, with the records of a real crawl."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import outrider
from outrider.app.directory import CrawlDirectory
from outrider.errors import ConfigError
from outrider.model.ledger import Census, Filter, State
from outrider.model.record import PageFilter, PageStatus
from outrider.ports import FrontierRules
from outrider.settings import load
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm import WebFarm, page, redirect, status

PAGES = 30
DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
KILLED_IN_BETWEEN = """
import asyncio, os, signal, sys
from outrider.app import recrawl
from outrider.policy.recrawl import RecrawlRules
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier

class Killed:
    def __init__(self, frontier):
        self.frontier = frontier

    async def owe_again(self, tasks):
        await self.frontier.owe_again(list(tasks)[:7])
        os.kill(os.getpid(), signal.SIGKILL)

async def main(database):
    rules = FrontierRules(settle=SettleRules(recrawl=RecrawlRules(first=0.001, least=0.001)))
    async with open_frontier(database, FrontierRules()) as frontier, open_records(database) as records:
        await recrawl.owe_fetched(Killed(frontier), records, rules)

asyncio.run(main(sys.argv[1]))
"""


def site() -> dict[str, Any]:
    links = "".join(f'<a href="/{name}">{name}</a>' for name in (*range(1, PAGES), "gone", "old", "older"))
    tagged = {f"/{n}": page(f"<title>Page {n}</title><p>{n}", etag=f'"{n}"') for n in range(1, PAGES)}
    return {
        "/": page(
            f"{links}<a href='/gone'>gone</a><a href='/old'>old</a><a href='/older'>older</a>", last_modified=DATE
        ),
        **tagged,
        "/gone": status(410, "gone"),
        "/old": redirect(301, "/new"),
        "/older": redirect(302, "/1"),
        "/new": page("<p>new", etag='"new"'),
    }


@pytest.fixture
async def farm() -> AsyncIterator[WebFarm]:
    async with WebFarm({"site.test": site()}) as farm:
        yield farm


def keys(farm: WebFarm, **more: object) -> dict[str, Any]:
    return {
        "contact": "me@example.org",
        "delay": 0.001,
        "hosts": "*.test=127.0.0.1",
        "allow_private": "127.0.0.0/8",
        "allow_ports": [farm.port],
        **more,
    }


def soon(farm: WebFarm) -> dict[str, Any]:
    return keys(farm, recrawl=True, recrawl_min=0.001, recrawl_first=0.001)


async def crawl_once(farm: WebFarm, home: Path) -> outrider.CrawlResult:
    return await outrider.Crawl([farm.url("site.test")], directory=home, **keys(farm)).run()


async def look_again(farm: WebFarm, home: Path) -> tuple[dict[str, set[str]], outrider.CrawlResult]:
    """Until every page was seen again: by path, how those visits ended."""
    seen: dict[str, set[str]] = {}

    def note(page: outrider.CrawledPage) -> None:
        seen.setdefault(page.visit.requested.path, set()).add(type(page.visit.outcome).__name__)
        if len(seen) == PAGES + 2:
            crawl.stop()

    crawl = outrider.Crawl([], directory=home, on_page=note, every_visit=True, **soon(farm))
    result = await asyncio.wait_for(crawl.run(), 20)
    return seen, result


async def test_every_fetched_page_is_asked_for_again_with_its_validators(farm: WebFarm, tmp_path: Path) -> None:
    """C16, H0-10: the requests are conditional, an unchanged page is a success, and the ledger adds up."""
    once = await crawl_once(farm, tmp_path / "c")
    first_time = len(farm.log)

    seen, again = await look_again(farm, tmp_path / "c")

    # /old took the name /new; /older found /1 taken and kept its own, and is asked by way of its redirect.
    assert set(seen) == {"/", "/new", "/older", *(f"/{number}" for number in range(1, PAGES))}
    assert {path: how for path, how in seen.items() if how != {"NotModified"}} == {"/older": {"Fetched"}}
    asked = [one for one in farm.log[first_time:] if one.method == "GET" and one.target != "/robots.txt"]
    assert {one.header("If-None-Match") for one in asked if one.target == "/7"} == {'"7"'}
    assert {one.header("If-None-Match") for one in asked if one.target == "/new"} == {'"new"'}
    assert {one.header("If-Modified-Since") for one in asked if one.target == "/"} == {DATE}
    assert not [one for one in asked if one.target in {"/gone", "/old"}]
    assert again.counts.unchanged >= PAGES + 1
    assert again.census.adds_up
    assert (again.census.discovered, again.census.fetched) == (once.census.discovered, 0)
    assert again.census.waiting == once.census.fetched
    assert (again.census.alias, again.census.dead) == (once.census.alias, once.census.dead)
    assert load(file=CrawlDirectory(tmp_path / "c").settings_file, environment={}).settings.recrawl


async def test_what_a_kill_left_undone_the_same_command_does(farm: WebFarm, tmp_path: Path) -> None:
    home = tmp_path / "c"
    once = await crawl_once(farm, home)
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED_IN_BETWEEN, f"sqlite://{home}/crawl.db")
    code = await killed.wait()
    torn = await census_of(home)

    seen, again = await look_again(farm, home)

    assert code == -signal.SIGKILL
    assert torn.adds_up
    assert (torn.waiting, torn.fetched) == (7, once.census.fetched - 7)
    assert len(seen) == PAGES + 2
    assert again.census.adds_up
    assert (again.census.waiting, again.census.fetched) == (once.census.fetched, 0)


async def test_pages_are_not_due_before_their_time(farm: WebFarm, tmp_path: Path) -> None:
    once = await crawl_once(farm, tmp_path / "c")
    first_time = len(farm.log)

    result = await outrider.Crawl([], directory=tmp_path / "c", **keys(farm, recrawl=True)).run()
    async with open_records(f"sqlite://{tmp_path}/c/crawl.db") as records:
        pages = [page async for batch in records.pages(PageFilter(status=PageStatus.FETCHED)) for page in batch]

    async with open_frontier(f"sqlite://{tmp_path}/c/crawl.db", FrontierRules()) as frontier:
        owed = [entry.task async for batch in frontier.entries(Filter(state=State.WAITING)) for entry in batch]

    assert result.finish == "up_to_date"
    assert {round(task.due_at - (task.visited_at or 0.0)) for task in owed if task is not None} == {86_400}
    assert len(farm.log) == first_time
    assert result.census.waiting == once.census.fetched == len(pages)


async def test_once_on_recrawl_stays_on(farm: WebFarm, tmp_path: Path) -> None:
    await crawl_once(farm, tmp_path / "c")
    await outrider.Crawl([], directory=tmp_path / "c", **keys(farm, recrawl=True)).run()

    with pytest.raises(ConfigError, match="recrawl was true, is now false"):
        await crawl_once(farm, tmp_path / "c")


async def census_of(home: Path) -> Census:
    async with open_frontier(f"sqlite://{home}/crawl.db", FrontierRules()) as frontier:
        return await frontier.census()
