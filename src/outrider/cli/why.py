"""`outrider why URL`: the whole story of one URL, from the ledger and the records. It only reads."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cli.crawl_folder import check_folder, crawl_here
from outrider.cli.exit_codes import ExitCode
from outrider.cli.options import AsJson, Assignments, ConfigFile, Profile, load_settings

if TYPE_CHECKING:
    from outrider.app.directory import CrawlDirectory
    from outrider.cli.why_text import Answer
    from outrider.model.url import Url


def why(  # noqa: PLR0913 - one argument for each option
    text: Annotated[str, typer.Argument(metavar="URL", help="As somebody wrote it.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="Of the crawl; else this one, crawl-HOST, or the only crawl-….", show_default=False
        ),
    ] = None,
    *,
    frontier: Annotated[
        str | None, typer.Option("--frontier", metavar="URL", help="Any engine: redis://…, postgresql://…, sqlite:….")
    ] = None,
    records: Annotated[
        str | None, typer.Option("--records", metavar="URL", help="Else in the frontier's database, if at all.")
    ] = None,
    as_json: AsJson = False,
    profile: Profile = None,
    assignments: Assignments = None,
    config: ConfigFile = None,
) -> int:
    """Explain one URL: how it was found, what was decided, its visits, its state, and what comes next."""
    from msgspec.structs import replace  # noqa: PLC0415 - late, as in options

    from outrider.app.directory import CrawlDirectory  # noqa: PLC0415 - the same
    from outrider.app.operate import directory_sources, store_sources  # noqa: PLC0415 - the same
    from outrider.app.why import story_of  # noqa: PLC0415 - the same
    from outrider.cli.why_text import answer_to  # noqa: PLC0415 - the same
    from outrider.loop import run  # noqa: PLC0415 - the same
    from outrider.model.url import Url  # noqa: PLC0415 - the same

    url = Url(text)
    if folder is None and frontier is None:
        folder = _folder_about(url)
    home = None if folder is None else CrawlDirectory(folder)
    if home is not None:
        check_folder(home.path)
    file = config or (home.settings_file if home is not None and home.is_begun else None)
    settings = load_settings(profile, file, assignments, {"frontier": frontier, "records": records}).settings
    sources = store_sources(settings) if home is None else directory_sources(settings, home)
    story, has_records = run(story_of(url, settings, sources))
    answer = replace(answer_to(text, story), has_records=has_records)
    if home is not None:
        answer = replace(answer, directory=str(home.path), running=_runs(home))
    _print(answer, as_json=as_json)
    return ExitCode.OK


def _folder_about(url: "Url") -> Path | None:
    from outrider.cli.crawl import default_directory  # noqa: PLC0415 - late, as in options

    return crawl_here(default_directory(url.authority))


def _runs(home: "CrawlDirectory") -> bool | None:
    """None where nobody can say: on another machine, or when a program of somebody else's crawls."""
    from outrider.errors import StoreError  # noqa: PLC0415 - late, as in options
    from outrider.observe.status_file import is_running, whole_status  # noqa: PLC0415 - the same

    try:
        written = whole_status(home.status)
    except StoreError:
        return None  # what is told does not rest on it
    return None if written is None else is_running(written)


def _print(answer: "Answer", *, as_json: bool) -> None:
    if as_json:
        from outrider.cli.document import document_of  # noqa: PLC0415 - late, as in options

        typer.echo(document_of(answer))
        return
    from outrider.cli.terminal import console_on, page_width, print_lines  # noqa: PLC0415 - late, as in options
    from outrider.cli.why_text import told  # noqa: PLC0415 - the same

    console = console_on(sys.stdout)
    print_lines(told(answer, page_width(console)), console)
