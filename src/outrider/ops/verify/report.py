"""What was checked, and what was found? Every check has a name, counts, and a few examples of what is wrong.

Names are added, never renamed: programs read them.
"""

from collections import Counter
from enum import StrEnum
from typing import Final

from msgspec import Struct

MOST_EXAMPLES: Final = 10


class Check(StrEnum):
    """In the order in which they are shown."""

    WARC_RECORDS = "warc_records"
    PAYLOADS = "payload_digests"
    CAPTURES = "captures"
    INDEX_LINES = "index_lines"
    LISTED = "listed"
    PAGES = "pages"
    CONTENTS = "content_hashes"
    RECORDED = "recorded"
    EVENT_LINES = "event_lines"
    TOLD = "told"
    EVENTS = "events"
    TALLY = "tally"
    LEDGER = "ledger"

    @property
    def about(self) -> str:
        return _ABOUT[self]


_ABOUT: Final = {
    Check.WARC_RECORDS: "gzip members whole, lengths right",
    Check.PAYLOADS: "bodies as sent, hashed again",
    Check.CAPTURES: "request and metadata beside each answer",
    Check.INDEX_LINES: "each leads to the answer that it names",
    Check.LISTED: "each settled answer is in the index, once",
    Check.PAGES: "each has its answer, and they agree",
    Check.CONTENTS: "bodies decoded and hashed again",
    Check.RECORDED: "each listed answer has its page",
    Check.EVENT_LINES: "each can be read",
    Check.TOLD: "each fetched page has its event",
    Check.EVENTS: "each tells of a page on record",
    Check.TALLY: "sums of the records, counted again",
    Check.LEDGER: "it adds up, and agrees with the pages",
}


class Note(StrEnum):
    """What is worth knowing and no violation: kills leave such things, and so does a crawl that runs."""

    UNSETTLED = "unsettled"
    TORN = "torn_ends"
    LEFT_OVER = "left_over"
    VISITED_TWICE = "visited_twice"
    TOLD_TWICE = "told_twice"

    @property
    def about(self) -> str:
        return _NOTED[self]


_NOTED: Final = {
    Note.UNSETTLED: "visits that are not settled yet, in files that are still open",
    Note.TORN: "ends of files, half written: cut off when the crawl goes on",
    Note.LEFT_OVER: "answers that no index lists: their visits were killed, and are owed or made again",
    Note.VISITED_TWICE: "listed answers of visits that were made again",
    Note.TOLD_TWICE: "events of visits that were told of again after a kill",
}


class Finding(Struct, frozen=True):
    """One check: how many things were looked at, how many of them are wrong, and the first of those."""

    name: Check
    about: str
    checked: int
    violations: int
    examples: tuple[str, ...]


class Remark(Struct, frozen=True):
    name: Note
    about: str
    count: int
    examples: tuple[str, ...]


class Report(Struct, frozen=True):
    """`sound`: no violation. `running` is None when it may be, on another machine. `skipped`: why, in a sentence."""

    sound: bool
    violations: int
    running: bool | None
    checks: tuple[Finding, ...]
    notes: tuple[Remark, ...]
    skipped: tuple[str, ...]


class Findings:
    """Gathers what the checks find."""

    def __init__(self) -> None:
        self._checked: Counter[Check] = Counter()
        self._violations: Counter[Check] = Counter()
        self._noted: Counter[Note] = Counter()
        self._examples: dict[Check | Note, list[str]] = {}
        self._skipped: dict[str, list[Check]] = {}

    def checked(self, check: Check, count: int = 1) -> None:
        self._checked[check] += count

    def violation(self, check: Check, sentence: str) -> None:
        self._violations[check] += 1
        self._example(check, sentence)

    def note(self, note: Note, sentence: str) -> None:
        self._noted[note] += 1
        self._example(note, sentence)

    def skip(self, sentence: str, *checks: Check) -> None:
        self._skipped[sentence] = list(checks)

    def report(self, *, running: bool | None) -> Report:
        left_out = {check for checks in self._skipped.values() for check in checks}
        checks = tuple(
            Finding(check, check.about, self._checked[check], self._violations[check], self._of(check))
            for check in Check
            if check not in left_out
        )
        notes = tuple(Remark(note, note.about, self._noted[note], self._of(note)) for note in Note if self._noted[note])
        violations = self._violations.total()
        return Report(violations == 0, violations, running, checks, notes, tuple(self._skipped))

    def _example(self, of: Check | Note, sentence: str) -> None:
        examples = self._examples.setdefault(of, [])
        if len(examples) < MOST_EXAMPLES:
            examples.append(sentence)

    def _of(self, one: Check | Note) -> tuple[str, ...]:
        return tuple(self._examples.get(one, ()))
