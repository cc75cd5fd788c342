"""`outrider serve [DIR]`: the dashboard of a crawl that runs, has ended, or is a service on stores of its own."""

import os
from typing import Annotated

import typer

from outrider.cli.options import Assignments, ConfigFile, Profile, load_settings
from outrider.cli.place import OperatedFolder, OperatedFrontier, OperatedRecords
from outrider.errors import ConfigError

_AT = "Where it is looked at"

Listen = Annotated[
    str | None,
    typer.Option("--listen", metavar="ADDRESS", help="127.0.0.1:8787; port 0 is any free one.", rich_help_panel=_AT),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        metavar="TEXT|new",
        help="What whoever looks must say; needed where others can reach it. new makes one and prints it.",
        rich_help_panel=_AT,
    ),
]


def serve(  # noqa: PLR0913 - one argument for each option
    folder: OperatedFolder = None,
    *,
    frontier: OperatedFrontier = None,
    records: OperatedRecords = None,
    events: Annotated[
        str | None, typer.Option("--events", metavar="URL", help="Where it is told what an operator did.")
    ] = None,
    listen: Listen = None,
    token: Token = None,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Show a crawl in the browser, explain every URL, and let an operator act: pages and a JSON API."""
    from outrider.app.directory import CrawlDirectory  # noqa: PLC0415 - late, as in options
    from outrider.app.serve import open_door, require_dashboard, view_of  # noqa: PLC0415 - the same
    from outrider.cli.crawl_folder import check_folder, crawl_here  # noqa: PLC0415 - the same
    from outrider.cli.serve_run import run_serve  # noqa: PLC0415 - the same

    require_dashboard()
    if folder is None and frontier is None:
        folder = crawl_here()
    home = None if folder is None else CrawlDirectory(folder)
    if home is not None:
        check_folder(home.path)
    file = config or (home.settings_file if home is not None and home.is_begun else None)
    flags = {"frontier": frontier, "records": records, "events": events, "serve_address": listen}
    loaded = load_settings(profile, file, assignments, flags)
    view = view_of(loaded, home)
    given, is_new = token_of(token)
    return run_serve(loaded, view, open_door(loaded, given, home), tells_token=is_new)


def token_of(given: str | None) -> tuple[str | None, bool]:
    """The token, and whether it was made just now, so that somebody must be told."""
    from outrider.settings.sources import TOKEN  # noqa: PLC0415 - late, as in options
    from outrider.web.access import new_token  # noqa: PLC0415 - the same

    if given is not None and not given.strip():
        raise ConfigError("--token: expected a text, or new to have one made")
    if given == "new":
        return new_token(), True
    return given or os.environ.get(TOKEN) or None, False
