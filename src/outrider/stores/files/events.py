"""Events as JSON lines: `file:///crawl/events`. Nothing complete is ever rewritten, and no line is ever joined.

A file `events-{worker}-{serial}.jsonl` is written by one process in one life of it, and only at its end; whoever starts
takes the next serial. What a killed writer left without its newline is cut off by the next one that starts, and that
file is not written again: no byte ever comes to stand where another stood, so a consumer that follows by position
cannot read one half of a line together with the half of another. A batch that did not fit on the disk is taken back
whole, and its file is closed as well. So a consumer takes whole lines, and may see one twice, never a part.

Options: `worker` (a number for the name), `size` (bytes, then comes the next file), `synchronous` (normal: a power cut
may cost the last moments; full: the disk confirms each batch).
"""

import asyncio
import errno
import fcntl
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, Self, get_args

from outrider.errors import ConfigError, StoreError
from outrider.model.codec import to_json
from outrider.model.event import Event
from outrider.ports import Clock
from outrider.stores.place import Place

PATTERN: Final = "events-*.jsonl"
SIZE: Final = 64 * 1024 * 1024

_BLOCK: Final = 65_536


def _heads() -> dict[type, tuple[int, bytes]]:
    """What an event's JSON begins with is known beforehand, so its version costs one copy and no second encoding."""
    heads = {}
    for kind in get_args(Event):
        head = f'{{"type":"{kind.__struct_config__.tag}",'.encode()
        heads[kind] = (len(head), head + f'"version":{kind.version},'.encode())
    return heads


_HEADS: Final = _heads()


def event_line(event: Event) -> bytes:
    """`{"type":…,"version":1,"at":…}` and its newline."""
    length, head = _HEADS[type(event)]
    return head + to_json(event)[length:] + b"\n"


class FileEvents:
    """One writer. The disk is only touched on a thread of its own, a batch at a time, in the order of the calls."""

    def __init__(self, place: Place) -> None:
        if place.host or not place.path:
            raise ConfigError(f"{place}: expected file:///path/to/events")
        self._place = place
        self._folder = Path(place.path)
        self._worker = place.number("worker", 0, least=0)
        self._most = place.number("size", SIZE)
        self._is_synced = place.text("synchronous", "normal", ("normal", "full")) == "full"
        place.end()
        self._file: int | None = None
        self._written = 0
        self._closed = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="outrider-events")

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, clock: Clock | None = None) -> AsyncIterator[Self]:
        """The clock is not needed: events bring their time."""
        del clock
        sink = cls(place)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(sink._thread, sink._prepare)
            yield sink
        finally:
            sink._closed = True
            await loop.run_in_executor(sink._thread, sink._leave_file)
            sink._thread.shutdown(wait=False)

    async def publish(self, events: Sequence[Event]) -> None:
        if self._closed:
            raise StoreError(f"{self._place}: the event sink is closed")
        if events:
            data = b"".join(map(event_line, events))
            await asyncio.get_running_loop().run_in_executor(self._thread, self._append, data)

    # on the thread

    def _prepare(self) -> None:
        with self._failures():
            self._folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            for path in sorted(self._folder.glob(PATTERN)):
                _cut_torn_end(path)

    def _append(self, data: bytes) -> None:
        with self._failures():
            if self._written and self._written + len(data) > self._most:
                self._leave_file()
            file = self._file if self._file is not None else self._next_file()
            try:
                _write_whole(file, data)
                if self._is_synced:
                    os.fsync(file)
            except OSError:
                try:
                    os.ftruncate(file, self._written)
                finally:
                    self._leave_file()
                raise
            self._written += len(data)

    def _next_file(self) -> int:
        prefix = f"events-{self._worker:02}-"
        taken = [path.name[len(prefix) :].partition(".")[0] for path in self._folder.glob(f"{prefix}*.jsonl")]
        serial = max((int(text) for text in taken if text.isdecimal()), default=0)
        for number in range(serial + 1, serial + 10_000):
            path = self._folder / f"{prefix}{number:05}.jsonl"
            try:
                file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
            except FileExistsError:
                continue  # another process of the same number was quicker
            self._file, self._written = file, 0
            fcntl.flock(file, fcntl.LOCK_EX)  # held until it is closed: whoever starts sees that it is being written
            return file
        raise StoreError(f"{self._place}: no serial after {serial} is free for worker {self._worker}")

    def _leave_file(self) -> None:
        file, self._file, self._written = self._file, None, 0
        if file is not None:
            os.close(file)

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Errors of the disk end here."""
        try:
            yield
        except OSError as error:
            what = "nothing of this was written" if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} else ""
            said = "; ".join(filter(None, [error.strerror or type(error).__name__, what]))
            raise StoreError(f"{self._place}: {said}") from error


def _write_whole(file: int, data: bytes) -> None:
    """One call, unless the disk takes less: then the next call says why."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def _cut_torn_end(path: Path) -> None:
    """What follows the last newline was never published. A file that somebody still writes is left alone."""
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        size = os.fstat(file).st_size
        if not size or os.pread(file, 1, size - 1) == b"\n":
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        whole = _end_of_lines(file, os.fstat(file).st_size)
        os.ftruncate(file, whole)
    finally:
        os.close(file)


def _end_of_lines(file: int, size: int) -> int:
    end = size
    while end > 0:
        start = max(end - _BLOCK, 0)
        newline = os.pread(file, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
