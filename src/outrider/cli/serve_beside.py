"""The dashboard beside a crawl: a process of its own, so that whoever looks cannot slow the crawl down.

It inherits the socket, which was opened before anything was begun, and ends when its end of the pipe closes: with the
crawl, however that ends.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

from msgspec import Struct
from msgspec.json import encode

from outrider.app.directory import CrawlDirectory
from outrider.app.serve import Door
from outrider.cli.serve_run import url_of
from outrider.settings import Loaded
from outrider.settings.describe import spoken

MODULE: Final = "outrider.cli.serve_process"
_PATIENCE: Final = 5.0


class ServeJob(Struct, frozen=True):
    """What the process is told, secrets included: it goes through a pipe, never to a file or a command line."""

    settings: Mapping[str, object]
    provenance: Mapping[str, str]
    directory: str
    descriptor: int
    token: str | None = None
    names: tuple[str, ...] = ()


@asynccontextmanager
async def dashboard_beside(
    loaded: Loaded, door: Door, home: CrawlDirectory, note: Callable[[str], None]
) -> AsyncIterator[None]:
    """While the block lasts. One that does not come up is told, and the crawl goes on without it."""
    url = url_of(door)
    process = await _started(loaded, door, home)
    door.listening.close()  # it is the other process's now: nobody would answer here
    telling = asyncio.create_task(_tell(process, url, home, note))
    try:
        yield
    finally:
        await _end(process)
        await telling


async def _started(loaded: Loaded, door: Door, home: CrawlDirectory) -> Process:
    descriptor = door.listening.fileno()
    job = ServeJob(
        settings=spoken(loaded.settings),
        provenance=dict(loaded.provenance),
        directory=str(home.path),
        descriptor=descriptor,
        token=door.token,
        names=door.names,
    )
    with (home.logs / "dashboard.stderr").open("ab") as said:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", MODULE),
            pass_fds=[descriptor],
            stdin=PIPE,
            stdout=PIPE,
            stderr=said,
            start_new_session=True,  # a Ctrl-C is the crawl's: the dashboard shows how it drains
        )
    assert process.stdin is not None  # noqa: S101 - it was asked for above
    process.stdin.write(encode(job) + b"\n")
    return process


async def _tell(process: Process, url: str, home: CrawlDirectory, note: Callable[[str], None]) -> None:
    assert process.stdout is not None  # noqa: S101 - it was asked for
    if await process.stdout.readline():
        note(f"the dashboard is at {url}")
    elif process.stdin is not None and not process.stdin.is_closing():
        note(f"there is no dashboard; what it said last is in {home.logs / 'dashboard.stderr'}")


async def _end(process: Process) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    process.stdin.close()
    try:
        async with asyncio.timeout(_PATIENCE):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
