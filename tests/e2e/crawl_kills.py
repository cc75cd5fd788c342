"""A crawl that is killed with all its processes, again and again, and started anew by the same command.

Half of the kills come at any moment since the start; the others only once the crawl is at work, so that there is
something to lose, and so that it gets on however slow the machine is.
"""

import asyncio
import random
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace
from tests.e2e.crawls import PATIENCE, Crawl, Ended, Farm, ended, kill

from outrider.engine.mates import pages_of
from outrider.stores.records import open_records
from outrider.testing.webfarm.world_log import Logged

SINCE_START = (0.2, 2.5)
AT_WORK = (0.0, 1.2)
UNHEARD = 1.0
"""What a site said in the last moment before a kill may be nowhere yet, and nobody can keep what they never wrote."""


class Endured(Struct, frozen=True):
    """A crawl that came to its own end. `kills` are moments of the monotonic clock."""

    ended: Ended
    kills: tuple[float, ...]
    pages: tuple[int, ...]
    """On record after each kill."""


async def endure(web: Farm, crawl: Crawl, luck: random.Random, kills: int, *options: str) -> Endured:
    """Kill it up to so many times, then let it end in peace; it may also end before."""
    killed_at: list[float] = []
    pages: list[int] = []
    while True:
        process = await crawl.start(*options)
        if len(killed_at) == kills:
            return Endured(await ended(process), tuple(killed_at), tuple(pages))
        reading = asyncio.create_task(ended(process))
        if not await _struck(process, web, luck):
            return Endured(await reading, tuple(killed_at), tuple(pages))
        killed_at.append(time.monotonic())
        died = await reading
        assert died.code == -signal.SIGKILL, died.errors
        pages.append(await pages_on_record(crawl))


async def _struck(process: Process, web: Farm, luck: random.Random) -> bool:
    """False when it ended before its moment came."""
    if luck.random() < 0.5:
        alive = await _lives(process, luck.uniform(*SINCE_START))
    else:
        asked = _size(web.served.logs)
        until = time.monotonic() + PATIENCE
        alive = True
        while alive and _size(web.served.logs) == asked and time.monotonic() < until:
            alive = await _lives(process, 0.01)
        alive = alive and await _lives(process, luck.uniform(*AT_WORK))
    if alive:
        kill(process)
    return alive


async def _lives(process: Process, seconds: float) -> bool:
    """For so long from now? That is what is waited for, and it is over at once when it ends."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        return True
    return False


async def pages_on_record(crawl: Crawl) -> int:
    database = crawl.directory / "crawl.db"
    if not database.exists():
        return 0
    async with open_records(f"sqlite://{database}") as records:
        return pages_of(await records.tally())


def as_heard(log: Sequence[Logged], kills: Sequence[float]) -> list[Logged]:
    """The log without the waits that were asked for just before a kill."""

    def is_heard(line: Logged) -> bool:
        return not any(0 <= killed_at - line.monotonic_at < UNHEARD for killed_at in kills)

    return [line if is_heard(line) else replace(line, retry_after=None) for line in log]


def _size(files: Sequence[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.exists())
