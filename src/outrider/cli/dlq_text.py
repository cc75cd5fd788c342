"""Dead letters as a person reads them: counts, a line a letter, or one in full. What came from the web is made visible.

A visit is told by `why_visits`.
"""

import shlex
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, TypeAlias

from rich.cells import cell_len
from rich.text import Text

from outrider.cli.terminal import GAP, hanging, shortened
from outrider.cli.why_visits import visit_rows
from outrider.model.reason import Reason
from outrider.model.record import HttpHeaders, Record
from outrider.observe.words import counted, moment, visible
from outrider.ops.dead_letters import Count, Letter
from outrider.ops.meaning import meaning
from outrider.ops.story import Story

Row: TypeAlias = tuple[str, Text]

_MOST_REASONS: Final = 20
_MOST_SITES: Final = 10
_MOST_HEADERS: Final = 30
_COUNT: Final = 9
_WHEN: Final = 16
_CODE: Final = 4
_WIDEST_REASON: Final = 24
_LABEL: Final = 12


def count_lines(count: Count, width: int) -> Iterator[Text]:
    sites = f" of {counted(len(count.by_site), 'site')}" if count.total else ""
    yield Text(f"{counted(count.total, 'dead letter')}{sites}", "bold")
    if count.undated:
        left_out = f"{count.undated:,} left out: when they were last visited is not on record"
        yield from hanging(Text(), Text(left_out, "yellow"), 0, width)
    if not count.total:
        return
    yield Text()
    yield from _counted("reason", count.by_reason, _MOST_REASONS, width)
    yield Text()
    yield from _counted("site", count.by_site, _MOST_SITES, width)


def _counted(what: str, counts: Counter[str], most: int, width: int) -> Iterator[Text]:
    yield Text(f"{'COUNT':>{_COUNT}}{GAP}{what.upper()}", "bold")
    indent = _COUNT + len(GAP)
    for name, n in counts.most_common(most):
        told = f"{name}: {meaning(Reason(name))}" if name in set(Reason) else name
        yield Text(f"{n:>{_COUNT},}{GAP}{shortened(told, width - indent)}")
    if len(counts) > most:
        yield Text(f"{'':>{indent}}and {counted(len(counts) - most, f'more {what}')}", "dim")


def lines_of(count: Count, width: int) -> Iterator[Text]:
    if not count.first:
        return
    reason = min(max(len(letter.reason) for letter in count.first), _WIDEST_REASON)
    rest = width - _WHEN - _CODE - reason - 3 * len(GAP)
    yield Text()
    yield Text(GAP.join((f"{'LAST VISIT':<{_WHEN}}", "CODE", f"{'REASON':<{reason}}", "URL")), "bold")
    for letter in count.first:
        code = str(letter.status) if letter.status else "-"
        shown = shortened(letter.reason, reason)
        padded = shown + " " * (reason - cell_len(shown))
        parts = (f"{_when(letter.last_at):<{_WHEN}}", code.rjust(_CODE), padded, shortened(letter.url, rest))
        yield Text(GAP.join(parts))
    more = count.total - len(count.first)
    if more > 0:
        yield Text(f"and {more:,} more; --limit shows more of them, --json all", "dim")


def in_full(letter: Letter, story: Story, width: int, *, has_records: bool, is_next: bool) -> Iterator[Text]:
    if is_next:
        yield from (Text(), Text("━" * width, "dim"), Text())
    yield from hanging(Text(), Text(visible(letter.url), "bold red"), 0, width)
    yield from _rows(_about(letter), width)
    yield Text()
    yield Text("Last visit", "bold")
    number = len(story.visits)
    visits = [(n, one) for n, one in enumerate(story.visits, 1) if one.page and one.page.fetch_id == letter.fetch_id]
    if visits:
        number, record = visits[-1]
        yield from _rows([*visit_rows(number, record, story), *_headers(record)], width)
    else:
        nothing = "none is on record" if has_records else "no records are at hand; --records URL names them"
        yield from _rows([("", Text(nothing))], width)


def outcome(
    name: str, done: str, meant: str, found: int, count: int, home: str | None, *, dry_run: bool
) -> Iterator[str]:
    yield ""
    if dry_run:
        yield f"{found:,} would be {done}: {meant}; nothing was changed"
        return
    yield f"{count:,} {done}: {meant}"
    if count < found:
        yield f"{found - count:,} not: somebody else was quicker, or the site has too much to do already; look again"
    if count and home is not None and name == "replay":
        yield f"a crawl that runs there visits them; else outrider crawl -d {shlex.quote(visible(home))} does"


def _about(letter: Letter) -> Iterator[Row]:
    yield "site", Text(visible(letter.site))
    yield "reason", Text(f"{letter.reason}: {meaning(letter.reason)}", "yellow")
    if letter.detail:
        yield "detail", Text(visible(letter.detail))
    if letter.status is not None:
        yield "status", Text(f"HTTP {letter.status}")
    yield "tried", Text(f"{counted(letter.visits, 'visit')} counted against it")
    yield "last", Text("not on record" if letter.last_at is None else moment(letter.last_at))
    if letter.origin:
        depth = f", at depth {letter.depth}" if letter.depth else ""
        yield "found as", Text(f"{letter.origin}{depth}")
    if letter.parent is not None:
        yield "on", Text(visible(letter.parent))
    yield "replay", Text(visible(f"outrider dlq replay --url {shlex.quote(letter.url)}"))


def _headers(record: Record) -> Iterator[Row]:
    found = next((one.content for one in record.evidence if isinstance(one.content, HttpHeaders)), None)
    if found is None:
        return
    for number, (name, value) in enumerate(found.headers[:_MOST_HEADERS]):
        yield "headers" if number == 0 else "", Text(visible(f"{name}: {value}"), "dim")
    if len(found.headers) > _MOST_HEADERS:
        yield "", Text(f"and {len(found.headers) - _MOST_HEADERS:,} more; --json has them all", "dim")


def _rows(rows: "Iterator[Row] | list[Row]", width: int) -> Iterator[Text]:
    for label, value in rows:
        yield from hanging(Text(f"{GAP}{label}", "dim"), value, len(GAP) + _LABEL, width)


def _when(at: float | None) -> str:
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
