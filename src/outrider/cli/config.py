"""`outrider config`: what are the settings, where does each come from, and do they hold?"""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import Assignments, ConfigFile, Profile, load_settings

if TYPE_CHECKING:
    from outrider.settings import Loaded

app = typer.Typer(help="Show and check the settings.", no_args_is_help=True)


@app.command()
def show(
    *,
    profile: Profile = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With what each key means.")] = False,
) -> int:
    """Print every setting, its value and where that came from."""
    loaded = load_settings(profile, config, assignments)
    if as_json:
        typer.echo(json.dumps(_document(loaded), indent=2))
    elif sys.stdout.isatty():
        _print_table(loaded, verbose=verbose)
    else:
        _print_lines(loaded, verbose=verbose)
    return ExitCode.OK


@app.command()
def check(*, profile: Profile = None, config: ConfigFile = None, assignments: Assignments = None) -> int:
    """Say "ok", or what is wrong with the settings (exit code 2)."""
    load_settings(profile, config, assignments)
    typer.echo("ok")
    return ExitCode.OK


def _document(loaded: "Loaded") -> dict[str, dict[str, object]]:
    from outrider.settings.describe import plain  # noqa: PLC0415 - late, as in options

    settings, provenance = loaded
    return {key: {"value": plain(getattr(settings, key)), "source": source} for key, source in provenance.items()}


def _print_table(loaded: "Loaded", *, verbose: bool) -> None:
    """For a terminal: a table as wide as it is, in which long values wrap."""
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.table import Table  # noqa: PLC0415 - the same
    from rich.text import Text  # noqa: PLC0415 - the same

    from outrider.settings.describe import rows  # noqa: PLC0415 - late, as in options

    table = Table("key", "value", "source", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.columns[0].no_wrap = True
    for title, section in rows(loaded):
        table.add_row()
        table.add_row(Text(title, "bold"))
        for row in section:
            value = Text(row.short, overflow="fold")
            if verbose:
                value.append(f"\n{row.meaning}", "dim")
            table.add_row(
                Text(row.key, "cyan"),
                value,
                Text(row.source, "dim" if row.source == "default" else "green", overflow="fold"),
            )
    Console().print(table)


def _print_lines(loaded: "Loaded", *, verbose: bool) -> None:
    """For a pipe: one line per key, in columns, with no frame, no colour and no wrapping."""
    from outrider.settings.describe import rows  # noqa: PLC0415 - late, as in options

    listed = rows(loaded)
    every = [row for _, section in listed for row in section]
    key_width = max(len(row.key) for row in every)
    value_width = max(len(row.short) for row in every)
    for title, section in listed:
        typer.echo(f"# {title}")
        for row in section:
            line = f"{row.key:<{key_width}}  {row.short:<{value_width}}  {row.source}"
            typer.echo(f"{line}  # {row.meaning}" if verbose else line)
