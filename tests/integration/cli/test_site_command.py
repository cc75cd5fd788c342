"""Operators act on a crawl that runs in other processes, and the server's log says whether it obeyed.

Nobody sleeps here: a second site that nobody touches is asked all the time, and its requests are the clock.
"""

import asyncio
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tests.integration.cli.conftest import Run

from outrider.app.directory import CrawlDirectory
from outrider.app.operate import directory_sources
from outrider.app.why import story_of
from outrider.cli.site_acts import Done, orders_of, perform, site_key
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.settings import load
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm import WebFarm, page, redirect

HERE: Final = "here.test"
THERE: Final = "there.test"
PAGES: Final = 1_500
DELAY: Final = 0.1
HEARD: Final = 30
"""Requests to the other site, each 0.1 s or more after the one before: three seconds, and an order is heard in one."""
WATCHED: Final = 15


def site() -> dict[str, Any]:
    links = "".join(f"<a href='/{number}'>x</a>" for number in range(PAGES))
    return {"/": page(links), "/0": redirect(302, "/home"), "*": page("<title>a page</title>")}


@asynccontextmanager
async def crawling(farm: WebFarm, folder: Path, environment: dict[str, str]) -> AsyncIterator[Process]:
    """Two workers, on two sites."""
    settings = {
        "contact": "me@example.org",
        "delay": DELAY,
        "workers": 2,
        "hosts": "*.test=127.0.0.1",
        "allow_private": "127.0.0.0/8",
        "allow_ports": farm.port,
    }
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    seeds = [farm.url(HERE), farm.url(THERE)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "outrider", "crawl", *seeds, "--directory", str(folder), *words),
        stdout=PIPE,
        stderr=PIPE,
        env=environment,
        cwd=folder.parent,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def while_the_other_is_asked(farm: WebFarm, requests: int) -> None:
    seen = len(farm.asked(THERE))
    await farm.until(lambda: len(farm.asked(THERE)) >= seen + requests)


async def asked_meanwhile(farm: WebFarm) -> int:
    """How often was the site asked, once the order must have been heard?"""
    await while_the_other_is_asked(farm, HEARD)
    before = len(farm.asked(HERE))
    await while_the_other_is_asked(farm, WATCHED)
    return len(farm.asked(HERE)) - before


async def test_a_running_crawl_pauses_resumes_slows_down_and_excludes_a_site(
    outrider: Run, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "crawl"
    async with (
        asyncio.timeout(240),
        WebFarm({HERE: site(), THERE: site()}) as farm,
        crawling(farm, folder, environment) as process,
    ):
        await farm.until(lambda: len(farm.asked(HERE)) > 5 and len(farm.asked(THERE)) > 5)

        settings = load({}, file=folder / "outrider.toml").settings
        sources = directory_sources(settings, CrawlDirectory(folder))

        async def act(act: str, site: str = HERE, delay: float | None = None) -> Done:
            return await perform(settings, sources, act, site_key(site, settings.site_by), delay)

        paused = await act("pause")
        while_paused = await asked_meanwhile(farm)
        story, _ = await story_of(Url(farm.url(HERE, f"/{PAGES - 1}")), settings, sources)

        await act("resume")
        seen = len(farm.asked(HERE))
        await farm.until(lambda: len(farm.asked(HERE)) > seen + 5)

        await act("delay", delay=0.4)
        await while_the_other_is_asked(farm, HEARD)
        slow_from = len(farm.asked(HERE))
        await farm.until(lambda: len(farm.asked(HERE)) >= slow_from + 4)
        gaps = [later.monotonic_at - earlier.monotonic_at for earlier, later in pairwise(farm.asked(HERE)[slow_from:])]

        excluded = await act("exclude", farm.url(HERE, "/any/page"))
        while_excluded = await asked_meanwhile(farm)

        process.send_signal(signal.SIGINT)
        await process.wait()
        orders = await orders_of(settings, sources)
        verified = await outrider("verify", str(folder))
        audited = await outrider("audit", str(folder))

    assert (paused.is_known, paused.is_told) == (True, True)
    assert while_paused == 0
    assert story.outlook.because[-1].startswith(f"an operator has paused {HERE} since")
    assert min(gaps) >= 0.4
    assert while_excluded == 0
    assert PAGES // 2 < excluded.dismissed < PAGES
    assert orders == [excluded.order] == [SiteOrder(HERE, excluded=True, delay=0.4, at=excluded.order.at)]
    assert verified.code == 0, verified.out
    assert audited.code == 0, audited.out
    assert orders_told(folder) == [
        ("outrider site pause", True, False, None),
        ("outrider site resume", False, False, None),
        ("outrider site delay", False, False, 0.4),
        ("outrider site exclude", False, True, 0.4),
    ]

    async with open_frontier(f"sqlite://{folder}/crawl.db", FrontierRules(), must_exist=True) as frontier:
        census = await frontier.census()
    assert census.adds_up
    # All of one site has ended: what was shown to a worker then, and the thousands that were not.
    assert excluded.dismissed <= census.skipped[Reason.EXCLUDED_SITE] < PAGES
    assert census.pending < PAGES


def orders_told(folder: Path) -> list[tuple[str, bool, bool, float | None]]:
    lines = (json.loads(line) for file in folder.glob("events/*.jsonl") for line in file.read_text().splitlines())
    orders = sorted((line for line in lines if line["type"] == "site_ordered"), key=lambda line: line["at"])
    return [
        (order["by"], order.get("paused", False), order.get("excluded", False), order.get("delay")) for order in orders
    ]
