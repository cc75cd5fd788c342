"""`outrider fetch URL`: one visit with its whole evidence (S1-33).

What it found goes to the standard output, as a timeline or as one JSON object; the exit code says how it ended.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.options import (
    AllowPrivate,
    AsJson,
    Assignments,
    ConfigFile,
    Contact,
    Profile,
    UrlToVisit,
    load_settings,
)
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.client import Fetch
    from outrider.settings import Settings

STDOUT = "-"


def fetch(  # noqa: PLR0913 - one argument for each option
    *,
    url: UrlToVisit,
    profile: Profile = None,
    as_json: AsJson = False,
    body: Annotated[
        Path | None,
        typer.Option("--body", metavar="FILE", help="Write the decoded body there; - is the standard output."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="With the headers of every response.")] = False,
    contact: Contact = None,
    allow_private: AllowPrivate = None,
    scan_id: Annotated[str, typer.Option("--scan-id", metavar="ID", help="Written into the page record.")] = "",
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Visit one URL and tell everything about it: robots.txt, redirects, retries, timings, content."""
    # Late, as in options: the HTTP client and rich take longer to load than the help to print.
    from outrider.cli.body_file import check_target, write_body  # noqa: PLC0415
    from outrider.cli.saying import say  # noqa: PLC0415
    from outrider.cli.terminal import waiting  # noqa: PLC0415
    from outrider.cli.verdict import amount, exit_code  # noqa: PLC0415
    from outrider.loop import run  # noqa: PLC0415

    to_stdout = body is not None and str(body) == STDOUT
    if as_json and to_stdout:
        raise ConfigError("--json and --body - both want the standard output; give --body a file")
    if body is not None:
        check_target(body)
    flags = {"contact": contact, "allow_private": allow_private or None}
    settings = load_settings(profile, config, assignments, flags).settings
    with waiting(f"visiting {url}"):
        fetched = run(_fetch(url, settings, scan_id))
    if body is not None and fetched.content:
        write_body(body, fetched.content)
    if as_json:
        typer.echo(_json(fetched))
    else:
        _print_timeline(fetched, verbose=verbose, to_stderr=to_stdout)
    if body is not None and not fetched.content:
        say(f"nothing was written to {body}: the fetch brought no content")
    elif body is not None and not to_stdout and not as_json:
        say(f"{amount(len(fetched.content))} written to {body}")
    return exit_code(fetched)


async def _fetch(url: str, settings: "Settings", scan_id: str) -> "Fetch":
    from outrider.client import Client  # noqa: PLC0415 - see above

    async with Client(settings=settings) as client:
        return await client.fetch(url, scan_id=scan_id)


def _print_timeline(fetched: "Fetch", *, verbose: bool, to_stderr: bool) -> None:
    from outrider.cli.terminal import console_on, page_width, print_lines  # noqa: PLC0415 - see above
    from outrider.cli.timeline import timeline  # noqa: PLC0415 - see above

    console = console_on(sys.stderr if to_stderr else sys.stdout)
    print_lines(timeline(fetched, page_width(console), verbose=verbose), console)


def _json(fetched: "Fetch") -> str:
    from outrider.cli.document import fetch_document  # noqa: PLC0415 - see above

    return fetch_document(fetched)
