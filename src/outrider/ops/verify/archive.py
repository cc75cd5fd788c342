"""Does the archive hold what index and records say? Every file is read, every body hashed, and decoded and hashed."""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from outrider.errors import BodyTooLarge, Undecodable
from outrider.model.capture import Capture, Unchanged
from outrider.ops.content import decoded_again
from outrider.ops.verify.captures import Broken, Info, Stray, Whole, captures_in, size_of
from outrider.ops.verify.index import Shelved, line_text, parsed
from outrider.ops.verify.report import Check, Findings, Note
from outrider.ops.verify.tables import Line, PageRow, Tables, hashed
from outrider.stores.warc.cdxj import index_line
from outrider.stores.warc.names import COMPLETE, OPEN
from outrider.stores.warc.reading import Member

_HAD: Final = frozenset({"fetched", "not_modified"})
_WITHOUT_STATUS: Final = frozenset({"failed", "skipped"})
"""A redirect that leads nowhere has an answer, and yet the visit ended without one (S1-22)."""


_STEP: Final = 262_144
"""Bytes between two words of progress: nobody sees more."""


class Archive:
    """`tell` hears how many bytes of the archive were read."""

    def __init__(
        self, archive: Path, indexes: Path, tables: Tables, findings: Findings, tell: Callable[[int], None]
    ) -> None:
        self._archive = archive
        self._indexes = indexes
        self._tables = tables
        self._findings = findings
        self._tell = tell
        self._read = 0

    async def check(self, shelf: list[Shelved]) -> None:
        for file in shelf:
            with _opened(self._archive, file.stem) as opened:
                if opened is None and not file.is_open:
                    self._findings.violation(Check.WARC_RECORDS, f"{file.name}: has gone while we looked")
                elif opened is not None:
                    await self._check_file(file, opened)
        for number, place, line in self._tables.lines_to_nowhere():
            stem = self._tables.stem_of(number)
            self._findings.violation(
                Check.INDEX_LINES, f"{stem}.cdxj: no answer is at {place} of the file: {self._url(stem, line)}"
            )
        for page, other in self._tables.pages_without_answer():
            sentence = f"{page.url}: {self._instead(page, other)}"
            if page.is_unsettled:
                # A crawl that runs may have mended the file meanwhile: then the visit is still owed.
                self._findings.note(Note.UNSETTLED, sentence)
            else:
                self._findings.violation(Check.PAGES, sentence)

    async def _check_file(self, file: Shelved, opened: int) -> None:
        size = size_of(opened)
        before = told = self._read
        findings = self._findings
        has_info = is_torn = False
        for found in captures_in(opened, size, lambda place: self._tables.next_place(file.number, place)):
            match found:
                case Info(member):
                    has_info = True
                    findings.checked(Check.WARC_RECORDS)
                    self._read = before + member.end
                    if member.fields.get("WARC-Filename") != file.name:
                        findings.violation(Check.WARC_RECORDS, f"{file.name}: its first record names another file")
                case Whole(answer, capture, records, faults):
                    findings.checked(Check.WARC_RECORDS, records)
                    self._read = before + answer.end
                    self._check_capture(file, found, capture, faults)
                case Stray(Member(start=start), why) | Broken(start, why):
                    if not file.is_open or self._tables.next_place(file.number, start - 1) is not None:
                        findings.violation(Check.WARC_RECORDS, f"{file.name}: {why}")
                    elif not is_torn:
                        # Nobody knows of anything from here on: the writer was killed, or is at it.
                        is_torn = True
                        findings.note(Note.TORN, f"{file.name} from {start} on")
            if self._read - told > _STEP:
                told = self._read
                self._tell(told)
            await asyncio.sleep(0)  # whoever presses Ctrl-C is heard between two captures
        if size and not has_info and not is_torn:
            findings.violation(Check.WARC_RECORDS, f"{file.name}: does not begin with a warcinfo record")
        self._read = before + size
        self._tell(self._read)

    def _check_capture(self, file: Shelved, whole: Whole, capture: Capture, faults: tuple[str, ...]) -> None:
        findings, answer = self._findings, whole.answer
        length = answer.end - answer.start
        where = f"{file.name}:{answer.start}:{length}"
        findings.checked(Check.CAPTURES)
        for fault in faults:
            findings.violation(Check.CAPTURES, f"{where}: {fault}: {capture.url}")
        self._tables.add_capture(file.number, answer.start, length, capture.fetch_id)
        self._check_payload(where, answer.kind, capture)
        line = self._tables.line_at(file.number, answer.start)
        page = self._tables.page_of(capture.fetch_id)
        is_its_own = page is not None and (page.file, page.place) == (file.number, answer.start)
        if line is not None:
            findings.checked(Check.LISTED)
            self._check_line(file, whole, capture, line)
            findings.checked(Check.RECORDED)
            if page is None:
                findings.violation(Check.RECORDED, f"{where}: no page is on record of this visit: {capture.url}")
            elif not is_its_own:
                findings.note(Note.VISITED_TWICE, f"{where}: {capture.url}")
        elif file.is_open:
            findings.note(Note.UNSETTLED, f"{where}: {capture.url}")
        elif is_its_own:
            findings.checked(Check.LISTED)
            findings.violation(Check.LISTED, f"{where}: is on record, and no index lists it: {capture.url}")
        else:
            findings.note(Note.LEFT_OVER, f"{where}: {capture.url}")
        if page is not None and is_its_own:
            for fault in disagreements(page, capture):
                findings.violation(Check.PAGES, f"{page.url}: {fault}")
            self._check_content(page, capture)

    def _check_payload(self, where: str, kind: str, capture: Capture) -> None:
        if kind != "response":
            return  # a revisit stands for content that is elsewhere
        self._findings.checked(Check.PAYLOADS)
        if capture.payload_sha256 != sha256(capture.body).hexdigest():
            self._findings.violation(Check.PAYLOADS, f"{where}: the body is not the one of the digest: {capture.url}")

    def _check_line(self, file: Shelved, whole: Whole, capture: Capture, line: Line) -> None:
        answer = whole.answer
        length = answer.end - answer.start
        expected = index_line(capture, capture.payload_sha256, file.name, answer.start, length)
        if hashed(expected) == line.said:
            return
        differs = _differences(line_text(self._indexes, file.stem, line.position), expected)
        sentence = f"{file.stem}.cdxj: {capture.url} at {answer.start}: {differs or 'its key or moment is wrong'}"
        self._findings.violation(Check.INDEX_LINES, sentence)

    def _check_content(self, page: PageRow, capture: Capture) -> None:
        if page.status != "fetched":
            return
        self._findings.checked(Check.CONTENTS)
        if capture.unchanged is not None:
            if not self._tables.has_content_elsewhere(page):
                self._findings.violation(Check.CONTENTS, f"{page.url}: unchanged, but no visit had this content")
            return
        fault = content_fault(page, capture)
        if fault:
            self._findings.violation(Check.CONTENTS, f"{page.url}: {fault}")

    def _instead(self, page: PageRow, other: str | None) -> str:
        stem = "?" if page.file is None else self._tables.stem_of(page.file)
        place = f"{stem}{COMPLETE}:{page.place}:{page.length}"
        if other is None:
            return f"no answer is at {place}"
        if other != page.fetch_id:
            return f"at {place} is the answer of another visit, {other}"
        return f"the answer at {place} has another length"

    def _url(self, stem: str, line: Line) -> str:
        said = parsed(line_text(self._indexes, stem, line.position))
        return "" if said is None else said.url


def disagreements(page: PageRow, capture: Capture) -> Iterator[str]:
    """What the record says otherwise than the answer, content apart."""
    if page.status_code != capture.status and not (page.status_code == 0 and page.status in _WITHOUT_STATUS):
        yield f"its status is {page.status_code} on record, and {capture.status} in the archive"
    if page.status in _HAD and page.ended_at != capture.url:
        yield f"it ended at {page.ended_at} on record, and at {capture.url} in the archive"
    elif page.url != capture.url and all(hop.url != page.url for hop in capture.chain):
        yield f"the answer in the archive is of {capture.url}"
    if page.status == "fetched" and capture.unchanged is None and page.wire_length != len(capture.body):
        yield f"{page.wire_length} bytes were sent by the record, and {len(capture.body)} by the archive"
    if page.status == "not_modified" and capture.unchanged is not Unchanged.NOT_MODIFIED:
        yield "it was not modified by the record, and is no such revisit in the archive"


def content_fault(page: PageRow, capture: Capture) -> str:
    """The body decoded again, as far as the record says that it was kept; nothing when it is the same."""
    try:
        decoded = decoded_again(capture, page.content_length, truncated=page.truncated)
    except (BodyTooLarge, Undecodable) as error:
        return f"its body cannot be decoded: {error}"
    if decoded.truncated and not page.truncated:
        return f"its content is longer than the {page.content_length} bytes on record, or ends early"
    if len(decoded.data) != page.content_length:
        return f"its content has {len(decoded.data)} bytes, not {page.content_length}"
    if sha256(decoded.data).hexdigest() != page.content_hash:
        return f"its content is not the one of the hash on record, {page.content_hash}"
    return ""


def _differences(line: bytes, expected: bytes) -> str:
    said, meant = parsed(line), parsed(expected)
    if said is None or meant is None:
        return ""
    pairs = [(name, getattr(meant, name), getattr(said, name)) for name in meant.__struct_fields__]
    return ", ".join(f"{name} is {right}, not {wrong}" for name, right, wrong in pairs if right != wrong)


@contextmanager
def _opened(archive: Path, stem: str) -> Iterator[int | None]:
    # The name changes once, from open to complete: looking for the last name again leaves no gap.
    for suffix in (COMPLETE, OPEN, COMPLETE):
        try:
            file = os.open(archive / f"{stem}{suffix}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            yield file
        finally:
            os.close(file)
        return
    yield None
