"""`outrider frontier`: look into a frontier, write it out, read it in, and move it between engines."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, ConfigFile, Profile, load_settings
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.model.ledger import Census
    from outrider.ops.migrate import Statistics
    from outrider.ops.move import Report
    from outrider.ports import FrontierRules

app = typer.Typer(help="Look into a frontier, export it, import it, move it.", no_args_is_help=True)

Store = Annotated[str, typer.Argument(metavar="URL", help="sqlite:///crawl.db, redis://…, postgresql://…")]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, max=100_000, help="URLs written at once.")]


@app.command()
def stats(
    url: Store,
    *,
    profile: Profile = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    as_json: AsJson = False,
) -> int:
    """Count the URLs of a frontier by state and reason."""
    from outrider.cli import frontier_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    rules = _rules(profile, config, assignments)
    census, loss = run(acts.census_of(url, rules))
    _print_census(census, as_json=as_json)
    if loss:
        typer.echo(f"dedup: {loss}", err=as_json)
    return ExitCode.OK


@app.command()
def export(
    url: Store,
    file: Annotated[str, typer.Argument(metavar="FILE", help="- for standard output.")] = "-",
    *,
    profile: Profile = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
) -> int:
    """Write a frontier as JSON lines. They hold the store's secret seed: keep them as safe as the store."""
    from outrider.cli import frontier_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    rules = _rules(profile, config, assignments)
    with _output(file) as out:
        count = run(acts.export_to(out, url, rules))
    typer.echo(f"{count} lines written", err=True)
    return ExitCode.OK


@app.command("import")
def import_(
    url: Store,
    file: Annotated[str, typer.Argument(metavar="FILE", help="- for standard input.")] = "-",
    *,
    profile: Profile = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    batch_size: BatchSize = 1_000,
) -> int:
    """Read JSON lines into a frontier; what it knows already is left alone."""
    from outrider.cli import frontier_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    rules = _rules(profile, config, assignments)
    with _input(file) as lines:
        report = run(acts.import_from(lines, file, url, rules, batch_size=batch_size))
    return _print_report(report)


@app.command()
def move(  # noqa: PLR0913 - one argument for each option
    source: Annotated[str, typer.Argument(metavar="SRC", help="Any frontier; s2+files:///DIR and s2+redis://… too.")],
    target: Annotated[str, typer.Argument(metavar="DST")],
    *,
    profile: Profile = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    clean: Annotated[bool, typer.Option("--clean", help="S2 sources only: drop each domain once moved.")] = False,
    batch_size: BatchSize = 1_000,
) -> int:
    """Copy a frontier into another store. Run it again after an interruption: what is there is left alone."""
    from outrider.cli import frontier_acts as acts  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    rules = _rules(profile, config, assignments)
    if source.partition("://")[0] in {"s2+files", "s2+redis"}:
        done = run(acts.migrate_from(source, target, rules, dry_run=dry_run, clean=clean, batch_size=batch_size))
        return _print_statistics(done, source, dry_run=dry_run)
    if clean:
        raise ConfigError("--clean is for s2+files: and s2+redis: alone; a frontier that was moved stays as it is")
    report = run(acts.move_between(source, target, rules, dry_run=dry_run, batch_size=batch_size))
    return _print_report(report, dry_run=dry_run)


def _rules(profile: str | None, config: Path | None, assignments: list[str] | None) -> "FrontierRules":
    from outrider.app import frontier_rules  # noqa: PLC0415 - late, as in options

    return frontier_rules(load_settings(profile, config, assignments).settings)


@contextmanager
def _output(file: str) -> Iterator[BinaryIO]:
    """A file appears whole or not at all."""
    if file == "-":
        yield sys.stdout.buffer
        return
    target = Path(file)
    part = target.with_name(f".{target.name}.part")
    try:
        with _named(file):
            # For the owner's eyes: an export holds the store's secret.
            out = os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        with out:
            yield out
        with _named(file):
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _input(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with _named(file):
        lines = Path(file).open("rb")  # noqa: SIM115 - closed below; reading it has errors of its own
    with lines:
        yield lines


@contextmanager
def _named(file: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise ConfigError(f"{file}: {error.strerror}") from None


def _print_census(census: "Census", *, as_json: bool) -> None:
    if as_json:
        from outrider.model.codec import to_json  # noqa: PLC0415 - late, as in options

        typer.echo(to_json(census).decode())
        return
    rows: list[tuple[str, int]] = [("discovered", census.discovered)]
    rows += [("pending", census.pending), ("waiting", census.waiting), ("fetched", census.fetched)]
    rows += [("alias", census.alias)]
    rows += [(f"skipped: {reason}", count) for reason, count in sorted(census.skipped.items())]
    rows += [(f"dead: {reason}", count) for reason, count in sorted(census.dead.items())]
    rows += [("sites", census.sites), ("sites lent", census.leased), ("stale settlements", census.stale)]
    width = max(len(name) for name, _ in rows)
    for name, count in rows:
        typer.echo(f"{name:<{width}}  {count:>12,}")


def _print_report(report: "Report", *, dry_run: bool = False) -> int:
    done = report.progress
    written = "nothing written" if dry_run else f"{done.new:,} were new there"
    typer.echo(f"{done.lines:,} URLs of {done.sites:,} sites read; {written}")
    for difference in report.differences:
        typer.echo(f"the ledgers differ: {difference}", err=True)
    return ExitCode.STORE if report.differences else ExitCode.OK


def _print_statistics(done: "Statistics", source: str, *, dry_run: bool) -> int:
    from outrider.observe.words import visible  # noqa: PLC0415 - late, as in options
    from outrider.stores.place import Place  # noqa: PLC0415 - the same

    for complaint in done.complaints:
        typer.echo(visible(complaint), err=True)
    if done.errors > len(done.complaints):
        typer.echo(f"and {done.errors - len(done.complaints):,} more", err=True)
    names = ("domains_processed", "urls_migrated", "urls_known", "files_read", "errors")
    typer.echo(json.dumps({name: getattr(done, name) for name in names}))
    if not dry_run and not done.errors:
        typer.echo(f"once you have verified the new frontier, you can delete the old one: {Place(source)}", err=True)
    return ExitCode.STORE if done.errors else ExitCode.OK
