"""What is on record? Every page, with the place of its answer and the event that must have told of it."""

from collections.abc import Sequence
from pathlib import Path

from outrider.model.record import Page, PageFilter, PageStatus
from outrider.ops.verify.events import must_be_told
from outrider.ops.verify.report import Check, Findings, Note
from outrider.ops.verify.tables import Row, Tables
from outrider.ports import Records
from outrider.stores.warc.names import COMPLETE, OPEN, read_key


async def read_pages(records: Records, archive: Path | None, tables: Tables, findings: Findings) -> None:
    """`archive` is None when contents are kept elsewhere."""
    async for batch in records.pages(PageFilter()):
        tables.add_pages(_rows(batch, archive, tables, findings))
    tables.index()


def _rows(pages: Sequence[Page], archive: Path | None, tables: Tables, findings: Findings) -> list[Row]:
    rows = []
    for page in pages:
        data = page.metadata
        file, place, length, is_unsettled = _placed(page, archive, tables, findings)
        rows.append(
            (
                page.fetch_id,
                page.url,
                None if data.final_url == page.url else data.final_url,
                data.status.value,
                page.status_code,
                data.content_hash,
                data.content_length,
                data.wire_length,
                data.truncated,
                file,
                place,
                length,
                is_unsettled,
                must_be_told(page) if data.status is PageStatus.FETCHED else 0,
            )
        )
    return rows


def _placed(
    page: Page, archive: Path | None, tables: Tables, findings: Findings
) -> tuple[int | None, int | None, int | None, bool]:
    """File, place and length of its answer, and whether it waits to be settled."""
    nowhere = None, None, None, False
    if archive is None:
        return nowhere
    text = page.metadata.content_key
    if text is None:
        if page.metadata.status is PageStatus.FETCHED:
            findings.checked(Check.PAGES)
            findings.violation(Check.PAGES, f"{page.url}: was fetched, and no place of its answer is on record")
        return nowhere
    findings.checked(Check.PAGES)
    key = read_key(text)
    if key is None:
        findings.violation(Check.PAGES, f"{page.url}: {text} is no place in an archive")
        return nowhere
    known = tables.file_of(key.stem)
    if known is not None:
        file, is_open = known
        return file, key.offset, key.length, is_open and tables.line_at(file, key.offset) is None
    if any((archive / f"{key.stem}{suffix}").exists() for suffix in (COMPLETE, OPEN)):
        # Begun while we looked: what is in it was settled later, if it is.
        findings.note(Note.UNSETTLED, f"{page.url}: {text}")
        return None, None, None, True
    findings.violation(Check.PAGES, f"{page.url}: {text}: the archive has no such file")
    return nowhere
