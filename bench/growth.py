"""Does the rate hold, and the memory, while a crawl gets to know a million URLs?

    .venv/bin/python bench/growth.py [--quick] [--output FILE]

One crawl as in `crawl.py`, of a web of 1,000 sites and 1.2 million pages, until it knows a million URLs: 200,000 pages
of 35 KB, some minutes. Each page has five links that nobody has seen before. Once a second it is noted how far it is,
what CPU it took and how much memory all its processes have; a row is what happened since the row before it.
"""

import argparse
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import Final

from crawl import CASES, CORES, PATIENCE, children_of, command_of, cpu_of, end_in_order, open_server
from msgspec import Struct, json

from outrider.app.directory import CrawlDirectory
from outrider.observe.status_file import read_status

SITES: Final = 1_000
PAGES: Final = 1_200
MARKS: Final = (10_000, 110_000, 300_000, 500_000, 700_000, 900_000, 1_000_000)
"""20,000 pages in the first row and in the last: in fewer, the machine has more to say than the crawl."""
QUICK: Final = (10_000, 60_000, 100_000)
LONGEST: Final = 1_200.0
FIRST_MINUTE: Final = 60.0


class Moment(Struct, frozen=True):
    """Seconds since the beginning, what was done by then, and what had been used for it."""

    at: float
    pages: int
    known: int
    cpu: float
    memory: int


class Growth(Struct, frozen=True):
    """From one mark to the next: pages a second, seconds of CPU a page, and the most memory meanwhile."""

    known: int
    rate: float
    cpu: float
    memory: int


def moments(crawl: subprocess.Popen[bytes], home: CrawlDirectory, known: int) -> Iterator[Moment]:
    last, until = -1.0, monotonic() + LONGEST
    while crawl.poll() is None and monotonic() < until:
        sleep(0.02)
        progress = read_status(home.status)
        if progress is None or progress.at == last:
            continue
        last = progress.at
        cpu = cpu_of(crawl.pid) + sum(map(cpu_of, children_of(crawl.pid)))
        yield Moment(progress.seconds, progress.counts.pages, progress.census.discovered, cpu, progress.memory)
        if progress.census.discovered >= known:
            return


def measured(folder: Path, known: int) -> list[Moment]:
    case = CASES[0]
    with open_server(case, folder, SITES, PAGES) as (_, port):
        with (folder / "said").open("wb") as said:
            command = command_of(case, folder, port, SITES)
            crawl = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # noqa: S603
        try:
            found = list(moments(crawl, CrawlDirectory(folder / "crawl"), known))
        finally:
            crawl.send_signal(signal.SIGTERM)
            crawl.wait(PATIENCE)
    if not found or found[-1].known < known:
        raise SystemExit(f"the crawl did not get that far:\n{(folder / 'said').read_text()[-2_000:]}")
    return found


def growth(found: Sequence[Moment], marks: Sequence[int]) -> list[Growth]:
    """Between each two marks, as near as there was a look."""
    at = [next(moment for moment in found if moment.known >= mark) for mark in marks]
    return [
        Growth(
            end.known,
            (end.pages - begin.pages) / (end.at - begin.at),
            (end.cpu - begin.cpu) / (end.pages - begin.pages),
            max(moment.memory for moment in found if begin.at <= moment.at <= end.at),
        )
        for begin, end in pairwise(at)
    ]


def highest(found: Sequence[Moment]) -> tuple[int, int]:
    """The most memory of the first minute, and of the time after it."""
    early = [moment.memory for moment in found if moment.at <= FIRST_MINUTE]
    return max(early), max((moment.memory for moment in found if moment.at > FIRST_MINUTE), default=max(early))


def main() -> None:
    end_in_order()
    parser = argparse.ArgumentParser(description="The rate and the memory of a crawl that gets to know many URLs.")
    parser.add_argument("--quick", action="store_true", help="only up to 100,000 URLs")
    parser.add_argument("--output", type=Path, help="all moments, as JSON lines")
    given = parser.parse_args()
    marks = QUICK if given.quick else MARKS
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory(prefix="outrider-growth-") as name:
        found = measured(Path(name), marks[-1])
    print(f"{'URLs known':>12} {'pages/s':>8} {'CPU a page, µs':>15} {'memory, MiB':>12}")
    for row in growth(found, marks):
        print(f"{row.known:12,} {row.rate:8,.0f} {row.cpu * 1e6:15,.0f} {row.memory >> 20:12,}")
    first, later = highest(found)
    print(f"memory: at most {first >> 20:,} MiB in the first minute, {later >> 20:,} MiB after it")
    if given.output is not None:
        given.output.write_bytes(b"".join(json.encode(moment) + b"\n" for moment in found))


if __name__ == "__main__":
    main()
