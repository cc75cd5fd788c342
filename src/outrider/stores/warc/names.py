"""What is a file called, and what is a key? Names come from a counter and a clock, never from a response."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

COMPLETE: Final = ".warc.gz"
OPEN: Final = ".warc.gz.open"

PREFIX: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY: Final = re.compile(r"([A-Za-z0-9_-]{1,64}-\d{14}-\d{2,6}-\d{5,9})\.warc\.gz:(\d{1,15}):(\d{1,15})", re.ASCII)


class Key(Struct, frozen=True):
    """Where the response of a capture is: the file's stem, and the member's place and length in it."""

    stem: str
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.stem}{COMPLETE}:{self.offset}:{self.length}"


def read_key(text: str) -> Key | None:
    """None for a text that no store of this kind has given out, such as one that points out of its directory."""
    found = _KEY.fullmatch(text)
    return Key(found[1], int(found[2]), int(found[3])) if found else None


def stem(prefix: str, at: float, worker: int, serial: int) -> str:
    return f"{prefix}-{datetime.fromtimestamp(at, UTC):%Y%m%d%H%M%S}-{worker:02}-{serial:05}"


def stem_of(path: Path) -> str:
    return path.name.removesuffix(".open").removesuffix(COMPLETE)


def index_path(indexes: Path, name: str) -> Path:
    return indexes / f"{name}.cdxj"
