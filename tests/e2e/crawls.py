"""A whole crawl by the real command, in processes of its own; and all that it left behind, to be judged.

Only what a user has is used: the command, its exit code, and the files in the crawl's directory.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, json
from tests.integration.stores.warc_judges import Judged, judge
from warcio.bufferedreaders import BufferedReader  # type: ignore[import-untyped]  # it ships no types

from outrider.app.directory import CrawlDirectory, toml_of
from outrider.app.rules import frontier_rules
from outrider.model.capture import Capture
from outrider.model.ledger import Census, State
from outrider.model.reason import Reason
from outrider.model.record import Page, PageFilter, PageStatus
from outrider.model.url import Url
from outrider.ops.audit import Sources, audit
from outrider.settings import load, settings_of
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.stores.warc.names import read_key
from outrider.stores.warc.shelf import find_capture
from outrider.testing.webfarm.world import SWIFT, World
from outrider.testing.webfarm.world_server import Served, served

PATIENCE: Final = 180.0
"""A crawl that takes longer than this hangs."""
SLACK: Final = 0.002
"""A pause begins with the answer, which comes after the arrival: so arrivals are never closer than that. Two clocks
are compared, though, and one of them ticks coarsely."""
_WHOLE: Final[Mapping[str, object]] = {"trap_repeats": 100, "trap_segments": 100, "give_up_probes": 4}
"""The truth of a world walks through its traps to their end, for they have one."""
HAD: Final = frozenset({PageStatus.FETCHED, PageStatus.NOT_MODIFIED})

# warcio checks digests of bodies as they were sent, yet unpacks them, too: for that it writes to a foreign object of
# the brotli library, which current ones forbid. Without the entry it reads such a body as it is.
BufferedReader.DECOMPRESSORS.pop("br", None)

Line = tuple[str, State, Reason | None]


class Ended(Struct, frozen=True):
    """How the command ended. `summary` is what it printed, None when it was killed before."""

    code: int
    summary: dict[str, Any] | None
    errors: str


class Left(Struct, frozen=True):
    """What lies in a crawl's directory."""

    path: Path
    census: Census
    ledger: tuple[Line, ...]
    pages: tuple[Page, ...]
    events: tuple[dict[str, Any], ...]

    async def audited(self) -> list[str]:
        """What an audit of the records finds: nothing, if it was polite."""
        home = CrawlDirectory(self.path)
        async with open_records(f"sqlite://{home.database}", create=False) as records:
            report = await audit(Sources(records, self.census, home.events))
        assert report.requests >= len(self.pages) > 0
        assert report.clean == (not report.examples)
        return [f"{one.rule} {one.site} {one.at} {one.url}: {one.evidence}" for one in report.examples]

    @property
    def had(self) -> list[Page]:
        """Pages that count against the limits, in the order of their records."""
        return [page for page in self.pages if page.metadata.status in HAD]

    def archived(self) -> Judged:
        """Fails unless every file of the archive is sound."""
        home = CrawlDirectory(self.path)
        assert not list(home.archive.glob("*.open"))
        return judge(home.archive, home.indexes)

    def capture(self, page: Page) -> Capture | None:
        """What the archive has under the key that is on record."""
        key = read_key(page.metadata.content_key or "")
        return None if key is None else find_capture(CrawlDirectory(self.path).archive, key)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


class Farm(Struct, frozen=True):
    """A world that is served, and a folder for crawls of it."""

    served: Served
    folder: Path

    def crawl(self, name: str = "crawl", **settings: object) -> "Crawl":
        """A crawl that is yet to be started, with swift settings and these."""
        given: dict[str, object] = {
            **SWIFT,
            **_WHOLE,
            "workers": 2,
            "contact": "crew@example.org",
            "hosts": {host: list(addresses) for host, addresses in self.served.hosts.items()},
            "allow_private": ["127.0.0.0/8"],
            "allow_ports": [self.served.port],
            **settings,
        }
        config = self.folder / f"{name}.toml"
        config.write_text(toml_of(settings_of(**given)))
        return Crawl(self.folder / name, config, tuple(self.served.seeds))


@asynccontextmanager
async def farm(world: World, folder: Path, *, processes: int = 1) -> AsyncIterator[Farm]:
    async with served(world, log=folder / "requests.log", processes=processes) as being_served:
        yield Farm(being_served, folder)


class Crawl(Struct, frozen=True):
    """The same command, however often it is started."""

    directory: Path
    config: Path
    seeds: Sequence[str]

    def command(self, *options: str) -> list[str]:
        where = ("-d", str(self.directory), "--config", str(self.config))
        return [sys.executable, "-m", "outrider", "crawl", *self.seeds, *where, "--json", *options]

    async def start(self, *options: str) -> Process:
        """In a group of its own, so that one signal reaches all of its processes."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OUTRIDER_")}
        return await asyncio.create_subprocess_exec(
            *self.command(*options), stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True, env=environment
        )

    async def run(self, *options: str) -> Ended:
        return await ended(await self.start(*options))

    async def left(self) -> Left:
        home = CrawlDirectory(self.directory)
        settings = load(file=self.config, environment={}).settings
        async with open_frontier(f"sqlite://{home.database}", frontier_rules(settings)) as frontier:
            census = await frontier.census()
            lines = {
                str(entry.url): (entry.state, entry.reason) async for batch in frontier.entries() for entry in batch
            }
        async with open_records(f"sqlite://{home.database}", create=False) as records:
            pages = [page async for batch in records.pages(PageFilter()) for page in batch]
        files = sorted(home.events.glob("*.jsonl"))
        events = [json.decode(line) for file in files for line in file.read_bytes().splitlines()]
        ledger = tuple((url, *line) for url, line in {**_fetched(pages), **lines}.items())
        return Left(self.directory, census, ledger, tuple(pages), tuple(events))


async def ended(process: Process) -> Ended:
    """Wait for the command, and for its whole group to be gone."""
    try:
        async with asyncio.timeout(PATIENCE):
            out, errors = await process.communicate()
    except TimeoutError:
        kill(process)
        out, errors = await process.communicate()
        raise AssertionError(f"the crawl hangs: {errors.decode()}") from None
    assert process.returncode is not None
    return Ended(process.returncode, json.decode(out) if out else None, errors.decode())


def kill(process: Process, number: signal.Signals = signal.SIGKILL) -> None:
    """All processes of the crawl at once: the command's process leads their group."""
    os.killpg(process.pid, number)


def _fetched(pages: Sequence[Page]) -> Mapping[str, tuple[State, Reason | None]]:
    """The lines that a compact frontier does not keep: what was fetched, and the other names of it."""
    lines: dict[str, tuple[State, Reason | None]] = {}
    for page in pages:
        final = str(Url(page.metadata.final_url))
        if page.metadata.status is PageStatus.MOVED:
            lines[page.url] = State.ALIAS, None
        elif page.metadata.status in HAD and (final == page.url or final in lines):
            lines[page.url] = State.FETCHED, None
        elif page.metadata.status in HAD:
            lines[page.url] = State.ALIAS, None
            lines[final] = State.FETCHED, None
    return lines
