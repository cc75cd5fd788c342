"""The content store that is an archive: `warc:///path/archive`.

Options: `prefix` and `worker` for the names of files, `roll` (bytes; a file over this is not added to; a batch is never
split), `indexes` (a directory; `indexes` inside the archive unless given), and for the first record of each file
`operator` (who crawls, and how to reach them), `agent` (the User-Agent) and `robots` (the policy).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self, TypeVar

from outrider import __version__
from outrider.clock import SystemClock
from outrider.errors import ConfigError, StoreError
from outrider.model.capture import Capture
from outrider.ports import Clock
from outrider.stores.place import Place
from outrider.stores.warc.file import WarcFile, store_error
from outrider.stores.warc.names import COMPLETE, PREFIX, read_key, stem
from outrider.stores.warc.reader import read_back
from outrider.stores.warc.records import warcinfo_record

T = TypeVar("T")

CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_MOST_SERIALS: Final = 1_000_000
_MOST_WORKERS: Final = 999_999


class WarcContents:
    def __init__(self, place: Place, clock: Clock | None) -> None:
        if place.host or not place.path.startswith("/"):
            raise ConfigError(f"{place}: expected warc:///path/to/archive")
        self._place = place
        self._archive = Path(place.path)
        self._prefix = place.text("prefix", "outrider")
        if not PREFIX.fullmatch(self._prefix):
            raise ConfigError(f"{place}: prefix={self._prefix!r}; expected up to 64 letters, digits, - and _")
        self._worker = place.number("worker", 0, least=0)
        if self._worker > _MOST_WORKERS:
            raise ConfigError(f"{place}: worker={self._worker}; expected at most {_MOST_WORKERS}")
        self._roll = place.number("roll", 1_000_000_000)
        self._indexes = Path(place.text("indexes", f"{place.path}/indexes"))
        self._info = _info(place)
        place.end()
        self._clock: Clock = clock or SystemClock()
        self._serial = 0
        self._current: WarcFile | None = None
        self._full: dict[str, WarcFile] = {}
        # One thread, so that batches are written in the order in which they came.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="outrider-warc")
        self._is_closed = False

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, clock: Clock | None) -> AsyncIterator[Self]:
        store = cls(place, clock)
        try:
            await store._do(store._make_directories)
            yield store
        finally:
            await asyncio.shield(store._close())

    async def put(self, captures: Sequence[Capture]) -> list[str]:
        if not captures:
            return []
        return await self._do(lambda: self._append(captures))

    async def confirm(self, keys: Sequence[str]) -> None:
        if keys:
            await self._do(lambda: self._confirm(keys))

    async def get(self, key: str) -> Capture | None:
        return await read_back(self._archive, key)

    async def _do(self, act: Callable[[], T]) -> T:
        if self._is_closed:
            raise StoreError(f"{self._place}: the archive is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)

    # on the thread

    def _make_directories(self) -> None:
        for directory in (self._archive, self._indexes):
            try:
                directory.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise store_error(error, directory) from error

    def _append(self, captures: Sequence[Capture]) -> list[str]:
        now = self._clock.now()
        if self._current is None:
            self._current = self._new_file(now)
        file = self._current
        warcinfo = warcinfo_record(f"{file.stem}{COMPLETE}", now, self._info)
        try:
            keys = file.append(captures, warcinfo)
        finally:
            if file.is_broken or file.size >= self._roll:
                self._full[file.stem] = file
                self._current = None
        return [str(key) for key in keys]

    def _new_file(self, now: float) -> WarcFile:
        while self._serial < _MOST_SERIALS:
            name = stem(self._prefix, now, self._worker, self._serial)
            self._serial += 1
            try:
                file = WarcFile.create(self._archive, self._indexes, name)
            except OSError as error:
                raise store_error(error, self._archive / name) from error
            if file is not None:
                return file
        raise StoreError(f"{self._place}: no name is left for another file; open the archive anew")

    def _confirm(self, keys: Sequence[str]) -> None:
        by_stem: dict[str, list[str]] = {}
        for text in keys:
            key = read_key(text)
            if key is not None:
                by_stem.setdefault(key.stem, []).append(text)
        for name, ours in by_stem.items():
            if self._current is not None and self._current.stem == name:
                self._current.confirm(ours)
            elif name in self._full:
                file = self._full[name]
                file.confirm(ours)
                if file.is_settled and not file.is_broken:
                    del self._full[name]
                    file.end()

    async def _close(self) -> None:
        self._is_closed = True
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._end_files)
        finally:
            self._thread.shutdown()

    def _end_files(self) -> None:
        files = [*self._full.values(), *([self._current] if self._current else [])]
        self._full.clear()
        self._current = None
        errors = []
        for file in files:
            try:
                file.end()
            except StoreError as error:
                errors.append(error)
        if errors:
            raise errors[0]


def _info(place: Place) -> tuple[tuple[str, str], ...]:
    given = {
        "software": f"Outrider/{__version__}",
        "format": "WARC File Format 1.1",
        "conformsTo": CONFORMS_TO,
        "robots": place.text("robots", "RFC 9309"),
        "operator": place.text("operator", ""),
        "http-header-user-agent": place.text("agent", ""),
    }
    return tuple((name, value) for name, value in given.items() if value)
