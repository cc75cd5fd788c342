"""`outrider dlq`: the URLs that were given up. Look at them, owe them another visit, or dismiss them for good."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, ConfigFile, Profile
from outrider.cli.page_filter import known_reason, moment
from outrider.cli.place import OperatedEvents, OperatedFolder, OperatedFrontier, OperatedRecords, Operating, operating
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.ops.dead_letters import Wanted

app = typer.Typer(help="List the URLs that were given up; replay or drop them.", no_args_is_help=True)

_WHICH: Final = "Which letters"
_LINES: Final = 50
_IN_FULL: Final = 10

Urls = Annotated[
    list[str] | None,
    typer.Option("--url", metavar="URL", help="This one; may be given again and again.", rich_help_panel=_WHICH),
]
Reasons = Annotated[
    list[str] | None,
    typer.Option("--reason", metavar="REASON", help="Such as http_404; may be repeated.", rich_help_panel=_WHICH),
]
Site = Annotated[
    str | None, typer.Option("--site", metavar="NAME", help="A site, or a host of one.", rich_help_panel=_WHICH)
]
Status = Annotated[
    int | None,
    typer.Option("--status", min=0, max=999, metavar="CODE", help="HTTP status; 0: no answer.", rich_help_panel=_WHICH),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="WHEN", help="Last visited since: an age (90m, 12h, 7d) or a date.", rich_help_panel=_WHICH
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="WHEN", help="Last visited until then.", rich_help_panel=_WHICH)
]
Part = Annotated[str | None, typer.Option("--text", metavar="TEXT", help="A part of the URL.", rich_help_panel=_WHICH)]
Every = Annotated[bool, typer.Option("--all", help="Every dead letter there is.", rich_help_panel=_WHICH)]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]


@app.command("list")
def list_(  # noqa: PLR0913 - one argument for each option
    folder: OperatedFolder = None,
    *,
    urls: Urls = None,
    reasons: Reasons = None,
    site: Site = None,
    status: Status = None,
    since: Since = None,
    until: Until = None,
    part: Part = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, metavar="N", help=f"So many lines; {_LINES}, with --json all.")
    ] = None,
    frontier: OperatedFrontier = None,
    records: OperatedRecords = None,
    as_json: AsJson = False,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Count the dead letters by reason and site, and list them."""
    from outrider.cli import dlq_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    wanted = wanted_of(urls, reasons, site, status, since, until, part)
    place = operating(folder, frontier, records, profile, assignments, config)
    if as_json:
        run(acts.list_for_programs(place, wanted, limit))
    else:
        run(acts.list_for_people(place, wanted, _LINES if limit is None else limit))
    return ExitCode.OK


@app.command()
def show(  # noqa: PLR0913 - one argument for each option
    text: Annotated[str | None, typer.Argument(metavar="URL", help="The letter's.", show_default=False)] = None,
    folder: OperatedFolder = None,
    *,
    urls: Urls = None,
    reasons: Reasons = None,
    site: Site = None,
    status: Status = None,
    since: Since = None,
    until: Until = None,
    part: Part = None,
    limit: Annotated[int, typer.Option("--limit", min=1, metavar="N", help="At most so many.")] = _IN_FULL,
    frontier: OperatedFrontier = None,
    records: OperatedRecords = None,
    as_json: AsJson = False,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Show a dead letter in full, with the evidence of its last visit; or the first of those that match."""
    from outrider.cli import dlq_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    if text is not None and folder is None and "://" not in text and Path(text).is_dir():
        # Without a URL, the one argument that is there is the directory.
        folder, text = Path(text), None
    named = [*(urls or []), *([text] if text is not None else [])]
    wanted = wanted_of(named, reasons, site, status, since, until, part)
    place = operating(folder, frontier, records, profile, assignments, config)
    run(acts.show(place, wanted, limit, as_json=as_json))
    return ExitCode.OK


def _command(act: str, words: str) -> None:
    def dead_letters(  # noqa: PLR0913 - one argument for each option
        folder: OperatedFolder = None,
        *,
        urls: Urls = None,
        reasons: Reasons = None,
        site: Site = None,
        status: Status = None,
        since: Since = None,
        until: Until = None,
        part: Part = None,
        every: Every = False,
        dry_run: DryRun = False,
        frontier: OperatedFrontier = None,
        records: OperatedRecords = None,
        events: OperatedEvents = None,
        as_json: AsJson = False,
        profile: Profile = None,
        assignments: Assignments = None,
        config: ConfigFile = None,
    ) -> int:
        wanted = wanted_of(urls, reasons, site, status, since, until, part)
        place = operating(folder, frontier, records, profile, assignments, config, events)
        return _act(act, place, wanted, every=every, dry_run=dry_run, as_json=as_json)

    app.command(act, help=words)(dead_letters)


_command("replay", "Owe dead letters another visit, as if they had just come: their attempts count from nothing again.")
_command("drop", "Dismiss dead letters for good: they end as skipped, and no replay finds them any more.")


def wanted_of(
    urls: list[str] | None,
    reasons: list[str] | None,
    site: str | None,
    status: int | None,
    since: str | None,
    until: str | None,
    part: str | None,
) -> "Wanted":
    from outrider.model.reason import Reason  # noqa: PLC0415 - late, as in options
    from outrider.model.url import Url  # noqa: PLC0415 - the same
    from outrider.ops.dead_letters import Wanted  # noqa: PLC0415 - the same

    now = time.time()
    wanted = Wanted(
        urls=tuple(dict.fromkeys(map(Url, urls or []))),
        reasons=frozenset(Reason(known_reason(reason)) for reason in reasons or []),
        site=site,
        status=status,
        since=None if since is None else moment(since, now),
        until=None if until is None else moment(until, now, "--until"),
        text=part,
    )
    if wanted.since is not None and wanted.until is not None and wanted.since > wanted.until:
        raise ConfigError(f"--since {since} is later than --until {until}: nothing is between them")
    return wanted


def _act(act: str, place: Operating, wanted: "Wanted", *, every: bool, dry_run: bool, as_json: bool) -> int:
    from outrider.cli import dlq_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same
    from outrider.ops.dead_letters import Wanted  # noqa: PLC0415 - the same

    if every == (wanted != Wanted()):
        problem = "every dead letter is meant only with --all" if not every else "--all means every dead letter"
        remedy = "say so, or say which by --url, --reason, --site, …" if not every else "it goes with no other choice"
        raise ConfigError(f"dlq {act}: {problem}; {remedy}")
    run(acts.act_upon(acts.ACTS[act], place, wanted, dry_run=dry_run, as_json=as_json))
    return ExitCode.OK
