"""All checks, one after the other, in the order that a running crawl cannot disturb (see the package)."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.model.ledger import Census
from outrider.model.reason import Reason
from outrider.ops.verify.archive import Archive
from outrider.ops.verify.events import event_at, read_events
from outrider.ops.verify.index import Shelved, read_indexes, survey
from outrider.ops.verify.pages import read_pages
from outrider.ops.verify.report import Check, Findings, Note, Report
from outrider.ops.verify.tables import Tables, open_tables
from outrider.ports import Records
from outrider.stores.sqlite.glance import census_of_file
from outrider.stores.warc.names import COMPLETE, OPEN

Tell: TypeAlias = Callable[[str, int, int | None], None]
"""What is being read, how much of it was, and how much there is where that is known."""

_HAD: Final = "pages WHERE status IN ('fetched', 'not_modified')"


class Home(Struct, frozen=True):
    """Where a crawl's things lie; None for what is kept elsewhere. `running` is None when nobody here can tell.

    `recrawls`: pages are visited again, so that the ledger counts fewer URLs than there are visits on record.
    """

    archive: Path | None
    indexes: Path
    events: Path | None
    frontier: Path | None
    running: bool | None = False
    recrawls: bool = False


async def verify(home: Home, records: Records, tell: Tell = lambda *_: None) -> Report:
    """Raises `StoreError` for records or a frontier that cannot be read, and `OSError` for files that cannot."""
    findings = Findings()
    with open_tables() as tables:
        shelf: list[Shelved] = []
        if home.archive is not None:
            tell("indexes", 0, None)
            shelf = survey(home.archive, tables)
            await read_indexes(home.indexes, shelf, tables, findings)
        census = None if home.frontier is None else census_of_file(home.frontier)
        tell("events", 0, None)
        sources = [] if home.events is None else await read_events(home.events, tables, findings)
        tell("records", 0, None)
        await read_pages(records, home.archive, tables, findings)
        if home.archive is not None:
            total = sum(_size(home.archive, file) for file in shelf)
            reading = Archive(
                home.archive, home.indexes, tables, findings, lambda done: tell("archive", min(done, total), total)
            )
            await reading.check(shelf)
        else:
            findings.skip(
                "the contents are kept elsewhere: neither archive nor index was looked at",
                *(Check.WARC_RECORDS, Check.PAYLOADS, Check.CAPTURES, Check.INDEX_LINES),
                *(Check.LISTED, Check.PAGES, Check.CONTENTS, Check.RECORDED),
            )
        _check_events(home, sources, tables, findings)
        await _check_sums(home, records, census, tables, findings)
    return findings.report(running=home.running)


def _check_events(home: Home, sources: list[Path], tables: Tables, findings: Findings) -> None:
    if home.events is None:
        sentence = "the events are kept elsewhere: nothing was held against them"
        findings.skip(sentence, Check.EVENT_LINES, Check.TOLD, Check.EVENTS)
        return
    findings.checked(Check.TOLD, tables.count("pages WHERE status = 'fetched' AND NOT is_unsettled"))
    for page, other in tables.untold_pages():
        if other is None:
            findings.violation(Check.TOLD, f"{page.url}: no event tells of the visit {page.fetch_id}")
        else:
            told = event_at(sources[other[0]], other[1])
            findings.violation(
                Check.TOLD,
                f"{page.url}: its event tells of another answer: status {told.status_code}, "
                f"{told.content_length} bytes, hash {told.content_hash}, key {told.cache_key}",
            )
    findings.checked(Check.EVENTS, tables.count("events"))
    for fetch_id, source, position in tables.unknown_events():
        told = event_at(sources[source], position)
        findings.violation(
            Check.EVENTS, f"{sources[source].name}: {told.type} of a visit not on record, {fetch_id}: {told.url}"
        )
    for fetch_id, more in tables.repeated_events():
        page_of = tables.page_of(fetch_id)
        for _ in range(more):
            findings.note(Note.TOLD_TWICE, f"{fetch_id}: {page_of.url if page_of else ''}")


async def _check_sums(home: Home, records: Records, census: Census | None, tables: Tables, findings: Findings) -> None:
    if home.running is False:
        findings.checked(Check.TALLY)
        tally = await records.tally()
        pages, length = tables.tally()
        if {str(status): count for status, count in tally.pages.items()} != pages:
            said = ", ".join(f"{count} {status}" for status, count in sorted(tally.pages.items()))
            counted = ", ".join(f"{count} {status}" for status, count in sorted(pages.items()))
            findings.violation(Check.TALLY, f"the sums say {said or 'nothing'}; there are {counted or 'none'}")
        if tally.bytes != length:
            findings.violation(Check.TALLY, f"the sums say {tally.bytes} bytes as sent; there are {length}")
    else:
        findings.skip("the crawl is running: sums that change meanwhile were not counted again", Check.TALLY)
    if census is None:
        findings.skip("the frontier is kept elsewhere: the ledger was not looked at", Check.LEDGER)
        return
    findings.checked(Check.LEDGER)
    for fault in ledger_faults(
        census,
        had=tables.count(_HAD),
        unsettled=tables.count(f"{_HAD} AND is_unsettled"),
        is_exact=home.archive is not None and not home.recrawls,
    ):
        findings.violation(Check.LEDGER, fault)


def ledger_faults(census: Census, *, had: int, unsettled: int, is_exact: bool) -> list[str]:
    """A ledger keeps only the number of what was fetched. `had` are visits on record that had a page.

    A page on record may be owed again, unsettled for now, have been settled too late (`stale`), or have been dismissed
    by an operator while it was visited; none other may be missing from the ledger.
    """
    faults = []
    if not census.adds_up:
        faults.append(f"the states do not add up to the {census.discovered} URLs that were discovered")
    if census.fetched > had:
        faults.append(f"the ledger says that {census.fetched} pages were fetched, and {had} are on record")
    dismissed = sum(census.skipped.get(reason, 0) for reason in (Reason.DISMISSED, Reason.EXCLUDED_SITE))
    if is_exact and census.fetched + census.waiting + census.stale + dismissed < had - unsettled:
        faults.append(f"{had - unsettled} pages are on record, and the ledger says that {census.fetched} were fetched")
    return faults


def _size(archive: Path, file: Shelved) -> int:
    for suffix in (COMPLETE, OPEN, COMPLETE):
        try:
            return (archive / f"{file.stem}{suffix}").stat().st_size
        except FileNotFoundError:
            continue
    return 0
