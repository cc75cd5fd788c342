"""What was told? Every event that is about a visit, by its fetch id."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from outrider.model.record import Page
from outrider.ops.verify.report import Check, Findings, Note
from outrider.ops.verify.tables import Row, Tables, hashed
from outrider.stores.files.event_lines import event_files

FETCHED: Final = "webpage_fetched"
_OF_VISITS: Final = frozenset({FETCHED, "page_unchanged", "page_moved", "page_failed"})
"""Those that always have a page on record. A skip by a rule of ours has none: nobody looked (S1-29)."""
_BATCH: Final = 1_000


class Told(Struct, frozen=True):
    """As much of an event as is compared."""

    type: str
    url: str = ""
    final_url: str = ""
    status_code: int = 0
    content_hash: str = ""
    content_length: int = 0
    cache_key: str = ""
    fetch_id: str = ""


_decoder: Final = Decoder(Told)


def must_be_told(page: Page) -> int:
    """What the event of a fetched page says, as a number."""
    data = page.metadata
    return _said(
        page.url, data.final_url, page.status_code, data.content_hash or "", data.content_length, data.content_key or ""
    )


async def read_events(folder: Path, tables: Tables, findings: Findings) -> list[Path]:
    """The files, in the order by which the tables number them."""
    sources = event_files(folder)
    for number, path in enumerate(sources):
        batch: list[Row] = []
        for row in _rows(number, path, findings):
            batch.append(row)
            if len(batch) == _BATCH:
                tables.add_events(batch)
                batch.clear()
                await asyncio.sleep(0)
        tables.add_events(batch)
    return sources


def event_at(path: Path, position: int) -> Told:
    with path.open("rb") as file:
        file.seek(position)
        return _decoder.decode(file.readline())


def _rows(number: int, path: Path, findings: Findings) -> Iterator[Row]:
    position = 0
    with path.open("rb") as file:
        for count, text in enumerate(file, 1):
            start, position = position, position + len(text)
            if not text.endswith(b"\n"):
                findings.note(Note.TORN, f"{path.name} line {count}: not whole")
                return
            findings.checked(Check.EVENT_LINES)
            try:
                event = _decoder.decode(text)
            except (DecodeError, UnicodeDecodeError) as error:  # of these, the second is no kind of the first
                findings.violation(Check.EVENT_LINES, f"{path.name} line {count}: is no event: {error}")
                continue
            if event.type in _OF_VISITS:
                if event.fetch_id:
                    yield event.fetch_id, _told(event), number, start
                else:
                    findings.violation(Check.EVENT_LINES, f"{path.name} line {count}: names no visit: {event.url}")


def _told(event: Told) -> int:
    if event.type != FETCHED:
        return 0
    return _said(
        event.url, event.final_url, event.status_code, event.content_hash, event.content_length, event.cache_key
    )


def _said(*values: object) -> int:
    # Never 0, which is for the others.
    return hashed("\n".join(map(str, values)).encode()) or 1
