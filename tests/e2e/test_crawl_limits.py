"""Limits are exact with several workers: as many as were asked for, and never one more."""

from collections import Counter
from pathlib import Path

import pytest
from tests.e2e.crawls import Crawl, Farm, Left, farm

from outrider.cli.exit_codes import ExitCode
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.testing.webfarm.world import SWIFT, World
from outrider.testing.webfarm.world_nodes import Page as WorldPage

PLAIN = World(5, sites=12, pages=240, hostile_share=0.0, spiced=False, seeds=12)
TIMEOUT = float(str(SWIFT["timeout"]))


async def _crawled(web: Farm, name: str, *options: str, finish: str, **settings: object) -> Left:
    crawl = web.crawl(name, **settings)
    ended = await crawl.run(*options)
    assert ended.code == ExitCode.OK, ended.errors
    assert ended.summary
    assert ended.summary["finish"] == finish
    left = await crawl.left()
    assert left.census.adds_up
    assert left.census.leased == 0
    return left


async def test_a_limit_of_pages_is_exact_and_grows_from_run_to_run(tmp_path: Path) -> None:
    """H2-22: 1, then more than one lot of permits, then all there are."""
    async with farm(PLAIN, tmp_path) as web:
        everything = [url for url, expected in web.served.truth().items() if expected.state == "fetched"]

        for most in (1, 37, 130):
            left = await _crawled(web, "crawl", "--max-pages", str(most), finish="max_pages")

            assert len(left.had) == left.census.fetched == most
        left = await _crawled(web, "crawl", "--max-pages", str(len(everything) + 1), finish="finished")

        assert len(left.had) == len(everything)
        left.archived()


async def test_a_limit_of_pages_of_each_site_is_exact(tmp_path: Path) -> None:
    """What is over it is skipped, and named so."""
    most = 7
    async with farm(PLAIN, tmp_path) as web:
        left = await _crawled(web, "crawl", "--max-site-pages", str(most), finish="finished")

        had = Counter(Url(page.url).site() for page in left.had)
        assert set(had) == set(PLAIN.hosts)
        assert max(had.values()) == most
        for number in range(PLAIN.sites):
            assert had[PLAIN.host(number)] == min(most, PLAIN.pages_of(number))
        assert left.census.skipped[Reason.SITE_QUOTA] > 0
        assert left.census.is_finished


async def test_a_site_has_no_more_urls_in_the_ledger_than_its_quota(tmp_path: Path) -> None:
    most = 5
    async with farm(PLAIN, tmp_path) as web:
        left = await _crawled(web, "crawl", "--set", f"site_quota={most}", finish="finished")

        admitted = Counter(Url(url).site() for url, state, _ in left.ledger if state is not State.SKIPPED)
        over = [reason for _, state, reason in left.ledger if state is State.SKIPPED]
        assert max(admitted.values()) == most
        assert set(over) == {Reason.SITE_QUOTA}
        assert left.census.is_finished


async def test_pages_deeper_than_the_limit_are_refused(tmp_path: Path) -> None:
    """One site, whose pages are asked for in the order of their depth, so that none is met too deep at first."""
    most = 2
    world = World(5, sites=1, pages=100, hostile_share=0.0, spiced=False)
    async with farm(world, tmp_path) as web:
        left = await _crawled(web, "crawl", "--max-depth", str(most), finish="finished")

        depths = {page.url: page.metadata.depth for page in left.had}
        too_deep = [url for url, _, reason in left.ledger if reason is Reason.TOO_DEEP]
        assert max(depths.values()) == most
        assert too_deep
        assert not depths.keys() & set(too_deep)
        # Nothing shallow was taken for deep: whoever links to a refused page is at the limit itself.
        named = _links(left, web)
        assert all(depths.get(parent, most) == most for url in too_deep for parent in named.get(url, ()))


def _links(left: Left, web: Farm) -> dict[str, list[str]]:
    """URL → the pages that link to it, by the world's own description."""
    found: dict[str, list[str]] = {}
    for page in left.had:
        asked = Url(page.url)
        site = web.served.world.site(asked.host)
        node = site.node(asked.target) if site else None
        assert isinstance(node, WorldPage)
        for link in node.links:
            found.setdefault(web.served.url(link.to.host, link.to.target), []).append(page.url)
    return found


@pytest.mark.parametrize("size", [30_000, 250_000])
async def test_a_limit_of_bytes_is_never_exceeded(size: int, tmp_path: Path) -> None:
    """And most of it is used: only the last pages, which could be too large, are not asked for."""
    largest = 20_000
    async with farm(PLAIN, tmp_path) as web:
        left = await _crawled(web, "crawl", "--size-limit", str(size), finish="size_limit", max_body=largest)

        brought = sum(page.metadata.wire_length for page in left.pages)
        assert size - largest < brought <= size


async def test_a_limit_of_time_ends_the_crawl_and_the_next_run_goes_on(tmp_path: Path) -> None:
    seconds = 4.0
    world = World(5, sites=3, pages=200, hostile_share=0.0, spiced=False, seeds=3)
    async with farm(world, tmp_path) as web:
        crawl = web.crawl(delay=0.2)

        first = await crawl.run("--time-limit", f"{seconds:g}")

        left = await crawl.left()
        assert first.code == ExitCode.OK, first.errors
        assert first.summary
        assert first.summary["finish"] == "time_limit"
        assert left.census.adds_up
        assert left.census.leased == 0
        assert not left.census.is_finished
        [started] = left.told("crawl_started")
        assert all(line.at <= started["at"] + seconds + TIMEOUT for line in web.served.log())
        await _goes_on(crawl, left)


async def _goes_on(crawl: Crawl, before: Left) -> None:
    most = len(before.had) + 10
    again = await crawl.run("--max-pages", str(most))
    left = await crawl.left()
    assert again.summary
    assert again.summary["finish"] == "max_pages"
    assert len(left.had) == len({page.url for page in left.had}) == most
    left.archived()
