"""The same web, the same work, the same run: Outrider beside Scrapy, Crawlee, Colly and wget.

    ./scripts/bench [--quick]     makes the environments that this needs, and runs it

Each contestant crawls a whole web of known size on loopback, from the same seeds, to its end: it fetches, extracts
links, follows those of the seeds' hosts and visits nothing twice. They take turns, round after round. Whoever did not
fetch exactly the pages of the web has no figures. CPU is user and system time of all processes of a contestant, the
server's apart: it says more than the clock does on machines that others use as well.
"""

import argparse
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Final

from crawl import CORES
from crawl_server import SIZE, address_of
from msgspec import Struct, json
from serving import Served, serving

HERE: Final = Path(__file__).parent
PATIENCE: Final = 1_200.0


class Scenario(Struct, frozen=True):
    """A web: `sites` of `pages` each. `closes`: a new connection for each page. `thorough`: with everybody.

    Elsewhere Scrapy runs once, without JOBDIR, which costs it the same everywhere: it takes most of the hour as it is.
    """

    name: str
    sites: int
    pages: int
    tls: bool = False
    size: int = SIZE
    closes: bool = False
    thorough: bool = False

    @property
    def all_pages(self) -> int:
        return self.sites * self.pages


class Web(Struct, frozen=True):
    """A scenario that is being served. `work` is an empty folder for whoever crawls it."""

    scenario: Scenario
    server: Served
    seeds: Path
    authority: Path | None
    work: Path

    def urls(self) -> set[str]:
        """All there is to be fetched."""
        scenario = self.scenario
        starts = [_start(scenario, site, self.server.port) for site in range(scenario.sites)]
        return {*starts, *(f"{start}p/{page}" for start in starts for page in range(scenario.pages))}


class Contestant(Struct, frozen=True):
    """`command` crawls the web; `fetched` tells which URLs it had. `keeps`: what is left of it after a crash."""

    name: str
    keeps: str
    command: Callable[[Web], list[str]]
    fetched: Callable[[Web], list[str]]
    costly: bool = False


class Run(Struct, frozen=True):
    """Seconds of one crawl, and the most memory that one of its processes had, in bytes."""

    scenario: str
    contestant: str
    pages: int
    wall: float
    cpu: float
    server: float
    memory: int


def _start(scenario: Scenario, site: int, port: int) -> str:
    return f"{'https' if scenario.tls else 'http'}://{address_of(site)}:{port}/"


# the contestants


def _outrider(web: Web) -> list[str]:
    command = [sys.executable, "-m", "outrider", "crawl", "--seeds", str(web.seeds), "-d", str(web.work / "crawl")]
    command += ["--delay", "0", "--scope", "host", "--allow-private", "127.0.0.0/8", "--contact", "bench@example.org"]
    command += ["--set", f"allow_ports={web.server.port}", "--workers", str(CORES)]
    return [*command, "--set", f"ca_file={web.authority}"] if web.authority else command


def _recorded(web: Web) -> list[str]:
    with closing(sqlite3.connect(web.work / "crawl" / "crawl.db")) as records:
        return [url for (url,) in records.execute("SELECT url FROM pages WHERE status = 'fetched'")]


def _listed(web: Web) -> list[str]:
    return (web.work / "fetched").read_text().split()


def _scrapy(web: Web, *options: str) -> list[str]:
    return [_peer("python"), str(HERE / "peers/scrapy_spider.py"), str(web.seeds), str(web.work / "fetched"), *options]


def _scrapy_durable(web: Web) -> list[str]:
    return _scrapy(web, "--jobdir", str(web.work / "job"))


def _crawlee(web: Web) -> list[str]:
    return [_peer("python"), str(HERE / "peers/crawlee_crawler.py"), str(web.seeds), str(web.work / "fetched")]


def _colly(web: Web) -> list[str]:
    return [_peer("colly"), str(web.seeds), str(web.work / "fetched")]


def _wget(web: Web) -> list[str]:
    command = ["wget", "--mirror", "--no-verbose", "--execute", "robots=off", "--input-file", str(web.seeds)]
    return [
        *command,
        "--no-check-certificate",
        "--directory-prefix",
        str(web.work),
        "--output-file",
        str(web.work / "log"),
    ]


def _saved(web: Web) -> list[str]:
    lines = (web.work / "log").read_text().splitlines()
    return [line.partition(" URL:")[2].split(" ", 1)[0] for line in lines if " URL:" in line]


def _peer(program: str) -> str:
    """From the environment that `scripts/bench` makes."""
    return str(Path(os.environ["BENCH_PEERS"]) / "bin" / program)


CONTESTANTS: Final = (
    Contestant("Outrider", "everything", _outrider, _recorded),
    Contestant("Scrapy", "nothing", _scrapy, _listed),
    Contestant("Scrapy, JOBDIR", "the queue, if it is stopped cleanly", _scrapy_durable, _listed, costly=True),
    Contestant("Crawlee", "nothing", _crawlee, _listed),
    Contestant("Colly", "nothing", _colly, _listed),
    Contestant("wget", "the pages", _wget, _saved),
)
SCENARIOS: Final = (
    Scenario("many sites", sites=100, pages=60, thorough=True),
    Scenario("few sites", sites=5, pages=1_200),
    Scenario("TLS", sites=100, pages=60, tls=True),
    Scenario("new TLS connections", sites=100, pages=20, tls=True, closes=True),
    Scenario("pages of 200 KB", sites=50, pages=40, size=200_000),
)
QUICK: Final = (
    Scenario("many sites", sites=40, pages=25, thorough=True),
    Scenario("TLS", sites=40, pages=25, tls=True),
)


@contextmanager
def served(scenario: Scenario, folder: Path) -> Iterator[Web]:
    with serving(
        scenario.sites,
        scenario.pages,
        folder,
        tls=scenario.tls,
        closes=scenario.closes,
        addresses=True,
        size=scenario.size,
    ) as server:
        seeds = folder / "seeds"
        seeds.write_text("".join(f"{_start(scenario, site, server.port)}\n" for site in range(scenario.sites)))
        authority = folder / "ca.pem" if scenario.tls else None
        yield Web(scenario, server, seeds, authority, folder / "work")


def run(contestant: Contestant, web: Web) -> Run:
    """Raises `SystemExit` when it fails, or did not fetch the web."""
    shutil.rmtree(web.work, ignore_errors=True)
    web.work.mkdir()
    before, began = web.server.cpu(), monotonic()
    process, used = _ended(contestant.command(web), web.work / "said")
    wall = monotonic() - began
    fetched = contestant.fetched(web) if process.returncode == 0 else []
    if process.returncode or len(fetched) != len(set(fetched)) or set(fetched) != web.urls():
        said_last = (web.work / "said").read_text(errors="replace")[-2_000:]
        missed, beyond = len(web.urls() - set(fetched)), len(set(fetched) - web.urls())
        twice = len(fetched) - len(set(fetched))
        raise SystemExit(
            f"{contestant.name}, {web.scenario.name}: ended with {process.returncode}; {missed} pages missed, "
            f"{beyond} that are none of the web, {twice} fetched again\n{said_last}"
        )
    cpu = used.ru_utime + used.ru_stime
    server = web.server.cpu() - before
    return Run(web.scenario.name, contestant.name, len(fetched), wall, cpu, server, used.ru_maxrss * 1024)


def _ended(command: list[str], log: Path) -> tuple[subprocess.Popen[bytes], resource.struct_rusage]:
    """The process, and what it used with all whom it waited for. Whoever takes too long, or is left, is killed."""
    with log.open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 - our own list
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
    patience = Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
    patience.start()
    try:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        patience.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process, used


def rounds(scenarios: Sequence[Scenario], contestants: Sequence[Contestant], number: int) -> Iterator[Run]:
    for scenario in scenarios:
        with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder, served(scenario, Path(folder)) as web:
            for _ in range(number):
                for contestant in contestants:
                    if contestant.costly and not scenario.thorough:
                        continue
                    one = run(contestant, web)
                    print(
                        f"{one.scenario:20} {one.contestant:15} {one.pages / one.wall:8,.0f} pages/s "
                        f"{one.cpu / one.pages * 1e6:8,.0f} µs CPU a page {one.memory >> 20:6,} MiB",
                        flush=True,
                    )
                    yield one


def main() -> None:
    parser = argparse.ArgumentParser(description="Outrider beside its peers, on the same web in the same run.")
    parser.add_argument("--quick", action="store_true", help="small webs, once each: a first look")
    parser.add_argument("--check", action="store_true", help="one scenario, twice: enough to see a regression")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--without", action="append", default=[], choices=[one.name for one in CONTESTANTS[1:]])
    parser.add_argument("--scenario", action="append", choices=[one.name for one in SCENARIOS])
    parser.add_argument("--output", type=Path, help="all runs, as JSON lines")
    given = parser.parse_args()
    offered: tuple[Scenario, ...] = QUICK if given.quick else SCENARIOS[:1] if given.check else SCENARIOS
    scenarios = tuple(one for one in offered if not given.scenario or one.name in given.scenario)
    contestants = tuple(one for one in CONTESTANTS if one.name not in given.without)
    number = given.rounds or (1 if given.quick else 2 if given.check else 3)
    with given.output.open("wb", buffering=0) if given.output else nullcontext() as output:
        for one in rounds(scenarios, contestants, number):
            if output is not None:
                output.write(json.encode(one) + b"\n")


if __name__ == "__main__":
    main()
