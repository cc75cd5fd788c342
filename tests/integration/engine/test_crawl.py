"""Whole crawls by worker processes, over real sockets, into a directory."""

import asyncio
from pathlib import Path

import pytest

from outrider.app.crawl import open_crawl
from outrider.app.directory import CrawlDirectory
from outrider.engine.finish import Finish
from outrider.model.progress import Progress
from outrider.model.record import PageStatus
from outrider.model.url import Url
from outrider.settings import Settings, settings_of
from outrider.testing.webfarm import Behaviour, WebFarm, page

HOSTS = [f"site{number}.test" for number in range(8)]
PAGES = 12


def web() -> dict[str, dict[str, Behaviour]]:
    """Eight sites: a root that leads to eleven pages each."""
    paths = [f"/{number}" for number in range(1, PAGES)]
    root = page("".join(f"<a href='{path}'>x</a>" for path in paths))
    return {host: {"/": root, **{path: page(f"{host}{path}") for path in paths}} for host in HOSTS}


def settings_for(farm: WebFarm, **keys: object) -> Settings:
    usual: dict[str, object] = {
        "delay": 0.02,
        "allow_private": "127.0.0.0/8",
        "allow_ports": str(Url(farm.url("x.test")).port),
        "hosts": "*.test=127.0.0.1",
        "contact": "https://us.test/bot",
        "workers": 2,
        # Who is killed takes three sites along for a minute, not all of them.
        "concurrency": 3,
    }
    return settings_of(**{**usual, **keys})


async def crawled(farm: WebFarm, home: Path, *, killing: bool = False, **keys: object) -> tuple[Progress, int]:
    directory = CrawlDirectory(home)
    seeds = [Url(farm.url(host)) for host in HOSTS]
    began = asyncio.Event()

    def shown(progress: Progress) -> None:
        if progress.counts.pages:
            began.set()

    with directory.held():
        async with (
            asyncio.timeout(120),
            open_crawl(settings_for(farm, **keys), seeds, directory, shown=shown) as crawling,
        ):
            running = asyncio.ensure_future(crawling.supervisor.run())
            if killing:
                await began.wait()
                mates = crawling.supervisor._mates  # noqa: SLF001 - as the machine would kill one
                mates[0].mate.kill()
            progress = await running
            census = await crawling.frontier.census()
            assert census.adds_up
            return progress, (await crawling.records.tally()).pages[PageStatus.FETCHED]


async def test_a_crawl_by_two_processes_ends_with_every_page_once(tmp_path: Path) -> None:
    async with WebFarm(web()) as farm:
        progress, recorded = await crawled(farm, tmp_path / "crawl")

        pages = [asked.target for asked in farm.log if asked.target != "/robots.txt"]

    assert progress.finish == Finish.FINISHED
    assert progress.census.fetched == recorded == len(pages) == PAGES * len(HOSTS)


@pytest.mark.parametrize("killing", [False, True])
async def test_max_pages_is_exact_whoever_is_killed(tmp_path: Path, killing: bool) -> None:  # noqa: FBT001 - a column
    async with WebFarm(web()) as farm:
        progress, recorded = await crawled(farm, tmp_path / "crawl", killing=killing, max_pages=25)

    assert progress.finish == Finish.MAX_PAGES
    assert recorded == 25
    # Who is killed may have written what it could not settle any more, and its leases run out by themselves.
    assert (progress.census.fetched == 25, progress.census.leased == 0) == (True, True) or killing
    assert progress.census.fetched <= 25


async def test_a_second_run_goes_on_where_the_limit_ended_the_first(tmp_path: Path) -> None:
    """The limit is of the whole crawl, earlier runs included."""
    async with WebFarm(web()) as farm:
        first = await crawled(farm, tmp_path / "crawl", max_pages=10)
        again = await crawled(farm, tmp_path / "crawl", max_pages=18)

    assert (first[1], again[1]) == (10, 18)
    assert (first[0].census.fetched, again[0].census.fetched) == (10, 18)
