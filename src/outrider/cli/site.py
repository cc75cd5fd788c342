"""`outrider site`: pause a site, exclude it, or set its delay, while a crawl runs or before the next one does."""

from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, ConfigFile, Profile
from outrider.cli.place import OperatedEvents, OperatedFolder, OperatedFrontier, Operating, operating
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.model.order import SiteOrder

app = typer.Typer(help="Pause, resume, exclude and slow down sites; running workers obey.", no_args_is_help=True)

SiteName = Annotated[str, typer.Argument(metavar="SITE", help="example.com, or any URL of it.", show_default=False)]


def _command(act: str, words: str) -> None:
    def order(
        site: SiteName,
        folder: OperatedFolder = None,
        *,
        frontier: OperatedFrontier = None,
        events: OperatedEvents = None,
        profile: Profile = None,
        assignments: Assignments = None,
        config: ConfigFile = None,
    ) -> int:
        return _act(act, site, operating(folder, frontier, None, profile, assignments, config, events))

    app.command(act, help=words)(order)


_command("pause", "Leave it alone for the time being; what it owes stays owed.")
_command("resume", "Go on with a site that was paused.")
_command("exclude", "Visit nothing of it any more: what it owes ends as skipped, for good.")
_command("include", "Let new URLs of an excluded site in again; what has ended stays so.")


@app.command()
def delay(  # noqa: PLR0913 - one argument for each option
    site: SiteName,
    seconds: Annotated[str, typer.Argument(metavar="SECONDS", help="Between two requests, as in 2.5 or 1m; or usual.")],
    folder: OperatedFolder = None,
    *,
    frontier: OperatedFrontier = None,
    events: OperatedEvents = None,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Ask it so often at most, in place of the setting; robots.txt and a 429 may still ask for more."""
    wanted = _seconds(seconds)
    return _act("delay", site, operating(folder, frontier, None, profile, assignments, config, events), wanted)


@app.command("list")
def list_(
    folder: OperatedFolder = None,
    *,
    frontier: OperatedFrontier = None,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> int:
    """Which orders are in force?"""
    from outrider.cli.site_acts import orders_of  # noqa: PLC0415 - the same
    from outrider.loop import run  # noqa: PLC0415 - late, as in options

    place = operating(folder, frontier, None, profile, assignments, config)
    orders = run(orders_of(place.settings, place.sources))
    if as_json:
        from outrider.cli.document import document_of  # noqa: PLC0415 - late, as in options

        typer.echo(document_of(orders))
        return ExitCode.OK
    for order in orders:
        typer.echo(_line(order))
    if not orders:
        typer.echo("no orders: every site is treated as the settings say", err=True)
    return ExitCode.OK


def _act(act: str, text: str, place: Operating, seconds: float | None = None) -> int:
    from outrider.cli.site_acts import perform, site_key  # noqa: PLC0415 - the same
    from outrider.loop import run  # noqa: PLC0415 - late, as in options

    site = site_key(text, place.settings.site_by)
    done = run(perform(place.settings, place.sources, act, site, seconds))
    if not done.is_known:
        typer.echo(f"outrider: nothing is known of {site} so far; the order stands for when it is met", err=True)
    if not done.is_told:
        typer.echo("outrider: told to no event log: none is named (--events)", err=True)
    ended = f"; {done.dismissed} of its URLs ended" if done.order.excluded else ""
    typer.echo(_line(done.order) + ended)
    return ExitCode.OK


def _seconds(text: str) -> float | None:
    from outrider.settings.durations import seconds_in  # noqa: PLC0415 - late, as in options

    if text.strip().lower() == "usual":
        return None
    try:
        return float(text)
    except ValueError:
        found = seconds_in(text)
    if found is None:
        raise ConfigError(f"SECONDS {text!r}: expected a time such as 2.5 or 1m, or usual to take an order back")
    return found


def _line(order: "SiteOrder") -> str:
    from outrider.observe.words import duration, moment  # noqa: PLC0415 - late, as in options

    said = [word for word in ("paused", "excluded") if getattr(order, word)]
    if order.delay is not None:
        said.append(f"one request every {duration(order.delay)}")
    return f"{order.site}: {', '.join(said)}, since {moment(order.at)}" if said else f"{order.site}: as usual"
