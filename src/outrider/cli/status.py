"""`outrider status [DIR]`: does it run, how far is it, and how did it end? Nothing is made or disturbed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import typer

from outrider.cli.crawl_folder import EVENTS, FRONTIER, LOG, STATUS, CrawlFolder, check_folder
from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.model.progress import Progress
    from outrider.observe.status_file import Status


Running: TypeAlias = bool | None
"""None: on another machine, where we cannot look."""


def status(*, folder: CrawlFolder = Path(), as_json: AsJson = False) -> int:
    """Tell whether a crawl runs, and how far it is or how it ended."""
    from outrider.observe.status_file import is_running, whole_status  # noqa: PLC0415 - late, as in options

    check_folder(folder)
    written = whole_status(folder / STATUS)
    if written is None and not (folder / FRONTIER).exists():
        raise ConfigError(f"{folder}: no crawl is here (there is neither {STATUS} nor {FRONTIER} in it)")
    running = False if written is None else is_running(written)
    progress = _progress(folder, written, is_over=running is False)
    if as_json:
        typer.echo(json.dumps(_document(progress, running, folder, written)))
    else:
        _print(progress, running, folder, written)
    return ExitCode.OK


def _progress(folder: Path, written: "Status | None", *, is_over: bool) -> "Progress":
    """When it is over, the frontier knows best: what a killed crawl settled last is in no status file."""
    from msgspec.structs import replace  # noqa: PLC0415 - late, as in options

    from outrider.model.progress import Progress  # noqa: PLC0415 - the same

    progress = Progress(0.0, 0.0) if written is None else written.progress
    progress = replace(progress, directory=str(folder))
    if is_over and (folder / FRONTIER).exists():
        from outrider.stores.sqlite.glance import census_of_file  # noqa: PLC0415 - late, as in options

        progress = replace(progress, census=census_of_file(folder / FRONTIER))
    return progress


def _files(folder: Path) -> dict[str, str]:
    places = {"frontier": FRONTIER, "events": EVENTS, "log": LOG}
    return {name: str(folder / place) for name, place in places.items() if (folder / place).exists()}


def _document(progress: "Progress", running: Running, folder: Path, written: "Status | None") -> dict[str, object]:
    from outrider.observe.plain import progress_document  # noqa: PLC0415 - late, as in options
    from outrider.observe.summary import summary_document  # noqa: PLC0415 - the same

    told = summary_document(progress, _files(folder)) if running is False else progress_document(progress)
    process = {"pid": written.pid, "host": written.host} if written is not None else {"pid": None, "host": None}
    return {"running": running, **process, **told}


def _print(progress: "Progress", running: Running, folder: Path, written: "Status | None") -> None:
    from outrider.observe.progress import screen  # noqa: PLC0415 - the same
    from outrider.observe.summary import WIDTH, summary_lines  # noqa: PLC0415 - the same
    from outrider.observe.words import visible  # noqa: PLC0415 - late, as in options

    if running is False:
        lines = summary_lines(progress, _files(folder))
        if written is None:
            lines[0] = "It does not run; all that is known is its frontier."
    else:
        assert written is not None  # noqa: S101 - who runs has written
        where = f"process {written.pid}" if running else f"on {visible(written.host)}, where we cannot look"
        lines = [*(line.plain.rstrip() for line in screen(progress, WIDTH)), f"  {'runs':<10}{where}"]
    for line in lines:
        typer.echo(line)
