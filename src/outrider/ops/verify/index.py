"""What do the indexes list? One line each, read once; what they say is held against the archive later."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, json

from outrider.ops.verify.report import Check, Findings, Note
from outrider.ops.verify.tables import Line, Tables, hashed
from outrider.stores.warc.cdxj import Line as CdxjLine
from outrider.stores.warc.names import COMPLETE, OPEN, index_path, stem_of

_BATCH: Final = 1_000


class Shelved(Struct, frozen=True):
    """A file of the archive, as it was found at the beginning."""

    number: int
    stem: str
    is_open: bool

    @property
    def name(self) -> str:
        """As indexes and keys call it, also while it is open."""
        return f"{self.stem}{COMPLETE}"


def survey(archive: Path, tables: Tables) -> list[Shelved]:
    """All files of the archive, those that are still open included."""
    found: dict[str, bool] = {}
    # Open ones first: the name of a file changes once, to complete, and it may do so between the two looks.
    for suffix, is_open in ((OPEN, True), (COMPLETE, False)):
        for path in archive.glob(f"*{suffix}"):
            found.setdefault(stem_of(path), is_open)
    return [Shelved(tables.add_file(stem, is_open=open_), stem, open_) for stem, open_ in sorted(found.items())]


async def read_indexes(indexes: Path, shelf: list[Shelved], tables: Tables, findings: Findings) -> None:
    for path, file in _with_files(indexes, shelf, findings):
        for number in _read(path, file, tables, findings):
            if number % _BATCH == 0:
                await asyncio.sleep(0)


def line_text(indexes: Path, stem: str, position: int) -> bytes:
    with index_path(indexes, stem).open("rb") as file:
        file.seek(position)
        return file.readline()


def parsed(text: bytes) -> CdxjLine | None:
    """None for what is no line of an index."""
    _, _, value = text.partition(b" {")
    try:
        line = json.decode(b"{" + value, type=CdxjLine)
        int(line.offset), int(line.length)
    except (DecodeError, UnicodeDecodeError, ValueError):
        return None
    return line


def _with_files(indexes: Path, shelf: list[Shelved], findings: Findings) -> Iterator[tuple[Path, Shelved]]:
    known = {file.stem: file for file in shelf}
    for path in sorted(indexes.glob("*.cdxj")):
        file = known.get(path.name.removesuffix(".cdxj"))
        if file is not None:
            yield path, file
        else:
            findings.checked(Check.INDEX_LINES, sum(1 for _ in _lines(path)))
            findings.violation(Check.INDEX_LINES, f"{path.name}: the archive has no file of this name")


def _read(path: Path, file: Shelved, tables: Tables, findings: Findings) -> Iterator[int]:
    """Line by line, so that whoever reads can pause."""
    before = b""
    for number, position, text in _lines(path):
        yield number
        line = parsed(text)
        where = f"{path.name} line {number}"
        if file.is_open and (line is None or not text.endswith(b"\n")):
            findings.note(Note.TORN, f"{where}: not whole")
            return  # as mending does: whatever it was about is asked again
        findings.checked(Check.INDEX_LINES)
        if line is None or not text.endswith(b"\n"):
            findings.violation(Check.INDEX_LINES, f"{where}: is no line of an index")
            continue
        if line.filename != file.name:
            findings.violation(Check.INDEX_LINES, f"{where}: is about another file, {line.filename}")
            continue
        if not tables.add_line(file.number, int(line.offset), Line(int(line.length), hashed(text), position)):
            findings.violation(Check.LISTED, f"{where}: lists the place {line.offset} again: {line.url}")
        elif not file.is_open and text < before:
            findings.violation(Check.INDEX_LINES, f"{where}: is out of order")
        before = text


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, place and text of each."""
    position = 0
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            yield number, position, text
            position += len(text)
