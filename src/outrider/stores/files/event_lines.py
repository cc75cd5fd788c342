"""What do the event files say? Whole lines only: what has no newline yet is not there yet.

`in_time_order` tells all of them once, merged; `Follower` tells what comes from now on.
"""

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from outrider.stores.files.events import PATTERN

_WINDOW: Final = 1_000
"""Workers publish in batches, so a file is only nearly in order: it is sorted through a window of so many lines."""
_STEP: Final = 1 << 20


class Head(Struct, frozen=True):
    """As much of a line as it takes to choose and to order it."""

    type: str
    at: float
    site: str | None = None
    url: str | None = None


class Line(Struct, frozen=True):
    """`head` is None for a line that is no event."""

    text: bytes
    head: Head | None

    @property
    def at(self) -> float:
        return 0.0 if self.head is None else self.head.at


_Ordered: TypeAlias = tuple[float, int, Line]
_heads = Decoder(Head)


def event_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(PATTERN))


def in_time_order(folder: Path) -> Iterator[Line]:
    """A file is opened when its first moment is reached, so that a long crawl needs few open at once."""
    unopened = sorted(((_first_at(path), path) for path in event_files(folder)), reverse=True)
    heads: list[tuple[float, int, Line, Iterator[Line]]] = []
    number = 0
    while unopened or heads:
        while unopened and (not heads or unopened[-1][0] <= heads[0][0]):
            lines = _sorted(_lines_of(unopened.pop()[1]))
            number += 1
            _push(heads, number, lines)
        if heads:
            _, which, line, lines = heapq.heappop(heads)
            yield line
            _push(heads, which, lines)


def _push(heads: list[tuple[float, int, Line, Iterator[Line]]], number: int, lines: Iterator[Line]) -> None:
    line = next(lines, None)
    if line is not None:
        heapq.heappush(heads, (line.at, number, line, lines))


def _first_at(path: Path) -> float:
    """No later line of the file can come to stand before this moment."""
    return min((line.at for line in islice(_lines_of(path), _WINDOW)), default=0.0)


def _lines_of(path: Path) -> Iterator[Line]:
    with path.open("rb") as file:
        for text in file:
            if text.endswith(b"\n"):
                yield _parsed(text)


def _sorted(lines: Iterable[Line]) -> Iterator[Line]:
    window: list[_Ordered] = []
    for number, line in enumerate(lines):
        entry = (line.at, number, line)
        if len(window) < _WINDOW:
            heapq.heappush(window, entry)
        else:
            yield heapq.heappushpop(window, entry)[2]
    while window:
        yield heapq.heappop(window)[2]


def _parsed(text: bytes) -> Line:
    text = text.removesuffix(b"\n")
    try:
        return Line(text, _heads.decode(text))
    except (DecodeError, UnicodeDecodeError):  # of these, the second is no kind of the first
        return Line(text, None)


class Follower:
    """Where we are in each file: always behind a newline, so that a torn end that is cut off was never read.

    What was there at the start has been told already; files that come later are told from their beginning.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = {path: _end_of(path) for path in event_files(folder)}

    def news(self) -> Iterator[Line]:
        """All that came since, in the order of the files; nothing when nothing did."""
        for path in event_files(self._folder):
            while path.stat().st_size > self._read.get(path, 0):
                text = self._next(path)
                if not text:
                    break
                yield from map(_parsed, text.splitlines(keepends=True))

    def _next(self, path: Path) -> bytes:
        offset = self._read.get(path, 0)
        with path.open("rb") as file:
            file.seek(offset)
            text = file.read(_STEP)
            if b"\n" not in text:
                text += file.readline()
        whole = text[: text.rfind(b"\n") + 1]
        self._read[path] = offset + len(whole)
        return whole


def _end_of(path: Path) -> int:
    """Behind the last newline; the little that a writer is about to complete is still to come."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        while size:
            start = max(size - _STEP, 0)
            file.seek(start)
            newline = file.read(size - start).rfind(b"\n")
            if newline >= 0:
                return start + newline + 1
            size = start
    return 0
