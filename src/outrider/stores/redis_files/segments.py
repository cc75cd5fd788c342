"""Parts of queues in files: written once, confirmed by the disk, read from any record on, thrown away late.

No name here comes from the web: a queue's folder is named by a hash. Which segments count is for Redis to say; a file
that it does not name is garbage, and goes when its queue has been read to the end. Errors of the disk end here.
"""

import asyncio
import hashlib
import os
import time
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from struct import Struct as Layout
from typing import Final, Self
from uuid import uuid4

from msgspec import Struct

from outrider.errors import StoreError
from outrider.stores.place import Place

_RECORD: Final = Layout(">II")
"""Length and checksum of the item that follows."""
_GRACE: Final = 3_600.0
"""Seconds for which a file that was read is kept: a server that comes back as it was a second ago names it again."""


class Segment(Struct, frozen=True):
    """So many records of a file, from an offset on."""

    file: str
    offset: int
    count: int

    def __str__(self) -> str:
        return f"{self.file} {self.offset} {self.count}"

    @classmethod
    def parse(cls, text: bytes) -> Self:
        file, offset, count = text.decode().split(" ")
        return cls(file, int(offset), int(count))


class Segments:
    """The files of one store, in its own folder. Shared by all who open the store, on whatever machine."""

    def __init__(self, folder: Path, place: Place, grace: float = _GRACE) -> None:
        self._folder = folder
        self._place = place
        self._grace = grace
        self._read: deque[tuple[float, Path]] = deque()

    async def write(self, queue: bytes, items: Sequence[bytes]) -> Segment:
        """When it returns, the records survive a power cut; when it raises, there is no file."""
        return await asyncio.to_thread(self._write, queue, items)

    async def read(self, queue: bytes, segment: Segment, most: int) -> tuple[list[bytes], Segment | None]:
        """Up to `most` items, and what is left of the segment."""
        return await asyncio.to_thread(self._read_some, queue, segment, most)

    async def discard(self, queue: bytes, segment: Segment) -> None:
        """Nobody has been told of it."""
        path = self._path(queue, segment.file)
        with on_disk(self._place, f"remove {path}"):
            await asyncio.to_thread(path.unlink)

    async def retire(self, queue: bytes, finished: Sequence[Segment], *, is_last: bool) -> None:
        """They have been read to the end; after the last of a queue, all that is old in its folder is garbage."""
        if finished:
            with on_disk(self._place, f"tidy {self._path(queue, '')}"):
                await asyncio.to_thread(self._retire, queue, finished, is_last=is_last)

    def _path(self, queue: bytes, file: str) -> Path:
        name = hashlib.sha256(queue).hexdigest()[:32]
        return self._folder / name[:2] / name[2:] / file

    def _write(self, queue: bytes, items: Sequence[bytes]) -> Segment:
        segment = Segment(f"{uuid4().hex}.seg", 0, len(items))
        path = self._path(queue, segment.file)
        with on_disk(self._place, f"write {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                with path.open("xb") as file:
                    for item in items:
                        file.write(_RECORD.pack(len(item), zlib.crc32(item)))
                        file.write(item)
                    file.flush()
                    os.fsync(file.fileno())
                # A file is only there for sure when the folders say so, too.
                for folder in (path.parent, path.parent.parent, self._folder):
                    _sync(folder)
            except OSError:
                path.unlink(missing_ok=True)
                raise
        return segment

    def _read_some(self, queue: bytes, segment: Segment, most: int) -> tuple[list[bytes], Segment | None]:
        path = self._path(queue, segment.file)
        count = min(most, segment.count)
        with on_disk(self._place, f"read {path}"), path.open("rb") as file:
            file.seek(segment.offset)
            items: list[bytes] = []
            for _ in range(count):
                front = file.read(_RECORD.size)
                length, checksum = _RECORD.unpack(front) if len(front) == _RECORD.size else (0, -1)
                item = file.read(length)
                if zlib.crc32(item) != checksum:
                    raise StoreError(f"{self._place}: {path} is damaged behind byte {file.tell()}")
                items.append(item)
            rest = Segment(segment.file, file.tell(), segment.count - count) if count < segment.count else None
        return items, rest

    def _retire(self, queue: bytes, finished: Sequence[Segment], *, is_last: bool) -> None:
        now = time.time()
        for segment in finished:
            path = self._path(queue, segment.file)
            # From now on its age says how long ago it was read.
            with suppress(FileNotFoundError):
                os.utime(path, (now, now))
            self._read.append((now, path))
        while self._read and self._read[0][0] < now - self._grace:
            self._read.popleft()[1].unlink(missing_ok=True)
        if is_last:
            for path in self._path(queue, "").iterdir():
                with suppress(FileNotFoundError):  # whoever read another part of the queue sweeps, too
                    if path.stat().st_mtime < now - self._grace:
                        path.unlink()


@contextmanager
def on_disk(place: Place, act: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{place}: cannot {act}: {error.strerror or error}") from error


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
