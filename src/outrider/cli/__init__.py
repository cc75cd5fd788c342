"""The command line: one file per command group; arguments in, exit code out, one call into `app`.

An error that a person can mend is one sentence on the error output and a typed exit code. A bug is a traceback: it
passes through here untouched, and Python's own exit code for it is ours (1).
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from outrider import __version__
from outrider.cli import (
    audit,
    config,
    crawl,
    demo,
    dlq,
    events,
    export,
    extract,
    fetch,
    frontier,
    normalize,
    pages,
    plan,
    robots,
    schedule,
    serve,
    site,
    status,
    verify,
    why,
    worker,
)
from outrider.cli.exit_codes import ExitCode, code_of, is_the_machine
from outrider.errors import OutriderError
from outrider.garbage import collect_seldom

__all__ = ["app", "main"]

app = typer.Typer(
    name="outrider",
    help="A polite crawl engine: nothing lost, every URL explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # its panels would print local variables, and with them secrets
)
app.command()(crawl.crawl)
app.command()(demo.demo)
app.command()(fetch.fetch)
app.command()(robots.robots)
app.command()(normalize.normalize)
app.command()(status.status)
app.command()(events.events)
app.command()(pages.pages)
app.command()(export.export)
app.command()(verify.verify)
app.command()(audit.audit)
app.command()(why.why)
app.command()(serve.serve)
app.command()(plan.plan)
app.command()(worker.worker)
app.command()(schedule.schedule)
app.command()(extract.extract)
app.add_typer(dlq.app, name="dlq")
app.add_typer(frontier.app, name="frontier")
app.add_typer(site.app, name="site")
app.add_typer(config.app, name="config")


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if asked:
        typer.echo(f"outrider {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """A polite crawl engine: nothing lost, every URL explained."""


def _have_streams() -> None:
    """Whoever started us may have closed them: then it is said to nobody, and no file of ours gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as we live


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the return value is the exit code."""
    collect_seldom()
    _have_streams()
    try:
        result = app(arguments, prog_name="outrider", standalone_mode=False)
        sys.stdout.flush()  # here, where a reader that has gone can still be answered for
    except typer.TyperException as error:
        # Without a command, the help has been printed already and the message is empty.
        return _refuse(error.format_message(), ExitCode.USAGE) if error.format_message() else ExitCode.USAGE
    except typer.Abort:
        return ExitCode.INTERRUPTED
    except OutriderError as error:
        return _refuse(str(error), code_of(error))
    except BrokenPipeError:
        return _leave_quietly()
    except SystemExit as leaving:
        # Typer ends the process by itself when the pipe breaks inside a command.
        if isinstance(leaving.__context__, BrokenPipeError):
            return _leave_quietly()
        raise
    except OSError as error:
        if not is_the_machine(error):
            raise
        place = f"{error.filename}: " if error.filename else ""
        return _refuse(f"{place}{error.strerror}", ExitCode.ENVIRONMENT)
    return result if isinstance(result, int) else ExitCode.OK


def _refuse(sentence: str, code: ExitCode) -> ExitCode:
    # A sentence may quote the web or a file, and must not steer a terminal; a list of problems keeps its lines.
    shown = "".join(char if char.isprintable() or char == "\n" else repr(char)[1:-1] for char in sentence)
    typer.echo(f"outrider: {shown}", err=True)
    return code


def _leave_quietly() -> ExitCode:
    # Python flushes once more on its way out, and must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.PIPE_CLOSED
