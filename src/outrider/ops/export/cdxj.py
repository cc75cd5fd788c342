"""One index for the whole archive: the lines of all its files in one order, in little memory whatever their number.

The index of a complete file is sorted, and is merged as it is. That of a file which is still written is in order of
arrival, and its last line may be torn: it is sorted first, piece by piece, in temporary files.
"""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import DecodeError, json

from outrider.errors import StoreError
from outrider.stores.warc.cdxj import Line
from outrider.stores.warc.names import COMPLETE

_AT_ONCE: Final = 64
"""Files that are merged at a time: more would run into the limit on open files."""
_PIECE: Final = 100_000
"""Lines that are sorted in memory: about 40 MB."""


def merged_index(archive: Path, indexes: Path) -> Iterator[bytes]:
    """Every line of every index once, in byte order, as replay tools want it.

    Raises `StoreError` for a text that is no line of an index.
    """
    with TemporaryDirectory(prefix="outrider-") as folder:
        work = _Work(Path(folder))
        runs: list[Path] = []
        for index in sorted(indexes.glob("*.cdxj")):
            is_complete = (archive / f"{index.stem}{COMPLETE}").exists()
            runs += [index] if is_complete and _is_in_order(index) else work.in_order(_whole_lines(index, is_complete))
        while len(runs) > _AT_ONCE:
            runs = [work.keep(_merged(runs[start : start + _AT_ONCE])) for start in range(0, len(runs), _AT_ONCE)]
        yield from _merged(runs)


class _Work:
    """Sorted runs in temporary files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def in_order(self, lines: Iterator[bytes]) -> list[Path]:
        runs = []
        while piece := sorted(islice(lines, _PIECE)):
            runs.append(self.keep(piece))
        return runs

    def keep(self, lines: Iterable[bytes]) -> Path:
        self._count += 1
        path = self._folder / str(self._count)
        with path.open("wb") as file:
            file.writelines(lines)
        return path


def _merged(runs: list[Path]) -> Iterator[bytes]:
    last = b""
    with ExitStack() as stack:
        for line in heapq.merge(*(stack.enter_context(run.open("rb")) for run in runs)):
            if line != last:
                yield line
            last = line


def _is_in_order(index: Path) -> bool:
    last = b""
    for line in _whole_lines(index, is_complete=True):
        if line < last:
            return False
        last = line
    return True


def _whole_lines(index: Path, is_complete: bool) -> Iterator[bytes]:  # noqa: FBT001 - private, and named by all callers
    """A line of an open file that is not whole was never said; neither is what follows it."""
    with index.open("rb") as file:
        for number, text in enumerate(file, 1):
            if text.endswith(b"\n") and _is_line(text):
                yield text
            elif is_complete:
                raise StoreError(f"{index} line {number}: is no line of an index; `outrider verify` says more")
            else:
                return


def _is_line(text: bytes) -> bool:
    _, _, value = text.partition(b" {")
    try:
        json.decode(b"{" + value, type=Line)
    except (DecodeError, UnicodeDecodeError):
        return False
    return True
