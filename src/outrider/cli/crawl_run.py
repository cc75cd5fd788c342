"""Run a crawl while somebody watches: progress, signals, status file, and the summary at the end."""

import asyncio
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import typer

from outrider.app.crawl import Crawling, open_crawl
from outrider.app.directory import CrawlDirectory
from outrider.cli.exit_codes import ExitCode
from outrider.cli.loop import run
from outrider.cli.terminal import say
from outrider.engine.finish import Finish
from outrider.errors import StoreError
from outrider.model.progress import Progress
from outrider.model.url import Url
from outrider.observe.plain import Display, display_on
from outrider.observe.status_file import write_status
from outrider.observe.summary import summary_json, summary_text
from outrider.settings import Settings

_STATUS_EVERY: Final = 1.0

_CODES: Final[Mapping[str, ExitCode]] = {
    Finish.SEEDS_UNREACHABLE: ExitCode.FETCH_FAILED,
    Finish.INTERRUPTED: ExitCode.INTERRUPTED,
    Finish.TERMINATED: ExitCode.TERMINATED,
}
"""Every other end is a success: it went as far as it was told to."""


def run_crawl(
    settings: Settings,
    seeds: Sequence[Url],
    home: CrawlDirectory,
    log_format: Literal["text", "json"],
    *,
    as_json: bool,
    steps: Sequence[str] | None = None,
) -> int:
    """The exit code. The summary goes to the standard output, everything on the way to the error output."""
    with display_on(sys.stderr, log_format) as display:
        last = run(crawl_and_watch(settings, seeds, home, display))
    files = files_of(settings, home)
    typer.echo(summary_json(last, files, steps) if as_json else summary_text(last, files, steps), nl=as_json)
    return code_of_end(last)


def code_of_end(last: Progress) -> ExitCode:
    if last.finish == Finish.FINISHED and last.counts.failed and not last.census.fetched:
        return ExitCode.FETCH_FAILED
    return _CODES.get(last.finish or "", ExitCode.OK)


async def crawl_and_watch(settings: Settings, seeds: Sequence[Url], home: CrawlDirectory, display: Display) -> Progress:
    """To its end, whichever that is: a first SIGINT or SIGTERM lets what is under way finish, a second does not."""
    watching = _Watching(home, display)
    async with open_crawl(settings, seeds, home, shown=watching.show) as crawling:
        _tell_beginning(crawling)
        loop = asyncio.get_running_loop()
        supervisor = crawling.supervisor
        for number, why in ((signal.SIGINT, Finish.INTERRUPTED), (signal.SIGTERM, Finish.TERMINATED)):
            loop.add_signal_handler(number, supervisor.drain, why)
        try:
            last = await supervisor.run()
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
    watching.end(last)
    return last


def _tell_beginning(crawling: Crawling) -> None:
    refused = crawling.refused.decisions
    for decision in refused[:3]:
        say(f"the seed {decision.url} is not crawled: {decision.reason} ({decision.rule}: {decision.evidence})")
    if len(refused) > 3:
        say(f"and {len(refused) - 3} more seeds, see: outrider events {crawling.directory.path} --type url_refused")
    if crawling.resumed:
        say(f"going on with the crawl in {crawling.directory.path}; --fresh begins anew")
    if crawling.mended is not None and crawling.mended.cut:
        say(f"{crawling.mended.cut} answers that were half written are fetched again")


class _Watching:
    """Each progress is shown; once a second it is also left where `outrider status` finds it."""

    def __init__(self, home: CrawlDirectory, display: Display) -> None:
        self._home = home
        self._display = display
        self._written_at = float("-inf")

    def show(self, progress: Progress) -> None:
        self._display.show(progress)
        if time.monotonic() - self._written_at >= _STATUS_EVERY:
            self._written_at = time.monotonic()
            self._write(progress)

    def end(self, progress: Progress) -> None:
        self._write(progress)

    def _write(self, progress: Progress) -> None:
        try:
            write_status(self._home.status, progress)
        except StoreError:
            # A full disk is told of by those who must write; this is only for those who look.
            return


def files_of(settings: Settings, home: CrawlDirectory) -> dict[str, str]:
    """What was written, for the summary."""
    return {
        "directory": str(home.path),
        "records": settings.records or str(home.database),
        "archive": settings.contents or str(home.archive),
        "indexes": str(home.indexes),
        "events": settings.events or str(home.events),
        "logs": str(home.logs),
    }
