"""A crawl of a web that does not exist, by workers that are killed at any moment; and the referee who reads their log.

Every page links to two more of its site and to the same page of the next site, so one lost task is a missing branch.
Workers keep the engine's order: ask, add the links, settle; the site's pace between two requests; nothing after the
deadline. What they did is in an append-only file, one write a line, which outlives them as the kernel does.
"""

import asyncio
import os
import random
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from outrider.model.lease import Lease
from outrider.model.ledger import Census, Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.pace import PaceLimits, completed, ready_at, reserve
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

SITES = 12
WORKERS = 6
KILLED_AT_ONCE = 4
"""At most: what a round of kills costs besides is shared by its victims; machines lose many workers at once, too."""
INTERVAL = 0.02
LEASE = 0.4
LENT_AT_ONCE = 2
LENT_IN_PEACE = 6
"""Nobody is killed any more, and what is left should not take long."""
TASKS = 4
RULES = FrontierRules(site_by="host", settle=SettleRules(max_recoveries=10_000, pace=PaceLimits(delay=INTERVAL)))
ROOT = Path(__file__).parents[2]


def page(site: int, number: int) -> Url:
    return Url(f"http://s{site % SITES}.example/{number}")


def links(url: Url, pages: int) -> list[Task]:
    site, number = int(url.host[1:].partition(".")[0]), int(url.path[1:])
    found = [page(site, 2 * number + 1), page(site, 2 * number + 2), page(site + 1, number)]
    return [Task(link, parent=url) for link in found if int(link.path[1:]) < pages]


class Log:
    """One line, one write: lines of several processes never mix."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


async def work(frontier: FrontierStore, log: Log, pages: int, *, until_finished: bool) -> None:
    sites = LENT_IN_PEACE if until_finished else LENT_AT_ONCE
    while True:
        lent = await frontier.lease(sites=sites, tasks=TASKS, seconds=LEASE)
        for lease in lent.leases:
            log.write("lent", lease.site.key, lease.token, lease.leased_at)
        await asyncio.gather(*(visit_site(frontier, log, lease, pages) for lease in lent.leases))
        if lent.next_at is None and until_finished:
            return
        if not lent.leases:
            await asyncio.sleep(min(max((lent.next_at or 0.0) - time.time(), 0.001), 0.05))


async def visit_site(frontier: FrontierStore, log: Log, lease: Lease, pages: int) -> None:
    site = reserve(lease.site, lease.leased_at)
    for number, task in enumerate(lease.tasks):
        if number:
            await asyncio.sleep(max(0.0, ready_at(site) - time.time()))
            site = reserve(site, max(ready_at(site), time.time()))
        asked_at = time.time()
        if asked_at >= lease.deadline:
            return  # another may have the site by now
        log.write("asked", site.key, task.url, repr(asked_at))
        site = completed(site, asked_at)
        await frontier.add(links(task.url, pages))
        end = Done(task.url, task.url, 200, Validators(), Changes())
        keep = number + 1 < len(lease.tasks)
        [accepted] = await frontier.settle([Settled(lease, site, ((task, end),), keep=keep)])
        if not accepted:
            log.write("stale", site.key, lease.token)
            return
        log.write("settled", task.url)


class Story(NamedTuple):
    """What the referee found in the log, and what the store says at the end."""

    census: Census
    visits: Counter[str]
    settled: Counter[str]
    stale: int
    shortest_gap: float
    tokens: dict[str, list[tuple[int, float]]]
    kills_at_work: int


@asynccontextmanager
async def nursery(url: str, log: Path, pages: int) -> AsyncIterator[Process]:
    """A process that forks workers and kills them: starting Python anew for each would take most of the time."""
    command = (sys.executable, "-m", "tests.e2e.frontier_nursery", url, str(log), str(pages))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, cwd=ROOT)
    try:
        yield process
    finally:
        await process.communicate(b"")  # the end of its input ends it


async def tell(process: Process, order: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{order}\n".encode())
    await process.stdin.drain()
    return (await process.stdout.readline()).decode().strip()


async def crawl_through_kills(url: str, folder: Path, *, kills: int, pages: int, seed: int) -> Story:
    """`kills` workers die, one or some at a time, at random moments; then what is left is crawled in peace."""
    luck = random.Random(seed)  # noqa: S311 - repeatable on purpose
    log = folder / "log"
    at_work = 0
    async with open_frontier(url, RULES) as frontier:
        await frontier.add([Task(page(site, 0)) for site in range(SITES)])
        async with nursery(url, log, pages) as process:
            alive = (await tell(process, f"spawn {WORKERS}")).split()
            killed = 0
            while killed < kills:
                await asyncio.sleep(luck.uniform(0.0, 0.1))
                victims = luck.sample(alive, min(luck.randint(1, KILLED_AT_ONCE), kills - killed))
                assert await tell(process, f"kill {' '.join(victims)}") == "killed"
                killed += len(victims)
                census = await frontier.census()
                assert census.adds_up, f"seed {seed}: {census}"
                at_work += 0 if census.is_finished else len(victims)
                born = (await tell(process, f"spawn {len(victims)}")).split()
                alive = [worker for worker in alive if worker not in victims] + born
        await work(frontier, Log(log), pages, until_finished=True)
        return read(log, await frontier.census(), at_work)


def read(log: Path, census: Census, kills_at_work: int) -> Story:
    visits: Counter[str] = Counter()
    settled: Counter[str] = Counter()
    asked: defaultdict[str, list[float]] = defaultdict(list)
    tokens: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    stale = 0
    for line in log.read_text().splitlines():
        match line.split():
            case ["asked", site, url, at]:
                visits[url] += 1
                asked[site].append(float(at))
            case ["lent", site, token, at]:
                tokens[site].append((int(token), float(at)))
            case ["settled", url]:
                settled[url] += 1
            case ["stale", *_]:
                stale += 1
            case other:
                raise AssertionError(f"a worker said: {other}")
    gaps = [b - a for times in map(sorted, asked.values()) for a, b in pairwise(times)]
    return Story(census, visits, settled, stale, min(gaps), dict(tokens), kills_at_work)
