"""`outrider verify [DIR]`: do archive, index, records and events of a crawl agree? It only reads."""

import fcntl
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote

import typer

from outrider.cli.crawl_folder import EVENTS, FRONTIER, STATUS, CrawlFolder, check_folder
from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.ops.verify import Home, Report, Tell

_SETTINGS: Final = "outrider.toml"
_ARCHIVE: Final = "archive"
_INDEXES: Final = "indexes"
_LOCK: Final = ".lock"
_CACHE: Final = 8
"""Megabytes: the records are read once, from the first to the last."""
_KEPT: Final = re.compile(r"^(?:# )?(frontier|records|contents|events|recrawl) = (.*)$", re.MULTILINE)
"""As the settings of a crawl are written; what hides a password stands there as a comment."""


def verify(
    *,
    folder: CrawlFolder = Path(),
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="Records that are kept elsewhere: postgresql://….")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Read a whole crawl again: archive, index, records and events agree, and every hash is what it was."""
    from outrider.cli.loop import run  # noqa: PLC0415 - late, as in options

    home, records = _home(folder, store)
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


def _home(folder: Path, store: str | None) -> "tuple[Home, str]":
    """What lies where, and the URL of the records. Raises `ConfigError` for what is no crawl."""
    from outrider.ops.verify import Home  # noqa: PLC0415 - late, as in options

    check_folder(folder)
    database = folder / FRONTIER
    kept = _kept_elsewhere(folder / _SETTINGS)
    if not database.exists() and not (folder / _SETTINGS).exists():
        raise ConfigError(f"{folder}: no crawl is here (there is neither {_SETTINGS} nor {FRONTIER} in it)")
    for name in (_ARCHIVE, _INDEXES, EVENTS):
        _look_into(folder / name)
    home = Home(
        archive=None if "contents" in kept else folder / _ARCHIVE,
        indexes=folder / _INDEXES,
        events=None if "events" in kept else folder / EVENTS,
        frontier=None if "frontier" in kept else database,
        running=_is_running(folder),
        recrawls=kept.get("recrawl") == "true",
    )
    return home, store or _records(database, kept.get("records"))


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


def _records(database: Path, elsewhere: str | None) -> str:
    if elsewhere is not None and "***" in elsewhere:
        raise ConfigError(f"the records are at {elsewhere}, and the password is not kept; name them with --store URL")
    if elsewhere is not None:
        return elsewhere
    if not database.exists():
        raise ConfigError(f"{database}: there is no such file; the crawl has not begun, or somebody took it away")
    try:
        return f"sqlite://{quote(str(database.absolute()))}?cache={_CACHE}"
    except UnicodeEncodeError:
        raise ConfigError(f"{str(database)!r}: its name is not UTF-8; give the folder another") from None


def _kept_elsewhere(settings: Path) -> dict[str, str]:
    """The stores that are not in the folder, and whether pages are visited again; as the last run had them."""
    try:
        text = settings.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    found = {key: value.strip('"') for key, value in _KEPT.findall(text)}
    return {key: value for key, value in found.items() if value not in {"none", "false"}}


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
