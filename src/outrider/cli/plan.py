"""`outrider plan`: which known URLs would flip from allowed to refused, or back, under other settings?"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, Profile, load_settings
from outrider.cli.place import OperatedFolder, OperatedFrontier, OperatedRecords, Operating, operating
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.app.plan import Changed
    from outrider.ops.plan import Plan
    from outrider.ops.plan_apply import Applied
    from outrider.settings import Settings


def plan(  # noqa: PLR0913 - one argument for each option
    folder: OperatedFolder = None,
    *,
    assignments: Assignments = None,
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Other settings, in place of the crawl's.")
    ] = None,
    profile: Profile = None,
    apply: Annotated[bool, typer.Option("--apply", help="Make these flips, and keep the settings.")] = False,
    examples: Annotated[
        int, typer.Option("--limit-examples", min=0, max=1_000, metavar="N", help="So many URLs for each rule.")
    ] = 5,
    frontier: OperatedFrontier = None,
    records: OperatedRecords = None,
    as_json: AsJson = False,
) -> int:
    """Tell which known URLs other settings would refuse or admit, by rule; without any, what today's would."""
    from outrider.app.plan import changes, planned, refuse_unplannable  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    place = _place_today(folder, frontier, records, profile)
    after = _settings_planned(place, profile, config, assignments, {"frontier": frontier, "records": records})
    changed = changes(place.settings, after)
    refuse_unplannable(changed)
    if place.home is not None:
        place.home.refuse_changes(after)
    if apply:
        _refuse_apply(place)
    found, has_other_rules = run(planned(place.settings, after, place.sources, examples))
    if not as_json:
        _print(place, changed, found, has_other_rules=has_other_rules, applies=apply)
    done = _apply(place, after) if apply else None
    _tell(changed, found, done, place, as_json=as_json)
    return ExitCode.OK


def _place_today(folder: Path | None, frontier: str | None, records: str | None, profile: str | None) -> Operating:
    """With the settings of the last run, as they were resolved then: the environment of today is part of the change.

    A service has no last run: then all but the planned settings are its own, its profile too.
    """
    place = operating(folder, frontier, records, profile, None, None)
    if place.home is None or not place.home.is_begun:
        return place
    from outrider.settings import load  # noqa: PLC0415 - late, as in options

    flags = {key: value for key, value in (("frontier", frontier), ("records", records)) if value is not None}
    return place._replace(settings=load(flags, file=place.home.settings_file, environment={}).settings)


def _settings_planned(
    place: Operating,
    profile: str | None,
    config: Path | None,
    assignments: list[str] | None,
    flags: dict[str, str | None],
) -> "Settings":
    begun = place.home is not None and place.home.is_begun
    file = config or (place.home.settings_file if begun and place.home is not None else None)
    return load_settings(profile, file, assignments, flags).settings


def _refuse_apply(place: Operating) -> None:
    from outrider.app.plan import refuse_running  # noqa: PLC0415 - late, as in options

    if place.home is None or not place.home.is_begun:
        raise ConfigError(
            "--apply needs the directory of a crawl, which keeps its settings; those of a service are its own"
        )
    refuse_running(place.home)


def _apply(place: Operating, after: "Settings") -> "Applied":
    from outrider.app.plan import applied  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    assert place.home is not None  # noqa: S101 - asked before
    with place.home.held():
        return run(applied(place.settings, after, place.sources, place.home))


def _print(place: Operating, changed: "list[Changed]", found: "Plan", *, has_other_rules: bool, applies: bool) -> None:
    from outrider.cli.plan_text import told  # noqa: PLC0415 - late, as in options
    from outrider.cli.terminal import console_on, page_width, print_lines  # noqa: PLC0415 - the same

    console = console_on(sys.stdout)
    lines = told(changed, found, page_width(console), has_other_rules=has_other_rules)
    print_lines(lines, console)
    if not applies:
        typer.echo("")
        typer.echo("nothing was changed" + ("; --apply makes these flips" if place.home is not None else ""))


def _tell(changed: "list[Changed]", found: "Plan", done: "Applied | None", place: Operating, *, as_json: bool) -> None:
    if as_json:
        from outrider.cli.plan_text import document  # noqa: PLC0415 - late, as in options

        typer.echo(document(changed, found, done))
    elif done is not None and place.home is not None:
        from outrider.cli.plan_text import outcome  # noqa: PLC0415 - late, as in options

        for line in outcome(done, str(place.home.path)):
            typer.echo(line)
