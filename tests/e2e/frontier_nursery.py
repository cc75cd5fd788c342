"""Forks workers and kills them, as told line by line: `spawn N`, `kill PID PID…`. When nobody tells any more, all die.

It is the workers' parent, so a number it kills is always that of its own child: nobody else waits for them.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.e2e.frontier_kills import RULES, Log, work

from outrider.stores.registry import open_frontier


async def crawl(url: str, log: Log, pages: int) -> None:
    async with open_frontier(url, RULES) as frontier:
        await work(frontier, log, pages, until_finished=False)


def spawn(url: str, path: Path, pages: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    log = Log(path)
    try:
        asyncio.run(crawl(url, log, pages))
    except BaseException as error:  # noqa: BLE001 - the referee reads it, and fails the test
        log.write("failed", repr(error))
    os._exit(1)


def kill(pids: Iterable[int]) -> None:
    """All of them at one moment."""
    pids = list(pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)


def main() -> None:
    url, log, pages = sys.argv[1:]
    open_frontier(url, RULES)  # not entered: it imports the driver, once for all who are forked here
    alive: set[int] = set()
    for line in sys.stdin:
        match line.split():
            case ["spawn", number]:
                born = [spawn(url, Path(log), int(pages)) for _ in range(int(number))]
                alive.update(born)
                print(*born, flush=True)
            case ["kill", *pids]:
                victims = {int(pid) for pid in pids}
                kill(victims)
                alive -= victims
                print("killed", flush=True)
    kill(alive)


if __name__ == "__main__":
    main()
