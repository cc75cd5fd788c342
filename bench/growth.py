"""Does the rate hold, and the memory, while a crawl gets to know a million URLs?

    .venv/bin/python bench/growth.py [--quick] [--output FILE]

One crawl as in `crawl.py`, of a web of 1,000 sites and 1.2 million pages, until it knows a million URLs: 200,000 pages
of 35 KB, some minutes. Each page has five links that nobody has seen before. Once a second it is noted how far it is,
what CPU it took and how much memory all its processes have; a row is what happened since the row before it.

Within these minutes a shared machine becomes faster and slower by a half, so rows cannot be compared with each other.
Therefore a young crawl of a web of its own begins beside the grown one towards the end: what the two do in the same
seconds, on the same cores, can be.
"""

import argparse
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Final

from crawl import CASES, CORES, command_of
from msgspec import Struct, json
from processes import children_of, cpu_of, end_in_order
from serving import PATIENCE, serving

from outrider.app.directory import CrawlDirectory
from outrider.observe.status_file import read_status

SITES: Final = 1_000
PAGES: Final = 1_200
MARKS: Final = (10_000, 110_000, 300_000, 500_000, 700_000, 900_000)
LAST: Final = 1_080_000
"""A young crawl begins at the last mark, and by the time it knows the first one, 100,000 on either side of a million
are left.
"""
QUICK: Final = (10_000, 60_000, 100_000)
QUICK_LAST: Final = 160_000
LONGEST: Final = 1_200.0
SPELL: Final = 30.0


class Moment(Struct, frozen=True):
    """Seconds since the beginning, the clock, what was done by then, and what had been used for it."""

    at: float
    clock: float
    pages: int
    known: int
    cpu: float
    memory: int


class Found(Struct, frozen=True):
    """Of the crawl that grew, and of the young one beside its end."""

    grown: list[Moment]
    young: list[Moment]


class Growth(Struct, frozen=True):
    """From one moment to another: pages a second, seconds of CPU a page, and the most memory meanwhile."""

    known: int
    rate: float
    cpu: float
    memory: int


class Watched:
    """A crawl that is under way, and what was seen of it."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._home = CrawlDirectory(folder / "crawl")
        self.found: list[Moment] = []

    @property
    def known(self) -> int:
        return self.found[-1].known if self.found else 0

    def look(self) -> None:
        if self._process.poll() is not None:
            raise SystemExit(f"the crawl did not get that far:\n{(self._folder / 'said').read_text()[-2_000:]}")
        progress = read_status(self._home.status)
        if progress is None or (self.found and progress.at == self.found[-1].clock):
            return
        cpu = cpu_of(self._process.pid) + sum(map(cpu_of, children_of(self._process.pid)))
        counts, census = progress.counts, progress.census
        self.found.append(Moment(progress.seconds, progress.at, counts.pages, census.discovered, cpu, progress.memory))


@contextmanager
def crawling(folder: Path) -> Iterator[Watched]:
    with serving(SITES, PAGES, folder) as web:
        command = command_of(CASES[0], folder, web.port, SITES)
        with (folder / "said").open("wb") as said:
            crawl = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # noqa: S603
        try:
            yield Watched(crawl, folder)
        finally:
            crawl.send_signal(signal.SIGTERM)
            crawl.wait(PATIENCE)


def measured(folder: Path, begin: int, end: int) -> Found:
    """Until the crawl knows `end` URLs; at `begin` another one begins."""
    until = monotonic() + LONGEST
    with ExitStack() as stack:
        watched = [stack.enter_context(crawling(_made(folder / "grown")))]
        while watched[0].known < end:
            if monotonic() > until:
                raise SystemExit(f"after {LONGEST:,.0f} s it knows {watched[0].known:,} URLs")
            sleep(0.02)
            for one in watched:
                one.look()
            if len(watched) == 1 and watched[0].known >= begin:
                watched.append(stack.enter_context(crawling(_made(folder / "young"))))
        return Found(watched[0].found, watched[1].found)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def between(found: Sequence[Moment], begin: Moment, end: Moment) -> Growth:
    pages = end.pages - begin.pages
    return Growth(
        end.known,
        pages / (end.clock - begin.clock),
        (end.cpu - begin.cpu) / pages,
        max(moment.memory for moment in found if begin.at <= moment.at <= end.at),
    )


def growth(found: Sequence[Moment], marks: Sequence[int]) -> list[Growth]:
    """Between each two marks, as near as there was a look."""
    at = [next(moment for moment in found if moment.known >= mark) for mark in marks]
    return [between(found, begin, end) for begin, end in pairwise(at)]


def side_by_side(found: Found, first: int) -> tuple[Growth, Growth]:
    """The grown crawl and the young one, from when the young one knows `first` URLs."""
    begin = next(moment.clock for moment in found.young if moment.known >= first)
    end = min(found.grown[-1].clock, found.young[-1].clock)
    both = [[one for one in each if begin <= one.clock <= end] for each in (found.grown, found.young)]
    grown, young = (between(each, each[0], each[-1]) for each in both)
    return grown, young


def by_spell(found: Found) -> list[int]:
    """The memory of the crawl that grew in each half minute, as its median, to its end beside the young one."""
    spells = groupby(found.grown, key=lambda moment: moment.at // SPELL)
    return [int(median(moment.memory for moment in each)) for _, each in spells]


def main() -> None:
    end_in_order()
    parser = argparse.ArgumentParser(description="The rate and the memory of a crawl that gets to know many URLs.")
    parser.add_argument("--quick", action="store_true", help="only up to 100,000 URLs")
    parser.add_argument("--output", type=Path, help="all moments, as JSON")
    given = parser.parse_args()
    marks, last = (QUICK, QUICK_LAST) if given.quick else (MARKS, LAST)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    with tempfile.TemporaryDirectory(prefix="outrider-growth-") as name:
        found = measured(Path(name), marks[-1], last)
    print(f"{'URLs known':>12} {'pages/s':>8} {'CPU a page, µs':>15} {'memory, MiB':>12}")
    grown, young = side_by_side(found, marks[0])
    for row in growth(found.grown, marks):
        _show(row)
    print("in the same seconds:")
    _show(grown)
    _show(young)
    print(f"the grown one has {grown.rate / young.rate:.0%} of the rate, by CPU {young.cpu / grown.cpu:.0%}")
    print("memory by the half minute, MiB:", ", ".join(f"{memory >> 20:,}" for memory in by_spell(found)))
    if given.output is not None:
        given.output.write_bytes(json.encode(found))


def _show(row: Growth) -> None:
    print(f"{row.known:12,} {row.rate:8,.0f} {row.cpu * 1e6:15,.0f} {row.memory >> 20:12,}")


if __name__ == "__main__":
    main()
