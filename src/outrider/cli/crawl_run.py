"""Run a crawl while somebody watches: progress, signals, status file, and the summary at the end."""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Final, Literal, TypeAlias

import typer
from msgspec.structs import replace

from outrider.app.crawl import WATCHER, Crawling, open_crawl, worker_count
from outrider.app.directory import CrawlDirectory
from outrider.app.rules import Memory, memory_of
from outrider.app.seeds import all_refused
from outrider.app.worker_process import live
from outrider.app.workers import directory_places, load_backends
from outrider.cli.exit_codes import ExitCode
from outrider.cli.saying import say
from outrider.engine.common import Common
from outrider.engine.finish import Finish
from outrider.engine.forked import Prepared, prepared_workers
from outrider.errors import ConfigError, OutriderError, StoreError
from outrider.loop import run
from outrider.model.progress import Progress
from outrider.model.reason import Reason
from outrider.model.record import Decision
from outrider.model.url import Url
from outrider.observe.plain import Display, display_on
from outrider.observe.status_file import write_status
from outrider.observe.summary import summary_json, summary_text
from outrider.observe.words import counted
from outrider.settings import Settings

_STATUS_EVERY: Final = 1.0
Note: TypeAlias = Callable[[str], None]
Beside: TypeAlias = Callable[[Note], AbstractAsyncContextManager[None]]
"""Something that goes on beside a crawl, and tells of itself."""
_TOLD: Final = 3
"""So many seeds are named; of the others there may be thousands."""

_CODES: Final[Mapping[str, ExitCode]] = {
    Finish.SEEDS_UNREACHABLE: ExitCode.FETCH_FAILED,
    Finish.INTERRUPTED: ExitCode.INTERRUPTED,
    Finish.TERMINATED: ExitCode.TERMINATED,
}
"""Every other end is a success: it went as far as it was told to."""


def alone(_note: Note) -> AbstractAsyncContextManager[None]:
    return nullcontext()


def run_crawl(
    settings: Settings,
    seeds: Sequence[Url],
    home: CrawlDirectory,
    log_format: Literal["text", "json"],
    *,
    as_json: bool,
    remarks: Sequence[str] = (),
    beside: Beside = alone,
) -> int:
    """The exit code. The summary goes to the standard output, everything on the way to the error output."""
    note = say_as_json if log_format == "json" else say
    for remark in remarks:
        note(remark)
    load_backends(directory_places(settings, home, WATCHER, Memory()))
    number = worker_count(settings)
    life = partial(live, common=Common(memory_of(settings, number).common // 8))
    with prepared_workers(number, life) as prepared, display_on(sys.stderr, log_format) as display:
        last = run(crawl_and_watch(settings, seeds, home, display, note, beside, prepared))
    files = files_of(settings, home)
    typer.echo(summary_json(last, files) if as_json else summary_text(last, files), nl=as_json)
    return code_of_end(last)


def code_of_end(last: Progress) -> ExitCode:
    census = last.census
    if last.finish == Finish.FINISHED and not census.fetched:
        # A crawl without one page is no success: the web failed, or a rule kept us from asking.
        failed = census.dead or Reason.SITE_UNREACHABLE in census.skipped
        return ExitCode.FETCH_FAILED if failed else ExitCode.REFUSED
    return _CODES.get(last.finish or "", ExitCode.OK)


async def crawl_and_watch(
    settings: Settings,
    seeds: Sequence[Url],
    home: CrawlDirectory,
    display: Display,
    note: Note = say,
    beside: Beside = alone,
    prepared: list[Prepared] | None = None,
) -> Progress:
    """To its end, whichever that is: a first SIGINT or SIGTERM lets what is under way finish, a second does not.

    `beside` is entered once the stores are there, and left when all is over.
    """
    watching = _Watching(home, display)
    opening = open_crawl(settings, seeds, home, shown=watching.show, prepared=prepared)
    try:
        last = await _crawl(opening, seeds or home.seeds(), note, beside)
    except StoreError as error:
        watching.break_off()
        raise StoreError(
            f"{error}; once that is mended, the same command goes on from there (--fresh begins anew)"
        ) from error
    except OutriderError as error:
        watching.break_off()
        said = next((path for path in sorted(home.logs.glob("worker-*.stderr")) if path.stat().st_size), None)
        if said is None or isinstance(error, ConfigError):
            raise
        raise OutriderError(f"{error}; what they said last is in {said}") from error
    watching.end(last)
    return last


async def _crawl(
    opening: AbstractAsyncContextManager[Crawling], seeds: Sequence[Url], note: Note, beside: Beside
) -> Progress:
    async with opening as crawling, beside(note):
        await _tell_beginning(crawling, note)
        loop = asyncio.get_running_loop()
        supervisor = crawling.supervisor
        for number, why in ((signal.SIGINT, Finish.INTERRUPTED), (signal.SIGTERM, Finish.TERMINATED)):
            loop.add_signal_handler(number, supervisor.drain, why)
        try:
            last = await supervisor.run()
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
        if code_of_end(last) in {ExitCode.FETCH_FAILED, ExitCode.REFUSED}:
            await _tell_failures(crawling, seeds, note)
    return last


def say_as_json(sentence: str) -> None:
    """Among lines for a program, everything is one."""
    sys.stderr.write(json.dumps({"type": "note", "message": sentence}) + "\n")


def refuse_seeds(settings: Settings, seeds: Sequence[Url]) -> ExitCode | None:
    """When our own rules speak against every one of them, there is nothing to begin."""
    refused = all_refused(settings, seeds)
    if not refused:
        return None
    _tell_refused(refused, say)
    say("nothing to crawl: no seed may be visited by the rules above; change the rules, or give other seeds")
    return ExitCode.REFUSED


async def _tell_beginning(crawling: Crawling, note: Note) -> None:
    where = crawling.directory.path
    if crawling.resumed:
        census = await crawling.frontier.census()
        owed = census.pending + census.waiting
        # A seed that could not be reached waits for minutes: who has mended the cause may not want to.
        how = (
            "--fresh begins anew" if census.fetched else "after a pause if its site failed; --fresh begins anew at once"
        )
        note(
            f"going on with the crawl in {where}: {counted(census.fetched, 'page')} fetched, "
            f"{counted(owed, 'URL')} still owed a visit ({how})"
        )
    else:
        _tell_refused(crawling.refused.decisions, note)
    if crawling.owed_again:
        note(f"{counted(crawling.owed_again, 'page')} fetched before will be visited again")
    if crawling.mended is not None and crawling.mended.cut:
        cut = counted(crawling.mended.cut, "answer")
        note(f"{cut} that the last run left half written will be fetched again")


def _tell_refused(refused: Sequence[Decision], note: Note) -> None:
    for decision in refused[:_TOLD]:
        note(f"the seed {decision.url} is not crawled: {decision.reason} ({decision.rule}: {decision.evidence})")
    if len(refused) > _TOLD:
        note(f"{counted(len(refused) - _TOLD, 'more seed')} of {len(refused):,} in all are not crawled either")


async def _tell_failures(crawling: Crawling, seeds: Sequence[Url], note: Note) -> None:
    """Which seed, and why: a count of reasons does not help somebody who has mistyped a name."""
    for seed in seeds[:_TOLD]:
        pages = [record.page for record in await crawling.records.find(seed) if record.page is not None]
        if pages:
            # The error begins with the reason, when it says more than that.
            note(f"the seed {seed} could not be fetched: {pages[-1].metadata.error or pages[-1].metadata.reason}")
    if len(seeds) > _TOLD:
        more = counted(len(seeds) - _TOLD, "other seed")
        note(f"nor could {more}; see outrider pages {crawling.directory.path} --status failed")


class _Watching:
    """Each progress is shown; once a second it is also left where `outrider status` finds it."""

    def __init__(self, home: CrawlDirectory, display: Display) -> None:
        self._home = home
        self._display = display
        self._written_at = float("-inf")
        self._last: Progress | None = None

    def show(self, progress: Progress) -> None:
        self._last = progress
        self._display.show(progress)
        if time.monotonic() - self._written_at >= _STATUS_EVERY:
            self._written_at = time.monotonic()
            self._write(progress)

    def end(self, progress: Progress) -> None:
        self._write(progress)

    def break_off(self) -> None:
        if self._last is not None:
            self._write(replace(self._last, finish=Finish.BROKEN.value))

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
