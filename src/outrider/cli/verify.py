"""`outrider verify [DIR]`: do archive, index, records and events of a crawl agree? It only reads."""

import fcntl
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.cli.crawl_folder import (
    ARCHIVE,
    EVENTS,
    FRONTIER,
    INDEXES,
    STATUS,
    CrawlFolder,
    check_crawl,
    kept_elsewhere,
    records_of,
)
from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson

if TYPE_CHECKING:
    from outrider.ops.verify import Home, Report, Tell

_LOCK: Final = ".lock"


def verify(
    *,
    folder: CrawlFolder = Path(),
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="Records that are kept elsewhere: postgresql://….")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Read a whole crawl again: archive, index, records and events agree, and every hash is what it was."""
    from outrider.loop import run  # noqa: PLC0415 - late, as in options

    home, records = home_of(folder, store)
    report = run(_verify(home, records))
    if as_json:
        from msgspec import to_builtins  # noqa: PLC0415 - late, as in options

        typer.echo(json.dumps(to_builtins(report)))
    else:
        _print(report)
    return ExitCode.OK if report.sound else ExitCode.VIOLATIONS


async def _verify(home: "Home", records: str) -> "Report":
    from outrider.ops.verify import verify as verify_home  # noqa: PLC0415 - late, as in options
    from outrider.stores.records import open_records  # noqa: PLC0415 - the same

    async with open_records(records, create=False) as opened:
        with _progress() as tell:
            return await verify_home(home, opened, tell)


def home_of(folder: Path, store: str | None) -> "tuple[Home, str]":
    """What lies where, and the URL of the records. Raises `ConfigError` for what is no crawl."""
    from outrider.ops.verify import Home  # noqa: PLC0415 - late, as in options

    check_crawl(folder)
    kept = kept_elsewhere(folder)
    for name in (ARCHIVE, INDEXES, EVENTS):
        _look_into(folder / name)
    home = Home(
        archive=None if "contents" in kept else folder / ARCHIVE,
        indexes=folder / INDEXES,
        events=None if "events" in kept else folder / EVENTS,
        frontier=None if "frontier" in kept else folder / FRONTIER,
        running=_is_running(folder),
        recrawls=kept.get("recrawl") == "true",
    )
    return home, store or records_of(folder, kept.get("records"), "--store")


def _look_into(folder: Path) -> None:
    """Raises `PermissionError`, which those who look for files by a pattern would take for an empty folder."""
    if folder.exists():
        next(folder.iterdir(), None)


def _is_running(folder: Path) -> bool | None:
    """By its status; and by its lock, since one that has just begun says nothing yet."""
    from outrider.observe.status_file import is_running, whole_status  # noqa: PLC0415 - late, as in options

    status = whole_status(folder / STATUS)
    running = False if status is None else is_running(status)
    if running is not False or not (folder / _LOCK).exists():
        return running
    with (folder / _LOCK).open("rb") as lock:
        try:
            # Shared, and given back at once: whoever begins at this very moment is not kept from it for longer.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def _progress() -> "Iterator[Tell]":
    """A line that moves on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("reading", total=None)
        yield lambda what, done, total: progress.update(
            bar, description=f"reading the {what}", completed=done, total=total
        )


def _print(report: "Report") -> None:
    from outrider.cli.terminal import console_on, page_width, print_lines  # noqa: PLC0415 - late, as in options
    from outrider.cli.verify_table import told  # noqa: PLC0415 - the same

    console = console_on(sys.stdout)
    print_lines(told(report, page_width(console)), console)
