"""Which folder is a crawl, and what lies where in it? One folder is one crawl; a wrong one gets one sentence."""

from pathlib import Path
from typing import Annotated, Final

import typer

from outrider.errors import ConfigError

EVENTS: Final = "events"
FRONTIER: Final = "crawl.db"
STATUS: Final = "logs/status.json"
LOG: Final = "logs/crawl.log"
SEEDS: Final = "seeds.txt"

CrawlFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Of the crawl; without it, the folder that we are in.")
]


def check_folder(folder: Path) -> None:
    if not folder.exists():
        raise ConfigError(f"{folder}: there is no such directory")
    if not folder.is_dir():
        raise ConfigError(f"{folder}: is not a directory; name that of the crawl")


def events_in(folder: Path) -> Path:
    """The folder of its events; it may also be named itself."""
    check_folder(folder)
    below = folder / EVENTS
    if below.is_dir():
        return below
    if any(folder.glob("events-*.jsonl")):
        return folder
    raise ConfigError(f"{folder}: holds no events of a crawl (there is no {EVENTS}/ in it)")
