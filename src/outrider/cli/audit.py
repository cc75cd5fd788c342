"""`outrider audit [DIR|URL]`: was the crawl polite? Recomputed from its records. It only reads, and asks nobody."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import typer

from outrider.cli.crawl_folder import SETTINGS, check_folder, events_in, kept_elsewhere
from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, ConfigFile, Profile, load_settings
from outrider.cli.verify import home_of
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.model.ledger import Census
    from outrider.ops.audit import Report, Tell
    from outrider.ports import FrontierRules

_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+:")


class _Asked(NamedTuple):
    """Where things are: the ledger in a `file`, or in a store that `frontier` names; None for both: nobody said."""

    records: str
    file: Path | None = None
    frontier: str | None = None
    events: Path | None = None
    running: bool | None = False


def audit(
    place: Annotated[
        str,
        typer.Argument(metavar="DIR|URL", help="A crawl's folder, or its records: postgresql://…, sqlite:///….db."),
    ] = ".",
    *,
    frontier: Annotated[
        str | None, typer.Option("--frontier", metavar="URL", help="For the ledger, where it is not in the folder.")
    ] = None,
    events: Annotated[
        Path | None, typer.Option("--events", metavar="DIR", help="Events with the orders of operators.")
    ] = None,
    as_json: AsJson = False,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Recompute every pause, silence, robots.txt verdict and limit from the records: was the crawl polite?"""
    from outrider.app.rules import frontier_rules  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    if _URL.match(place) and not Path(place).exists():
        asked = _Asked(place, frontier=frontier, events=None if events is None else events_in(events), running=None)
        file = config
    else:
        asked = _in_folder(Path(place), frontier, events)
        own = Path(place) / SETTINGS
        file = config or (own if own.exists() else None)
    rules = None
    if asked.frontier is not None:
        rules = frontier_rules(load_settings(profile, file, assignments, {"frontier": asked.frontier}).settings)
    report = run(_audit(asked, rules))
    if as_json:
        from msgspec import to_builtins  # noqa: PLC0415 - late, as in options

        typer.echo(json.dumps(to_builtins(report)))
    else:
        _print(report)
    return ExitCode.OK if report.clean else ExitCode.VIOLATIONS


def _in_folder(folder: Path, frontier: str | None, events: Path | None) -> _Asked:
    check_folder(folder)
    elsewhere = kept_elsewhere(folder).get("frontier")
    home, records = home_of(folder, None)
    if frontier is None and elsewhere is not None and "***" not in elsewhere:
        frontier = elsewhere
    return _Asked(
        records,
        file=None if frontier else home.frontier,
        frontier=frontier,
        events=home.events if events is None else events_in(events),
        running=home.running,
    )


async def _audit(asked: _Asked, rules: "FrontierRules | None") -> "Report":
    from outrider.ops.audit import Sources  # noqa: PLC0415 - late, as in options
    from outrider.ops.audit import audit as audit_records  # noqa: PLC0415 - the same
    from outrider.stores.none import NoRecords  # noqa: PLC0415 - the same
    from outrider.stores.records import open_records  # noqa: PLC0415 - the same

    census = await _census(asked, rules)
    async with open_records(asked.records, create=False) as records:
        if isinstance(records, NoRecords):
            raise ConfigError("this crawl keeps no records: there is nothing that could be audited")
        with _progress() as tell:
            return await audit_records(Sources(records, census, asked.events, asked.running), tell)


async def _census(asked: _Asked, rules: "FrontierRules | None") -> "Census | None":
    """First of all: what it counts was on record before."""
    from outrider.stores.registry import open_frontier  # noqa: PLC0415 - late, as in options
    from outrider.stores.sqlite.glance import census_of_file  # noqa: PLC0415 - the same

    if asked.file is not None:
        return census_of_file(asked.file)
    if asked.frontier is None or rules is None:
        return None
    async with open_frontier(asked.frontier, rules, must_exist=True) as frontier:
        return await frontier.census()


@contextmanager
def _progress() -> "Iterator[Tell]":
    """A line that changes on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _what, _done: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it

    with Console(stderr=True).status("reading") as status:

        def tell(what: str, done: int) -> None:
            if done % 1_000 == 0:
                status.update(f"reading the {what}" + (f": {done:,}" if done else ""))

        yield tell


def _print(report: "Report") -> None:
    from outrider.cli.audit_table import told  # noqa: PLC0415 - late, as in options
    from outrider.cli.terminal import console_on, page_width, print_lines  # noqa: PLC0415 - the same

    console = console_on(sys.stdout)
    print_lines(told(report, page_width(console)), console)
