"""The archive for whoever only reads: nothing is made, nothing is locked, and what is not there is an error.

The URL is the writer's, with all its options, so that one setting serves both.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self

from outrider.errors import ConfigError, StoreError
from outrider.model.capture import Capture
from outrider.ports import Clock
from outrider.stores.place import Place
from outrider.stores.warc.names import read_key
from outrider.stores.warc.reading import Torn
from outrider.stores.warc.shelf import find_capture

_OF_THE_WRITER: Final = ("prefix", "worker", "roll", "robots", "operator", "agent")


def folders_of(place: Place) -> tuple[Path, Path]:
    """Of the archive and of its indexes. Raises `ConfigError` when there is no archive."""
    if place.host or not place.path.startswith("/"):
        raise ConfigError(f"{place}: expected warc:///path/to/archive")
    for name in _OF_THE_WRITER:
        place.text(name, "")
    archive, indexes = Path(place.path), Path(place.text("indexes", f"{place.path}/indexes"))
    place.end()
    if not archive.is_dir():
        raise ConfigError(f"{archive}: there is no archive here")
    return archive, indexes


async def read_back(archive: Path, key: str) -> Capture | None:
    """None when it is not there (any more). Raises `StoreError` for what cannot be read."""
    wanted = read_key(key)
    if wanted is None:
        return None
    try:
        return await asyncio.to_thread(find_capture, archive, wanted)
    except Torn as error:
        raise StoreError(f"{archive}: {key} cannot be read back: {error}; the file is damaged") from error
    except OSError as error:
        raise StoreError(f"{archive}: {key} cannot be read back: {error.strerror or error}") from error


class WarcReader:
    def __init__(self, archive: Path) -> None:
        self._archive = archive

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _clock: Clock | None) -> AsyncIterator[Self]:
        yield cls(folders_of(place)[0])

    async def get(self, key: str) -> Capture | None:
        return await read_back(self._archive, key)
