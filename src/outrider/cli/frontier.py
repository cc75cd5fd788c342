"""`outrider frontier`: look into a frontier, write it out, read it in, and move it between engines."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, TypeVar

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import Assignments, ConfigFile, Profile, load_settings

if TYPE_CHECKING:
    from outrider.model.ledger import Census
    from outrider.ops.migrate import Statistics
    from outrider.ops.move import Report
    from outrider.ports import FrontierRules
    from outrider.stores.registry import FrontierStore

T = TypeVar("T")

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
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> int:
    """Count the URLs of a frontier by state and reason."""
    rules = _rules(profile, config, assignments)
    census = asyncio.run(_with(url, rules, lambda store: store.census()))
    _print_census(census, as_json=as_json)
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
    """Write a frontier as JSON lines."""
    rules = _rules(profile, config, assignments)
    with _output(file) as out:
        count = asyncio.run(_with(url, rules, lambda store: _export(store, out)))
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
    from outrider.ops.lines import LinesSource  # noqa: PLC0415 - late, as in options
    from outrider.ops.move import move as carry  # noqa: PLC0415 - the same

    rules = _rules(profile, config, assignments)
    with _input(file) as lines:
        source = LinesSource(file, lines)
        report = asyncio.run(_with(url, rules, lambda store: carry(source, store, batch_size=batch_size)))
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
    """Move a frontier to another engine. It may be repeated, and goes on where it was."""
    rules = _rules(profile, config, assignments)
    if source.partition("://")[0] in {"s2+files", "s2+redis"}:
        done = asyncio.run(_migrate(source, target, rules, dry_run=dry_run, clean=clean, batch_size=batch_size))
        return _print_statistics(done, source, dry_run=dry_run)
    report = asyncio.run(_move(source, target, rules, dry_run=dry_run, batch_size=batch_size))
    return _print_report(report, dry_run=dry_run)


def _rules(profile: str | None, config: Path | None, assignments: list[str] | None) -> "FrontierRules":
    from outrider.app import frontier_rules  # noqa: PLC0415 - late, as in options

    return frontier_rules(load_settings(profile, config, assignments).settings)


async def _with(url: str, rules: "FrontierRules", act: "Callable[[FrontierStore], Awaitable[T]]") -> T:
    from outrider.stores.registry import open_frontier  # noqa: PLC0415 - late, as in options

    async with open_frontier(url, rules) as store:
        return await act(store)


async def _export(store: "FrontierStore", out: BinaryIO) -> int:
    from outrider.ops.lines import exported  # noqa: PLC0415 - late, as in options

    count = 0
    async for line in exported(store):
        out.write(line + b"\n")
        count += 1
    return count


async def _move(source: str, target: str, rules: "FrontierRules", *, dry_run: bool, batch_size: int) -> "Report":
    from outrider.ops.move import move as carry  # noqa: PLC0415 - late, as in options
    from outrider.stores.registry import open_frontier  # noqa: PLC0415 - the same

    async with open_frontier(source, rules) as old, open_frontier(target, rules) as new:
        with _bar() as show:
            return await carry(
                old,
                new,
                batch_size=batch_size,
                dry_run=dry_run,
                tell=lambda progress: show(progress.lines, progress.total),
            )


async def _migrate(
    source: str, target: str, rules: "FrontierRules", *, dry_run: bool, clean: bool, batch_size: int
) -> "Statistics":
    from outrider.ops.migrate import migrate  # noqa: PLC0415 - late, as in options
    from outrider.stores.legacy.layouts import open_layout  # noqa: PLC0415 - the same
    from outrider.stores.registry import open_frontier  # noqa: PLC0415 - the same

    async with open_layout(source) as layout, open_frontier(target, rules) as store:
        with _bar() as show:
            return await migrate(
                layout,
                store,
                rules,
                batch_size=batch_size,
                dry_run=dry_run,
                clean=clean,
                tell=lambda done: show(done.urls_migrated + done.urls_known, None),
            )


@contextmanager
def _bar() -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress  # noqa: PLC0415 - the same

    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("URLs", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)


@contextmanager
def _output(file: str) -> Iterator[BinaryIO]:
    """A file appears whole or not at all."""
    if file == "-":
        yield sys.stdout.buffer
        return
    target = Path(file)
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("wb") as out:
            yield out
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _input(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as lines:
        yield lines


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
    verb = "would be read" if dry_run else "read"
    typer.echo(f"{done.sites} sites and {done.lines} URLs {verb}; {done.new} were new there")
    for difference in report.differences:
        typer.echo(f"the ledgers differ: {difference}", err=True)
    return ExitCode.STORE if report.differences else ExitCode.OK


def _print_statistics(done: "Statistics", source: str, *, dry_run: bool) -> int:
    for complaint in done.complaints:
        typer.echo(complaint, err=True)
    names = ("domains_processed", "urls_migrated", "urls_known", "files_read", "errors")
    typer.echo(json.dumps({name: getattr(done, name) for name in names}))
    if not dry_run and not done.errors:
        typer.echo(f"once you have verified the new frontier, the old data in {source} can be deleted", err=True)
    return ExitCode.STORE if done.errors else ExitCode.OK
