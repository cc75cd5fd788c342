"""How many pages a second does a whole crawl fetch, and what CPU does each take?

    .venv/bin/python bench/crawl.py [--quick] [--case NAME]... [--pages N] [--rounds N] [--keep FOLDER] [--output FILE]

`outrider crawl` as anybody runs it, against `crawl_server.py` on the same cores: pages of 35 KB, 50 links, no delay,
every page on record, in the archive, in the frontier and in the events before it counts. After so many pages it is told
to end. The rate is that of the time after the first fifth, so that starting processes is not in it; CPU is of the same
time, from `/proc`, in steps of 10 ms. On a machine that others use as well the rate says little: `had` is how much of
the cores crawl and server got, and `alone` is the rate at which this CPU a page would fill both cores.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from platform import python_version
from time import monotonic, sleep
from typing import Final

from crawl_server import ADDRESS, SIZE, host_of
from msgspec import Struct, json
from processes import children_of, cpu_of, end_in_order
from serving import PATIENCE, Served, serving

from outrider.app.directory import CrawlDirectory
from outrider.cli.exit_codes import ExitCode
from outrider.model.progress import Progress
from outrider.observe.status_file import read_status

GOAL: Final = 1_000
"""Pages a second on two cores, plain."""
CORES: Final = 2
SITES: Final = 400
PAGES: Final = 2_000
"""Of each site: more than can be fetched meanwhile."""
SLOWEST: Final = 50
"""Pages a second below which it is not waited for."""


class Case(Struct, frozen=True):
    """`closes`: one request a connection. `options` go to the command as they are."""

    name: str
    tls: bool = False
    closes: bool = False
    options: tuple[str, ...] = ()


CASES: Final = (
    Case("plain"),
    Case("TLS", tls=True),
    Case("new TLS", tls=True, closes=True),
    Case("no archive", options=("--set", "contents=memory:")),
    Case("limited", options=("--max-pages", "10000000")),
)


class Sample(Struct, frozen=True):
    """What was done, and what had been used for it, at one moment."""

    progress: Progress
    watcher: float
    workers: float
    server: float


class Figures(Struct, frozen=True):
    """Seconds of CPU for each page, and pages a second."""

    case: Case
    pages: int
    rate: float
    watcher: float
    workers: float
    server: float
    files: int
    failed: int

    @property
    def crawl(self) -> float:
        return self.watcher + self.workers

    @property
    def cpu(self) -> float:
        return self.crawl + self.server

    @property
    def alone(self) -> float:
        return CORES / self.cpu


def command_of(case: Case, folder: Path, port: int, sites: int = SITES) -> list[str]:
    scheme = "https" if case.tls else "http"
    seeds = folder / "seeds"
    seeds.write_text("".join(f"{scheme}://{host_of(site)}:{port}/\n" for site in range(sites)))
    command = [sys.executable, "-m", "outrider", "crawl", "--seeds", str(seeds), "-d", str(folder / "crawl")]
    command += ["--delay", "0", "--scope", "any", "--allow-private", "127.0.0.0/8"]
    command += ["--contact", "bench@example.org", "--set", f"allow_ports={port}", "--set", f"hosts=*.test={ADDRESS}"]
    command += ["--set", f"ca_file={folder / 'ca.pem'}"] if case.tls else []
    return [*command, "--workers", str(CORES), *case.options]


def measure(case: Case, folder: Path, pages: int) -> Figures:
    with serving(SITES, PAGES, folder, tls=case.tls, closes=case.closes) as web:
        command = command_of(case, folder, web.port)
        with (folder / "said").open("wb") as said:
            crawl = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # noqa: S603
        try:
            samples = list(_samples(crawl, web, CrawlDirectory(folder / "crawl"), pages))
            crawl.terminate()
            crawl.wait(PATIENCE)
        finally:
            if crawl.poll() is None:
                crawl.send_signal(signal.SIGKILL)
                crawl.wait()
    if crawl.returncode != ExitCode.TERMINATED or len(samples) < 2:
        raise SystemExit(f"the crawl ended with {crawl.returncode}:\n{(folder / 'said').read_text()}")
    files = sum(path.stat().st_size for path in (folder / "crawl").rglob("*") if path.is_file())
    return figures_of(case, samples, files)


def _samples(crawl: subprocess.Popen[bytes], web: Served, home: CrawlDirectory, pages: int) -> Iterator[Sample]:
    """One for each status that the crawl leaves, which is one a second, once it is under way; until it has `pages`."""
    last = -1.0
    until = monotonic() + PATIENCE + pages / SLOWEST
    while crawl.poll() is None and monotonic() < until:
        sleep(0.01)
        progress = read_status(home.status)
        if progress is None or progress.at == last or progress.counts.pages < pages / 5:
            continue
        last = progress.at
        yield Sample(progress, cpu_of(crawl.pid), sum(map(cpu_of, children_of(crawl.pid))), web.cpu())
        if progress.counts.pages >= pages:
            return


def figures_of(case: Case, samples: list[Sample], files: int) -> Figures:
    begin, end = samples[0], samples[-1]
    whole = end.progress.counts.pages
    pages = whole - begin.progress.counts.pages
    return Figures(
        case=case,
        pages=pages,
        rate=pages / (end.progress.at - begin.progress.at),
        watcher=(end.watcher - begin.watcher) / pages,
        workers=(end.workers - begin.workers) / pages,
        server=(end.server - begin.server) / pages,
        files=files // whole,
        failed=end.progress.counts.failed,
    )


def show(all_figures: list[Figures]) -> None:
    print(f"\n{'':12} {'pages':>8} {'pages/s':>8} {'had':>5} {'alone':>8}  {'CPU a page, µs':^35}  {'bytes':>7}  goal")
    kinds = " ".join(f"{kind:>8}" for kind in ("crawl", "watcher", "server", "all"))
    print(f"{'':12} {'':8} {'':8} {'':5} {'pages/s':>8} {kinds}  {'a page':>7}  ≥ {GOAL:,}/s")
    for one in all_figures:
        costs = " ".join(f"{cost * 1e6:8.0f}" for cost in (one.crawl, one.watcher, one.server, one.cpu))
        met = "met" if one.rate >= GOAL else "MISSED"
        failed = f"; {one.failed} failed" if one.failed else ""
        speed = f"{one.pages:8,} {one.rate:8,.0f} {one.rate / one.alone:5.0%} {one.alone:8,.0f}"
        print(f"{one.case.name:12} {speed} {costs}  {one.files:7,}  {met}{failed}", flush=True)


def main() -> None:
    end_in_order()
    parser = argparse.ArgumentParser(description="Pages a second of a whole crawl, and the CPU of each.")
    parser.add_argument("--quick", action="store_true", help="few pages, plain and TLS: a first look")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="only this one")
    parser.add_argument("--pages", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="the crawls stay there, one folder each")
    parser.add_argument("--output", type=Path, help="the figures, as JSON lines")
    given = parser.parse_args()
    pages = given.pages or (8_000 if given.quick else 30_000)
    wanted = given.case or [case.name for case in (CASES[:2] if given.quick else CASES)]
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    os.sched_setaffinity(0, cores)
    print(f"{SITES} sites, {SIZE:,} bytes a page, {pages:,} pages each; crawl and server share {len(cores)} cores")
    print(f"Python {python_version()}; load of the machine at the start: {os.getloadavg()[0]:.1f}")
    found = []
    for turn in range(given.rounds):
        for case in (case for case in CASES if case.name in wanted):
            place = nullcontext(given.keep / f"{case.name}-{turn}") if given.keep else tempfile.TemporaryDirectory()
            with place as name:
                Path(name).mkdir(parents=True, exist_ok=True)
                found.append(measure(case, Path(name), pages))
    show(found)
    if given.output is not None:
        given.output.write_bytes(b"".join(json.encode(one) + b"\n" for one in found))


if __name__ == "__main__":
    main()
