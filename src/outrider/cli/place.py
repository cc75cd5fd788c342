"""Which crawl does an operator mean, and under which settings was it made? A directory, or store URLs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from outrider.cli.crawl_folder import check_folder, crawl_here
from outrider.cli.options import load_settings

if TYPE_CHECKING:
    from outrider.app.directory import CrawlDirectory
    from outrider.app.operate import Sources
    from outrider.settings import Settings

OperatedFolder = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="Of the crawl; else this one, or the only crawl-….", show_default=False),
]
OperatedFrontier = Annotated[
    str | None, typer.Option("--frontier", metavar="URL", help="Any engine: redis://…, postgresql://…, sqlite:….")
]
OperatedRecords = Annotated[
    str | None, typer.Option("--records", metavar="URL", help="Else in the frontier's database, if at all.")
]
OperatedEvents = Annotated[
    str | None, typer.Option("--events", metavar="URL", help="Where it is told: kafka://…, file:///…; else nowhere.")
]


class Operating(NamedTuple):
    """Without a `home`, the stores alone were named: then nobody knows the seeds, nor whether a crawl runs."""

    settings: "Settings"
    sources: "Sources"
    home: "CrawlDirectory | None"


def operating(
    folder: Path | None,
    frontier: str | None,
    records: str | None,
    profile: str | None,
    assignments: list[str] | None,
    config: Path | None,
    events: str | None = None,
) -> Operating:
    """Raises `ConfigError` where no crawl is. Nothing is opened yet."""
    from outrider.app.directory import CrawlDirectory  # noqa: PLC0415 - late, as in options
    from outrider.app.operate import directory_sources, store_sources  # noqa: PLC0415 - the same

    if folder is None and frontier is None:
        folder = crawl_here()
    home = None if folder is None else CrawlDirectory(folder)
    if home is not None:
        check_folder(home.path)
    file = config or (home.settings_file if home is not None and home.is_begun else None)
    flags = {"frontier": frontier, "records": records, "events": events}
    settings = load_settings(profile, file, assignments, flags).settings
    sources = store_sources(settings) if home is None else directory_sources(settings, home)
    return Operating(settings, sources, home)
