"""A crawl inside a program: `outrider.crawl` and `outrider.Crawl`, over real sockets."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

import outrider
from outrider.app.directory import CrawlDirectory
from outrider.model.event import CrawlFinished, Event, PageFetched
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm import WebFarm, page, status

PAGES = 40


def site() -> dict[str, Any]:
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(1, PAGES))
    return {
        "/": page(f"<title>Home</title>{links}<a href='/gone'>gone</a>"),
        **{f"/{number}": page(f"<title>Page {number}</title><p>{number}") for number in range(1, PAGES)},
        "/gone": status(410, "gone"),
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


async def test_the_pages_of_a_crawl_come_once_each_with_what_is_known_of_them(farm: WebFarm) -> None:
    found = [page async for page in outrider.crawl([farm.url("site.test")], **keys(farm))]

    assert sorted(page.url.target for page in found) == sorted(["/", *(f"/{number}" for number in range(1, PAGES))])
    home = next(page for page in found if page.url.target == "/")
    assert (home.title, home.depth, home.parent, home.status, len(home.links)) == ("Home", 0, None, 200, PAGES)
    assert "<title>Home" in home.text
    inner = next(page for page in found if page.url.target == "/7")
    assert (inner.title, inner.depth, inner.parent) == ("Page 7", 1, home.url)
    assert inner.page is not None
    assert inner.page.fetch_id == inner.fetch_id
    assert {evidence.kind for evidence in inner.evidence} >= {"http_response", "http_headers", "fetch_timing"}


async def test_with_every_visit_failures_are_told_as_well(farm: WebFarm) -> None:
    told = [page async for page in outrider.crawl([farm.url("site.test")], every_visit=True, **keys(farm))]

    failed = [page for page in told if not page.ok]
    assert [(page.url.target, page.error) for page in failed] == [("/gone", "http_410")]


async def test_leaving_the_loop_ends_the_crawl_and_leaves_nothing_behind(farm: WebFarm, tmp_path: Path) -> None:
    before = asyncio.all_tasks()

    async with aclosing(outrider.crawl([farm.url("site.test")], directory=tmp_path / "c", **keys(farm))) as pages:
        async for _ in pages:
            break

    assert asyncio.all_tasks() == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("outrider")]
    async with open_frontier(f"sqlite://{tmp_path}/c/crawl.db", FrontierRules()) as frontier:
        census = await frontier.census()
    assert census.leased == 0
    assert census.adds_up
    assert not census.is_finished


async def test_the_same_call_goes_on_where_another_left_off(farm: WebFarm, tmp_path: Path) -> None:
    async def take(most: int) -> list[str]:
        taken: list[str] = []
        async with aclosing(outrider.crawl([farm.url("site.test")], directory=tmp_path / "c", **keys(farm))) as pages:
            async for page in pages:
                taken.append(page.url.target)
                if len(taken) == most:
                    break
        return taken

    await take(3)
    await take(PAGES)

    async with open_records(f"sqlite://{tmp_path}/c/crawl.db") as records:
        tally = await records.tally()
    assert sum(tally.pages.values()) == PAGES + 1
    assert CrawlDirectory(tmp_path / "c").seeds() == [farm.url("site.test")]
    # Nobody was asked twice for what was settled: at most what was under way when we left.
    assert len(farm.asked(method="GET")) <= PAGES + 1 + 1 + 1


async def test_a_slow_reader_slows_the_crawl(farm: WebFarm) -> None:
    """Pages wait in a bounded queue, so that a reader who stops reading stops the crawl."""
    wanted = asyncio.Event()
    asked_before = 0

    async def hold(_: outrider.CrawledPage) -> None:
        await wanted.wait()

    crawl = outrider.Crawl([farm.url("site.test")], on_page=hold, max_pages=PAGES, **keys(farm))
    running = asyncio.create_task(crawl.run())
    await farm.until(lambda: farm.requests >= 2)
    asked_before = farm.requests
    wanted.set()
    result = await running

    assert asked_before < PAGES
    assert result.counts.pages == PAGES


async def test_hooks_see_pages_and_events(farm: WebFarm) -> None:
    pages: list[str] = []
    events: list[Event] = []

    async def on_page(page: outrider.CrawledPage) -> None:
        pages.append(page.fetch_id)

    crawl = outrider.Crawl([farm.url("site.test")], on_page=on_page, on_event=events.append, **keys(farm))
    result = await crawl.run()

    assert result.finish == "finished"
    assert result.census.adds_up
    assert result.directory is None
    assert sorted(pages) == sorted(event.fetch_id for event in events if isinstance(event, PageFetched))
    assert isinstance(events[-1], CrawlFinished)


@pytest.mark.parametrize("hook", ["on_page", "on_event"])
async def test_what_a_hook_raises_ends_the_crawl_and_is_raised(farm: WebFarm, hook: str) -> None:
    def refuse(_: object) -> None:
        raise LookupError("not today")

    hooks: dict[str, Any] = {hook: refuse}
    crawl = outrider.Crawl([farm.url("site.test")], **hooks, **keys(farm))

    with pytest.raises(LookupError, match="not today"):
        await crawl.run()


async def test_stop_finishes_what_is_under_way_and_loses_nothing(farm: WebFarm, tmp_path: Path) -> None:
    crawl = outrider.Crawl(
        [farm.url("site.test")],
        directory=tmp_path / "c",
        on_page=lambda _: crawl.stop(),
        **keys(farm),
    )

    result = await crawl.run()

    assert result.finish == "interrupted"
    assert result.census.leased == 0
    assert 1 <= result.counts.pages < PAGES
    assert result.census.adds_up


async def test_max_pages_is_exact(farm: WebFarm) -> None:
    result = await outrider.Crawl([farm.url("site.test")], max_pages=17, **keys(farm)).run()

    assert (result.finish, result.counts.pages, result.census.fetched) == ("max_pages", 17, 17)


@pytest.mark.parametrize(
    ("seeds", "given", "error", "says"),
    [
        (["ftp://example.org/"], {}, outrider.InvalidUrl, "only http and https"),
        ([], {}, outrider.ConfigError, "nothing to crawl"),
        (["https://example.org"], {"contact": "none"}, outrider.ConfigError, "its owner must be able to reach you"),
        (["https://example.org"], {"workers": 2}, outrider.ConfigError, "workers = 2: .* runs in one process"),
        (["https://example.org"], {"colour": 2}, outrider.ConfigError, "no such key"),
    ],
)
async def test_what_cannot_be_begun_is_one_clear_error(
    seeds: list[str], given: dict[str, Any], error: type[Exception], says: str
) -> None:
    pages = outrider.crawl(seeds, **{"contact": "me@example.org", **given})

    with pytest.raises(error, match=says):
        await anext(pages)
