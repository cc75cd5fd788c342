"""One visit on record, told to a person: when, by which hops, with how many tries, and what came of it."""

from collections.abc import Iterator
from typing import Final, TypeAlias, TypeVar

from rich.text import Text

from outrider.cli.timeline import digest_shown
from outrider.cli.verdict import status_named
from outrider.model.event import RequestRetried
from outrider.model.reason import Reason
from outrider.model.record import (
    EvidenceContent,
    FetchTiming,
    Page,
    PageStatus,
    Record,
    RedirectChain,
    RobotsCheck,
)
from outrider.observe.words import counted, duration, size, visible
from outrider.ops.ancestry import instant
from outrider.ops.meaning import meaning
from outrider.ops.story import Story

Row: TypeAlias = tuple[str, Text]
T = TypeVar("T", bound=EvidenceContent)

_MOST_HOPS: Final = 20
_STYLES: Final = {PageStatus.FAILED: "red", PageStatus.SKIPPED: "yellow"}
_PHASES: Final = ("dns", "connect", "tls", "first byte", "body")


def visit_rows(number: int, record: Record, story: Story) -> Iterator[Row]:
    page = record.page
    if page is None:
        return
    data = page.metadata
    style = _STYLES.get(data.status, "green")
    yield f"{number}.", Text.assemble(visible(data.fetched_at), "  ", (_outcome(page), style))
    if page.url != story.url:
        yield "asked for", Text(visible(page.url))
    chain = _first(record, RedirectChain)
    if chain is not None:
        yield from _hops(chain, data.final_url)
    elif data.final_url != page.url:
        yield "ended at", Text(visible(data.final_url))
    yield from _requests(page, record, story.retries)
    if data.error and data.error != data.reason:
        yield "error", Text(visible(data.error), style)
    if data.reason in set(Reason):
        yield "means", Text(meaning(Reason(data.reason)))
    yield from _content(page)
    yield "confidence", Text(data.confidence)
    timing = _first(record, FetchTiming)
    if timing is not None:
        yield "took", Text(_took(timing))
    yield "record", Text(visible(page.fetch_id), "dim")


def robots_rows(story: Story) -> Iterator[Row]:
    """What robots.txt said at the last visit, and what the copy that is kept says, when that is another."""
    checks = [check for record in story.visits if (check := _first(record, RobotsCheck)) is not None]
    if checks:
        check = checks[-1]
        yield "robots.txt", Text(visible(check.reason), "" if check.allowed else "yellow")
        if check.group:
            yield "", Text(f"group: user-agent {visible(check.group)}", "dim")
        if check.digest:
            yield "", Text(f"the file's sha256 was {visible(digest_shown(check.digest))}", "dim")
    now = story.robots
    said = None if now is None else now.verdict
    if checks and said is not None and (said.allowed, said.line) != (checks[-1].allowed, checks[-1].line):
        yield "by now", Text(visible(said.reason), "" if said.allowed else "yellow")


def _first(record: Record, kind: type[T]) -> T | None:
    return next((one.content for one in record.evidence if isinstance(one.content, kind)), None)


def _outcome(page: Page) -> str:
    data = page.metadata
    named = data.status.value.replace("_", " ")
    code = f", HTTP {status_named(page.status_code)}" if page.status_code else ""
    reason = f": {visible(data.reason)}" if data.reason else ""
    return f"{named}{reason}{code}"


def _hops(chain: RedirectChain, final: str) -> Iterator[Row]:
    for number, step in enumerate(chain.steps[:_MOST_HOPS]):
        address = f"  {visible(step.address)}" if step.address else ""
        yield "hops" if number == 0 else "", Text(visible(f"{step.status_code}  {step.url}") + address)
    if len(chain.steps) > _MOST_HOPS:
        yield "", Text(f"and {len(chain.steps) - _MOST_HOPS:,} more; --json has them all", "dim")
    if chain.steps and chain.steps[-1].location is not None:
        yield "", Text(visible(f"→    {final}"))


def _requests(page: Page, record: Record, retries: tuple[RequestRetried, ...]) -> Iterator[Row]:
    data = page.metadata
    if not data.attempts and not data.retries:
        return
    again = f", {data.retries:,} of them repeated one that had failed" if data.retries else ""
    yield "requests", Text(f"{counted(data.attempts, 'request')}{again}")
    if not data.retries:
        return
    ours = [event for event in retries if _is_of(event, record)]
    for event in ours[:_MOST_HOPS]:
        yield "", Text(visible(f"{event.reason}: tried again after {duration(event.wait)}"), "dim")
    if not ours:
        yield "", Text("why is in the events of the crawl, of which none is at hand", "dim")


def _is_of(event: RequestRetried, record: Record) -> bool:
    """Between the beginning and the end of the visit, both of which are on record to the millisecond."""
    timing = _first(record, FetchTiming)
    if timing is None:
        return False
    start, end = instant(timing.start_time), instant(timing.end_time)
    return start is not None and end is not None and start - 0.001 <= event.at <= end + 0.001


def _content(page: Page) -> Iterator[Row]:
    data = page.metadata
    if data.content_length or data.content_hash:
        kind = f", {visible(data.content_type)}" if data.content_type else ""
        cut = ", cut off at the limit" if data.truncated else ""
        yield "content", Text(f"{size(data.content_length)}{kind}{cut}")
    if data.content_hash:
        yield "", Text(f"sha256 {visible(digest_shown(data.content_hash))}", "dim")
    if data.title:
        yield "title", Text(visible(data.title))
    if data.canonical and data.canonical != data.final_url:
        yield "canonical", Text(visible(data.canonical))
    if data.directives:
        yield "asks", Text(visible(", ".join(data.directives)))
    if data.content_key:
        yield "kept as", Text(visible(data.content_key))


def _took(timing: FetchTiming) -> str:
    """The whole visit, waits included; then the phases of its last answer, each by itself."""
    ends = (timing.dns, timing.connect, timing.tls, timing.first_byte, timing.total)
    told, start = [], 0.0
    for name, end in zip(_PHASES, ends, strict=True):
        if end - start >= 0.05:
            told.append(f"{name} {end - start:,.1f}")
        start = max(start, end)
    phases = f"; the last answer: {', '.join(told)} ms" if told else ""
    return f"{timing.duration:,} ms{phases}"
