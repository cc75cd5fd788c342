"""`outrider crawl URL…`: a whole crawl in one directory. The same command again goes on where it was."""

import sys
from contextlib import contextmanager
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
    load_settings,
    log_format_of,
)
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from outrider.app.directory import CrawlDirectory
    from outrider.cli.crawl_run import Beside
    from outrider.settings import Loaded

_PLACE = "Begin and go on"
_PAGES = "Which pages"
_LIMIT = "Limits"
_PACE = "Pace"
_OUT = "Output"
_LIMITS = ("max_pages", "size_limit", "time_limit")
_SCOPES = "page, prefix, host, domain (default) or any"


def crawl(  # noqa: PLR0913 - one argument for each option
    *,
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL", help="Where to begin; a bare domain will do.", show_default=False),
    ] = None,
    seeds: Annotated[
        Path | None,
        typer.Option(
            "--seeds", metavar="FILE", help="URLs or domains, one a line; - is stdin.", rich_help_panel=_PLACE
        ),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--directory",
            "-d",
            metavar="DIR",
            help="Where everything goes; by default crawl-HOST.",
            rich_help_panel=_PLACE,
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option("--scope", metavar="HOW FAR", help=_SCOPES, rich_help_panel=_PAGES),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="REGEX", help="Only URLs that match one of these.", rich_help_panel=_PAGES),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="REGEX", help="No URLs that match one of these.", rich_help_panel=_PAGES),
    ] = None,
    max_pages: Annotated[
        str | None, typer.Option("--max-pages", metavar="N", help="Stop after so many pages.", rich_help_panel=_LIMIT)
    ] = None,
    max_site_pages: Annotated[
        str | None,
        typer.Option("--max-site-pages", metavar="N", help="So many pages of each site.", rich_help_panel=_PAGES),
    ] = None,
    max_depth: Annotated[
        str | None,
        typer.Option("--max-depth", metavar="N", help="So many links away from a seed.", rich_help_panel=_PAGES),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            "--time-limit", metavar="TIME", help="Stop after so long: 90s, 10m, 1h30m.", rich_help_panel=_LIMIT
        ),
    ] = None,
    size_limit: Annotated[
        str | None,
        typer.Option(
            "--size-limit", metavar="SIZE", help="Stop before more than this is fetched: 2GiB.", rich_help_panel=_LIMIT
        ),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option("--max-memory", metavar="SIZE", help="Of all processes together: 512M.", rich_help_panel=_LIMIT),
    ] = None,
    workers: Annotated[
        str | None, typer.Option("--workers", metavar="N", help="Processes; one per core.", rich_help_panel=_PACE)
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            "--delay", metavar="TIME", help="Between two requests to one site: 2, 500ms.", rich_help_panel=_PACE
        ),
    ] = None,
    recrawl: Annotated[
        bool,
        typer.Option("--recrawl", help="Visit pages again, about as often as they change.", rich_help_panel=_PAGES),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Discard what an earlier run wrote, and begin anew.", rich_help_panel=_PLACE)
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before discarding.", rich_help_panel=_PLACE)
    ] = False,
    log_format: Annotated[
        str,
        typer.Option(
            "--log-format", metavar="text|json", help="How progress is told to a program.", rich_help_panel=_OUT
        ),
    ] = "text",
    serve: Annotated[
        bool, typer.Option("--serve", help="Show it in the browser while it runs.", rich_help_panel=_OUT)
    ] = False,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="ADDRESS", help="Where; with it, --serve is meant.", rich_help_panel=_OUT),
    ] = None,
    as_json: AsJson = False,
    profile: Profile = None,
    contact: Contact = None,
    allow_private: AllowPrivate = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Crawl politely from these URLs on, and write down everything. The same command again goes on."""
    from outrider.app.crawl import require_name  # noqa: PLC0415 - late, as in options
    from outrider.app.directory import CrawlDirectory  # noqa: PLC0415 - the same
    from outrider.app.seeds import read_seeds  # noqa: PLC0415 - the same
    from outrider.cli.crawl_run import refuse_seeds, run_crawl  # noqa: PLC0415 - the same

    form = log_format_of(log_format)
    begin = read_seeds(urls or [], seeds)
    if not begin and directory is None:
        raise ConfigError("nothing to crawl: give a URL, --seeds FILE, or the --directory of an earlier crawl")
    home = CrawlDirectory(directory or default_directory(begin[0].authority if not seeds else seeds.stem))
    flags: dict[str, object] = {
        "scope": scope,
        "include": include or None,
        "exclude": exclude or None,
        "max_pages": max_pages,
        "max_site_pages": max_site_pages,
        "max_depth": max_depth,
        "time_limit": time_limit,
        "size_limit": size_limit,
        "max_memory": max_memory,
        "workers": workers,
        "delay": delay,
        "recrawl": recrawl or None,
        "contact": contact,
        "allow_private": allow_private or None,
        "serve_address": listen,
    }
    goes_on = home.is_begun and not fresh
    _check_place(home, has_seeds=bool(begin), fresh=fresh)
    file = config or (home.settings_file if goes_on else None)
    loaded = load_settings(profile, file, assignments, flags)
    settings = loaded.settings
    # Whatever can be refused is refused before anything is made or discarded.
    require_name(settings, begin)
    if not goes_on and (code := refuse_seeds(settings, begin)) is not None:
        return code
    with _dashboard(loaded, home, wanted=serve or listen is not None) as beside:
        if fresh and home.is_begun:
            _ask(home, yes=yes)
        with home.held():
            if fresh:
                home.discard()
            remarks = _held_over(loaded) if goes_on and config is None else []
            return run_crawl(settings, begin, home, form, as_json=as_json, remarks=remarks, beside=beside)


@contextmanager
def _dashboard(loaded: "Loaded", home: "CrawlDirectory", *, wanted: bool) -> "Iterator[Beside]":
    """What can be refused of it is refused before anything is made."""
    from outrider.cli.crawl_run import alone  # noqa: PLC0415 - late, as in options

    if not wanted:
        yield alone
        return
    from outrider.app.serve import open_door, require_dashboard  # noqa: PLC0415 - late, as in options
    from outrider.cli.serve import token_of  # noqa: PLC0415 - the same
    from outrider.cli.serve_beside import dashboard_beside  # noqa: PLC0415 - the same

    require_dashboard()
    door = open_door(loaded, token_of(None)[0], home)
    with door.listening:
        yield lambda note: dashboard_beside(loaded, door, home, note)


def default_directory(name: str) -> Path:
    """`crawl-example.org`: the same seeds lead to the same place."""
    plain = "".join(char if char.isalnum() or char in ".-" else "-" for char in name).strip(".-")
    return Path(f"crawl-{plain[:100] or 'seeds'}")


def _check_place(home: "CrawlDirectory", *, has_seeds: bool, fresh: bool) -> None:
    if not has_seeds and fresh:
        raise ConfigError(f"{home.path}: --fresh discards the seeds as well; give a URL, or --seeds FILE")
    if not has_seeds and not home.is_begun:
        raise ConfigError(f"{home.path}: no crawl is there to go on with; give a URL, or --seeds FILE")
    if home.demo_mark.exists() and not fresh:
        raise ConfigError(f"{home.path}: is the demo's, which makes it anew each time; give another --directory")


def _held_over(loaded: "Loaded") -> list[str]:
    """Limits that nobody gave this time and that hold all the same: nobody would see why they stop a crawl."""
    from outrider.settings.describe import shown  # noqa: PLC0415 - late, as in options

    kept = [key for key in _LIMITS if loaded.provenance[key].startswith("file ")]
    if not kept:
        return []
    told = ", ".join(f"{key} = {shown(key, getattr(loaded.settings, key))}" for key in kept)
    return [f"as in the last run: {told} (--{kept[0].replace('_', '-')} none lifts it)"]


def _ask(home: "CrawlDirectory", *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(f"{home.path}: --fresh would discard an earlier crawl; say --yes as well if that is meant")
    if not typer.confirm(f"Discard the crawl in {home.path}?", err=True):
        raise typer.Abort
