"""A signal ends a crawl without losing anything; a worker that dies alone is replaced."""

import asyncio
import os
import signal
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.crawls import PATIENCE, SLACK, Crawl, Farm, ended, farm

from outrider.cli.exit_codes import ExitCode
from outrider.model.record import PageStatus
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_judge import Judge, differences

WORLD = World(5, sites=10, pages=200, hostile_share=0.0, spiced=False, seeds=10)
SILENT = World(5, sites=30, pages=30, hostile_share=0.5, seeds=15, trap=3)
"""One of its sites says nothing to some requests."""


async def _until(condition: Callable[[], bool], process: Process) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.returncode is None, "it ended before"
        assert time.monotonic() < until, "it never came to this"
        await asyncio.sleep(0.01)


def _asked(web: Farm, number: int) -> Callable[[], bool]:
    return lambda: len(web.served.log()) >= number


@pytest.mark.parametrize(
    ("number", "code", "finish"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED, "interrupted"),
        (signal.SIGTERM, ExitCode.TERMINATED, "terminated"),
    ],
)
async def test_a_signal_drains_and_the_same_command_completes(
    number: signal.Signals, code: ExitCode, finish: str, tmp_path: Path
) -> None:
    """What is under way is finished and settled, nothing else is begun; nothing is fetched twice afterwards."""
    async with farm(WORLD, tmp_path) as web:
        crawl = web.crawl(delay=0.1)
        process = await crawl.start()
        await _until(_asked(web, 30), process)

        # As from a terminal, where Ctrl-C reaches the workers, too.
        (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)
        stopped = await ended(process)

        left = await crawl.left()
        assert stopped.code == code, stopped.errors
        assert stopped.summary
        assert stopped.summary["finish"] == finish
        assert left.census.adds_up
        assert left.census.leased == 0
        assert not left.census.is_finished
        assert len(left.had) == left.census.fetched == _answers(web)
        left.archived()
        await _completes(crawl, web)


def _answers(web: Farm) -> int:
    return sum(line.target != "/robots.txt" for line in web.served.log())


async def _completes(crawl: Crawl, web: Farm) -> None:
    again = await crawl.run()
    left = await crawl.left()
    assert again.code == ExitCode.OK, again.errors
    assert differences(web.served.truth(), left.ledger) == []
    assert max(Counter(page.url for page in left.had).values()) == 1
    left.archived()


async def test_a_second_signal_stops_at_once_and_what_was_under_way_stays_owed(tmp_path: Path) -> None:
    """It does not wait for a site that is silent; that URL is asked for again by the next run."""
    async with farm(SILENT, tmp_path) as web:
        # Longer than the test may take: whoever waited for the answer would be found out.
        crawl = web.crawl(timeout=10 * PATIENCE, first_byte_timeout=10 * PATIENCE, idle_timeout=10 * PATIENCE)
        process = await crawl.start()
        await _until(lambda: any(line.target == "/silence" for line in web.served.log()), process)

        # Two of a kind that come at once may be one to the kernel. Which of these is heard first is its business.
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        stopped = await ended(process)

        left = await crawl.left()
        assert stopped.code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}, stopped.errors
        assert left.census.adds_up
        assert left.census.leased == 0
        assert not any(page.url.endswith("/silence") for page in left.pages)
        assert [state for url, state, _ in left.ledger if url.endswith("/silence")] == ["pending"]
        left.archived()


@pytest.mark.parametrize("workers", [1, 2])
async def test_a_worker_that_is_killed_is_replaced_and_a_signal_just_then_is_heard(
    workers: int, tmp_path: Path
) -> None:
    """H2-29: the one in its place is told as well, however new it is."""
    async with farm(WORLD, tmp_path) as web:
        crawl = web.crawl(delay=0.1, workers=workers)
        process = await crawl.start()
        await _until(_asked(web, 30), process)
        victim = _children(process.pid)[0]

        os.kill(victim, signal.SIGKILL)
        await _until(lambda: len(set(_children(process.pid)) - {victim}) == workers, process)
        process.send_signal(signal.SIGINT)
        stopped = await ended(process)

        left = await crawl.left()
        assert stopped.code == ExitCode.INTERRUPTED, stopped.errors
        assert [event["exit_code"] for event in left.told("worker_vanished")] == [-signal.SIGKILL]
        assert left.census.adds_up
        await _completes(crawl, web)


async def test_a_worker_that_is_killed_is_replaced_and_the_crawl_finishes(tmp_path: Path) -> None:
    """H0-4, H2-29: its archive is made whole at once, and its sites are lent again when their leases have run out."""
    async with farm(WORLD, tmp_path) as web:
        crawl = web.crawl(delay=0.1, lease=3)
        process = await crawl.start()
        await _until(_asked(web, 30), process)

        os.kill(_children(process.pid)[0], signal.SIGKILL)
        finished = await ended(process)

        left = await crawl.left()
        assert finished.code == ExitCode.OK, finished.errors
        assert len(left.told("worker_vanished")) == 1
        assert differences(web.served.truth(), left.ledger) == []
        assert left.census.is_finished
        assert left.census.leased == 0
        assert {page.metadata.status for page in left.pages} == {PageStatus.FETCHED}
        assert sorted(left.archived().listed) == sorted(page.fetch_id for page in left.had)


async def test_workers_whose_watcher_is_killed_stop_and_the_same_command_completes(tmp_path: Path) -> None:
    """H2-21, C23: even when it is started again at once, while they are still on their way out."""
    async with farm(WORLD, tmp_path) as web:
        crawl = web.crawl(delay=0.1)
        process = await crawl.start()
        await _until(_asked(web, 30), process)
        orphans = _children(process.pid)

        process.kill()
        await process.wait()
        finished = await crawl.run()

        left = await crawl.left()
        assert finished.code == ExitCode.OK, finished.errors
        assert not list(filter(_is_alive, orphans))
        assert differences(web.served.truth(), left.ledger) == []
        assert Judge(WORLD, web.served.log()).gaps(0.1, slack=SLACK) == []
        assert max(Counter(page.url for page in left.had).values()) == 1
        assert sorted(left.archived().listed) == sorted(page.fetch_id for page in left.had)


def _children(pid: int) -> list[int]:
    """Direct children; the workers are all there are."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_alive(pid: int) -> bool:
    """A zombie is not: whether somebody collects it is not our business."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
