"""A crawl agrees with itself at every moment: while it runs, after `kill -9`, and when it went on to its end."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from pathlib import Path
from typing import Any

from msgspec import json
from tests.e2e.crawls import PATIENCE, ended, farm, kill

from outrider.cli.exit_codes import ExitCode
from outrider.testing.webfarm.world import World

SETTLED = 10
SLOWLY = ("--delay", "4", "--set", "slowest=10")
"""So that it is far from its end when it has been verified, however busy the machine is."""
AFTER_A_KILL = {"unsettled", "torn_ends"}
AFTER_GOING_ON = {"left_over", "told_twice", "visited_twice"}


async def test_a_crawl_is_sound_while_it_runs_after_a_kill_and_when_it_went_on(tmp_path: Path) -> None:
    async with farm(World(7, sites=6, pages=60, hostile_share=0.0, seeds=6), tmp_path) as web:
        crawl = web.crawl()
        process = await crawl.start(*SLOWLY)
        reading = asyncio.create_task(ended(process))
        await _has_settled(crawl.directory, SETTLED, process)

        running = await _verified(crawl.directory)
        kill(process)
        await reading
        killed = await _verified(crawl.directory)
        last = await crawl.run()
        whole = await _verified(crawl.directory)

    assert last.code == ExitCode.OK, last.errors
    assert (running["running"], killed["running"], whole["running"]) == (True, False, False)
    assert SETTLED <= _checked(running, "content_hashes") <= _checked(whole, "content_hashes")
    assert _notes(running) <= AFTER_A_KILL
    assert _notes(killed) <= AFTER_A_KILL
    assert _notes(whole) <= AFTER_GOING_ON


async def _verified(home: Path) -> dict[str, Any]:
    command = (sys.executable, "-m", "outrider", "verify", str(home), "--json")
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    out, errors = await process.communicate()
    assert (process.returncode, errors) == (ExitCode.OK, b""), out.decode()
    report: dict[str, Any] = json.decode(out)
    return report


async def _has_settled(home: Path, pages: int, process: Process) -> None:
    """Until so many answers are in an index."""
    async with asyncio.timeout(PATIENCE):
        while _listed(home) < pages:
            assert process.returncode is None
            await asyncio.sleep(0.02)


def _listed(home: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in home.glob("indexes/*.cdxj"))


def _checked(report: dict[str, Any], name: str) -> int:
    return {check["name"]: int(check["checked"]) for check in report["checks"]}[name]


def _notes(report: dict[str, Any]) -> set[str]:
    return {note["name"] for note in report["notes"]}
