"""One file being written, by one process. It is complete when it is full and nothing in it waits to be settled.

Blocking, and used by one thread. A batch is written whole or not at all: what fails is cut off again.
"""

import errno
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from outrider.errors import StoreError
from outrider.model.capture import Capture
from outrider.stores.warc.cdxj import index_line, read_index, sync_directory, write_sorted
from outrider.stores.warc.names import COMPLETE, OPEN, Key, index_path
from outrider.stores.warc.records import capture_records, packed, payload_digest

_REMEDIES: Final = {
    errno.ENOSPC: "the disk is full; make room and go on",
    errno.EDQUOT: "the disk quota is used up; raise it or make room, and go on",
    errno.EFBIG: "the file may not grow any more; raise the limit on file sizes, or lower roll, and go on",
    errno.EROFS: "the disk may only be read; mount it for writing",
    errno.EACCES: "we may not write there; give this user the right to",
    errno.EPERM: "we may not write there; give this user the right to",
}


def store_error(error: OSError, path: Path) -> StoreError:
    """One sentence: which file, what is wrong, what to do."""
    remedy = _REMEDIES.get(error.errno or 0, f"{error.strerror or error}; see to the disk and go on")
    return StoreError(f"{path}: nothing of this was written: {remedy}")


class WarcFile:
    """Holds a lock on its file for as long as it lives, so that nobody mends what is not broken."""

    def __init__(self, archive: Path, indexes: Path, stem: str, file: int) -> None:
        self.stem = stem
        self._path = archive / f"{stem}{OPEN}"
        self._index = index_path(indexes, stem)
        self._file = file
        self._index_file: int | None = None
        self._waiting: dict[str, bytes] = {}
        self._confirmed = 0
        self.size = 0
        self.is_broken = False

    @classmethod
    def create(cls, archive: Path, indexes: Path, stem: str) -> "WarcFile | None":
        """None when the name is taken, now or before."""
        path = archive / f"{stem}{OPEN}"
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_taken = (archive / f"{stem}{COMPLETE}").exists()
            if not is_taken:
                sync_directory(archive)
        except BlockingIOError:
            # Somebody mends the directory while we work in it, and was quicker.
            os.close(file)
            return None
        except OSError:
            os.close(file)
            path.unlink()
            raise
        if is_taken:
            path.unlink()
            os.close(file)
            return None
        return cls(archive, indexes, stem, file)

    @property
    def is_settled(self) -> bool:
        return not self._waiting

    def append(self, captures: Sequence[Capture], warcinfo: bytes) -> list[Key]:
        """All of them, on the disk; or none, and `StoreError`."""
        pieces = [] if self.size else [packed(warcinfo)]
        position = self.size + sum(map(len, pieces))
        keys: list[Key] = []
        waiting: dict[str, bytes] = {}
        for capture in captures:
            digest = payload_digest(capture)
            answer, *others = map(packed, capture_records(capture, digest))
            key = Key(self.stem, position, len(answer))
            waiting[str(key)] = index_line(capture, digest, f"{self.stem}{COMPLETE}", position, len(answer))
            keys.append(key)
            pieces += (answer, *others)
            position += len(answer) + sum(map(len, others))
        try:
            _write(self._file, b"".join(pieces), self.size)
            os.fsync(self._file)
        except OSError as error:
            self.is_broken = not _cut(self._file, self.size)
            raise store_error(error, self._path) from error
        self.size = position
        self._waiting |= waiting
        return keys

    def confirm(self, keys: Sequence[str]) -> None:
        """Those that do not wait were confirmed before."""
        lines = [self._waiting[key] for key in keys if key in self._waiting]
        if not lines:
            return
        try:
            if self._index_file is None:
                self._index_file = os.open(self._index, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            _write(self._index_file, b"".join(lines), self._confirmed)
        except OSError as error:
            if self._index_file is not None:
                _cut(self._index_file, self._confirmed)
            raise store_error(error, self._index) from error
        self._confirmed += sum(map(len, lines))
        for key in keys:
            self._waiting.pop(key, None)

    def end(self) -> None:
        """Complete it; or, while anything in it waits or is broken, leave it as it is, for mending to ask about."""
        try:
            if self.size == 0 and not self.is_broken:
                self._path.unlink()
            elif self.is_settled and not self.is_broken:
                lines = (line for _, line in read_index(self._index).values())
                write_sorted(self._index, lines)
                # The index first: a complete file always has a sorted one.
                self._path.rename(self._path.with_name(f"{self.stem}{COMPLETE}"))
                sync_directory(self._path.parent)
        except OSError as error:
            raise store_error(error, self._path) from error
        finally:
            os.close(self._file)
            if self._index_file is not None:
                os.close(self._index_file)


def _write(file: int, data: bytes, position: int) -> None:
    left = memoryview(data)
    while left:
        written = os.pwrite(file, left, position)
        position += written
        left = left[written:]


def _cut(file: int, size: int) -> bool:
    """Whether it could be done: a disk that fails may not even let us take back."""
    try:
        os.ftruncate(file, size)
        os.fsync(file)
    except OSError:
        return False
    return True
