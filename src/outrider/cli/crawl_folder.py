"""Which folder is a crawl, and what lies where in it? One folder is one crawl; a wrong one gets one sentence."""

import re
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import quote

import typer

from outrider.errors import ConfigError

EVENTS: Final = "events"
FRONTIER: Final = "crawl.db"
STATUS: Final = "logs/status.json"
LOG: Final = "logs/crawl.log"
SEEDS: Final = "seeds.txt"
SETTINGS: Final = "outrider.toml"
ARCHIVE: Final = "archive"
INDEXES: Final = "indexes"

_CACHE: Final = 8
"""Megabytes: the records are read once, from the first to the last."""
_KEPT: Final = re.compile(r"^(?:# )?(frontier|records|contents|events|recrawl) = (.*)$", re.MULTILINE)
"""As the settings of a crawl are written; what hides a password stands there as a comment."""

CRAWLS: Final = "crawl-*"
"""What `outrider crawl` calls the directories that it makes."""

CrawlFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Of the crawl; without it, the folder that we are in.")
]


def check_folder(folder: Path) -> None:
    if not folder.exists():
        raise ConfigError(f"{folder}: there is no such directory")
    if not folder.is_dir():
        raise ConfigError(f"{folder}: is not a directory; name that of the crawl")


def is_crawl(place: Path) -> bool:
    return (place / FRONTIER).exists() or (place / SEEDS).exists()


def crawl_here(*likely: Path) -> Path | None:
    """The crawl that is meant when nobody says which: this folder, a likely one, or the only one; None: there is none.

    Raises `ConfigError` when there are several.
    """
    for place in (Path(), *likely):
        if is_crawl(place):
            return place
    found = sorted(place for place in Path().glob(CRAWLS) if is_crawl(place))
    if len(found) > 1:
        raise ConfigError(f"there are several crawls here: {', '.join(map(str, found))}; name the one that is meant")
    return found[0] if found else None


def check_crawl(folder: Path) -> None:
    """Raises `ConfigError` for what is no crawl."""
    check_folder(folder)
    if not (folder / FRONTIER).exists() and not (folder / SETTINGS).exists():
        raise ConfigError(f"{folder}: no crawl is here (there is neither {SETTINGS} nor {FRONTIER} in it)")


def kept_elsewhere(folder: Path) -> dict[str, str]:
    """The stores that are not in the folder, and whether pages are visited again; as the last run had them."""
    try:
        text = (folder / SETTINGS).read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return {}
    found = {key: value.strip('"') for key, value in _KEPT.findall(text)}
    return {key: value for key, value in found.items() if value not in {"none", "false"}}


def records_of(folder: Path, elsewhere: str | None, option: str) -> str:
    """The URL of a crawl's records, `elsewhere` as its settings say; `option` is how a person can name them."""
    if elsewhere is not None and "***" in elsewhere:
        raise ConfigError(f"the records are at {elsewhere}, and the password is not kept; name them with {option} URL")
    if elsewhere is not None:
        return elsewhere
    database = folder / FRONTIER
    if not database.exists():
        raise ConfigError(f"{database}: there is no such file; the crawl has not begun, or somebody took it away")
    return f"sqlite://{_quoted(database)}?cache={_CACHE}"


def answers_of(folder: Path, elsewhere: str | None, option: str) -> str:
    """The same for its answers."""
    if elsewhere is not None and "***" in elsewhere:
        raise ConfigError(f"the answers are at {elsewhere}, and the password is not kept; name them with {option} URL")
    if elsewhere is not None:
        return elsewhere
    return f"warc://{_quoted(folder / ARCHIVE)}?indexes={_quoted(folder / INDEXES)}"


def _quoted(path: Path) -> str:
    try:
        return quote(str(path.absolute()))
    except UnicodeEncodeError:
        raise ConfigError(f"{str(path)!r}: its name is not UTF-8; give the folder another") from None


def events_in(folder: Path) -> Path:
    """The folder of its events; it may also be named itself."""
    check_folder(folder)
    below = folder / EVENTS
    if below.is_dir():
        return below
    if any(folder.glob("events-*.jsonl")):
        return folder
    raise ConfigError(f"{folder}: holds no events of a crawl (there is no {EVENTS}/ in it)")
