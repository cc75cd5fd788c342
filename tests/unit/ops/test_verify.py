"""What contradicts what? The decisions of `outrider verify`, without a file."""

import gzip
from hashlib import sha256

import pytest
from msgspec.structs import replace

from outrider.model.capture import Capture, Unchanged
from outrider.model.ledger import Census
from outrider.model.outcome import Hop
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ops.verify.archive import content_fault, disagreements
from outrider.ops.verify.report import MOST_EXAMPLES, Check, Findings, Note
from outrider.ops.verify.run import ledger_faults
from outrider.ops.verify.tables import PageRow

CONTENT = b"<p>a page</p>" * 100
SENT = gzip.compress(CONTENT)
HERE, THERE = Url("http://site.test/here"), Url("http://site.test/there")


def capture(body: bytes = SENT, *encodings: str, **changes: object) -> Capture:
    headers = tuple(("Content-Encoding", name) for name in encodings or ("gzip",))
    return replace(Capture("visit", HERE, 1e9, 200, headers, body), **changes)


def row(content: bytes = CONTENT, **changes: object) -> PageRow:
    page = PageRow(
        id=1,
        fetch_id="visit",
        url=str(HERE),
        final_url=None,
        status="fetched",
        status_code=200,
        content_hash=sha256(content).hexdigest(),
        content_length=len(content),
        wire_length=len(SENT),
        truncated=False,
        file=1,
        place=0,
        length=10,
        is_unsettled=False,
    )
    return replace(page, **changes)


def hop(url: Url) -> Hop:
    return Hop(url, 302)


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        (row(), capture()),
        (row(final_url=str(THERE)), capture(url=THERE, chain=(hop(HERE),))),
        (row(status="moved", status_code=301, final_url="http://other.test/"), capture(status=301)),
        # A redirect that leads nowhere: the visit ended without an answer, and the archive has the last one.
        (row(status="failed", status_code=0), capture(status=302)),
        (row(status="failed", status_code=0), capture(url=THERE, status=302, chain=(hop(HERE),))),
        (row(status="not_modified", status_code=304), capture(b"", status=304, unchanged=Unchanged.NOT_MODIFIED)),
        (row(), capture(b"", unchanged=Unchanged.SAME_CONTENT)),
    ],
)
def test_a_page_and_its_answer_agree(page: PageRow, answer: Capture) -> None:
    assert list(disagreements(page, answer)) == []


@pytest.mark.parametrize(
    ("page", "answer", "fault"),
    [
        (row(status_code=404), capture(), "status is 404"),
        (row(status_code=0), capture(), "status is 0"),
        (row(final_url=str(THERE)), capture(), "ended at"),
        (row(status="failed", status_code=500), capture(url=THERE, status=500), "is of"),
        (row(wire_length=3), capture(), "3 bytes"),
        (row(status="not_modified"), capture(), "no such revisit"),
    ],
)
def test_a_page_that_says_something_else_than_its_answer_is_told(page: PageRow, answer: Capture, fault: str) -> None:
    [told] = disagreements(page, answer)

    assert fault in told


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        (row(), capture()),
        (row(), capture(CONTENT, "identity")),
        (row(), capture(gzip.compress(SENT), "gzip", "gzip")),
        # Cut at the cap of whoever crawled, decoded or as sent.
        (row(CONTENT[:500], truncated=True), capture()),
        (row(CONTENT[:500], truncated=True), capture(CONTENT[:500], "identity")),
    ],
)
def test_content_is_decoded_to_what_is_on_record(page: PageRow, answer: Capture) -> None:
    assert content_fault(page, answer) == ""


@pytest.mark.parametrize(
    ("page", "answer", "fault"),
    [
        (row(CONTENT.upper()), capture(), "not the one of the hash"),
        (row(CONTENT[:500]), capture(), "longer than"),
        (row(CONTENT + b"!"), capture(), f"{len(CONTENT)} bytes"),
        (row(), capture(CONTENT), "cannot be decoded"),
        (row(), capture(SENT, "unheard-of"), "cannot be decoded"),
        (row(), capture(SENT[:-20]), "ends early"),
    ],
)
def test_content_that_is_not_on_record_is_told(page: PageRow, answer: Capture, fault: str) -> None:
    assert fault in content_fault(page, answer)


CENSUS = Census(discovered=12, pending=0, waiting=0, fetched=10, alias=1, dead={Reason.EMPTY_BODY: 1})


@pytest.mark.parametrize(
    ("census", "had", "unsettled", "is_exact"),
    [
        (CENSUS, 10, 0, True),
        (CENSUS, 11, 1, True),
        (replace(CENSUS, stale=1), 11, 0, True),
        (replace(CENSUS, fetched=9, waiting=1), 10, 0, True),
        # Visited, and dismissed by an operator before that was settled.
        (replace(CENSUS, fetched=9, skipped={Reason.DISMISSED: 1}), 10, 0, True),
        (replace(CENSUS, fetched=9, skipped={Reason.EXCLUDED_SITE: 1}), 10, 0, True),
        (CENSUS, 30, 0, False),
    ],
)
def test_a_ledger_agrees_with_the_pages(census: Census, had: int, unsettled: int, *, is_exact: bool) -> None:
    assert ledger_faults(census, had=had, unsettled=unsettled, is_exact=is_exact) == []


@pytest.mark.parametrize(
    ("census", "had", "fault"),
    [
        (replace(CENSUS, discovered=13), 10, "do not add up"),
        (CENSUS, 9, "9 are on record"),
        (CENSUS, 11, "11 pages are on record"),
    ],
)
def test_a_ledger_that_counts_otherwise_is_told(census: Census, had: int, fault: str) -> None:
    [told] = ledger_faults(census, had=had, unsettled=0, is_exact=True)

    assert fault in told


def test_all_are_counted_and_the_first_are_shown() -> None:
    findings = Findings()
    for number in range(MOST_EXAMPLES + 5):
        findings.violation(Check.PAGES, str(number))
        findings.note(Note.TORN, str(number))
    findings.skip("not here", Check.LEDGER)

    report = findings.report(running=False)

    [pages] = [check for check in report.checks if check.violations]
    assert (report.sound, report.violations, pages.name, pages.violations) == (False, 15, Check.PAGES, 15)
    assert pages.examples == tuple(map(str, range(MOST_EXAMPLES)))
    assert [(note.name, note.count, len(note.examples)) for note in report.notes] == [(Note.TORN, 15, MOST_EXAMPLES)]
    assert Check.LEDGER not in {check.name for check in report.checks}


def test_notes_alone_are_sound() -> None:
    findings = Findings()
    findings.note(Note.UNSETTLED, "a visit")

    assert findings.report(running=True).sound
