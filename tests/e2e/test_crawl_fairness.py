"""Nobody starves: not beside a huge site, and not beside hostile ones. Judged by the order in the server's log."""

import asyncio
import os
from collections import defaultdict
from pathlib import Path

from tests.e2e.crawl_memory import Peaks
from tests.e2e.crawls import Farm, ended, farm

from outrider.cli.exit_codes import ExitCode
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_judge import differences
from outrider.testing.webfarm.world_log import Logged

MIB = 1_048_576
SMALL = int(os.environ.get("SMALL_SITES", "150"))


def _pages(web: Farm) -> dict[str, list[Logged]]:
    """Requests for pages, by host, in the order of arrival."""
    found: defaultdict[str, list[Logged]] = defaultdict(list)
    for line in web.served.log():
        if line.target != "/robots.txt":
            found[line.host].append(line)
    return found


async def test_a_huge_site_does_not_starve_small_ones(tmp_path: Path) -> None:
    """H2-15: the small sites are done long before the huge one, which goes on all the while."""
    world = World(3, SMALL + 1, 3 * SMALL, huge=2 * SMALL, hostile_share=0.0, spiced=False, size=2_000, seeds=20)
    huge = world.host(0)
    async with farm(world, tmp_path) as web:
        crawl = web.crawl()

        finished = await crawl.run()

        left = await crawl.left()
        assert finished.code == ExitCode.OK, finished.errors
        assert differences(web.served.truth(), left.ledger) == []
        pages = _pages(web)
        last_small = max(lines[-1].monotonic_at for host, lines in pages.items() if host != huge)
        before = sum(line.monotonic_at < last_small for line in pages[huge])
        seconds = last_small - pages[huge][0].monotonic_at
        print(f"{before} of {len(pages[huge])} pages of the huge site when the others were done, {seconds:.1f} s later")
        assert len(pages) == world.sites
        assert 1 < before < len(pages[huge])


async def test_hostile_sites_cost_good_ones_neither_pace_nor_memory(tmp_path: Path) -> None:
    """H2-11: three of ten mean harm, and each good site gets on as in a world without them."""
    window = 4.0
    world = World(4, sites=40, pages=400, hostile_share=0.3, spiced=False, seeds=40, varied=False)
    peaceful = World(4, sites=world.good, pages=400, hostile_share=0.0, spiced=False, seeds=40, varied=False)
    most = 448 * MIB
    progress = []
    for name, web_of in (("peaceful", peaceful), ("hostile", world)):
        folder = tmp_path / name
        folder.mkdir()
        async with farm(web_of, folder) as web:
            crawl = web.crawl(delay=0.4, slowest=1.0)
            process = await crawl.start("--max-memory", str(most))
            peaks = Peaks(process)
            watching = asyncio.create_task(peaks.watch())

            finished = await ended(process)

            watching.cancel()
            left = await crawl.left()
            progress.append(_within(web, peaceful, window))
            print(f"{name}: {progress[-1]} pages of good sites within {window:g} s, {peaks.total // MIB} MiB at most")
            assert finished.code == ExitCode.OK, finished.errors
            assert differences(web.served.truth(), left.ledger) == []
            assert 0 < peaks.total <= most

    assert progress[1] >= 0.9 * progress[0]


def _within(web: Farm, good: World, window: float) -> int:
    """Pages of good sites in the first seconds of each: by a site's own clock, however late it was found."""
    pages = _pages(web)
    return sum(_early(pages[host], window) for host in good.hosts)


def _early(lines: list[Logged], window: float) -> int:
    return sum(line.monotonic_at < lines[0].monotonic_at + window for line in lines)
