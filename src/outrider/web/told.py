"""The story of one URL as a page tells it: its timeline in order, and every visit with its chain. Pure."""

from collections.abc import Iterator
from typing import Final, TypeVar

from outrider.model.ledger import State
from outrider.model.record import (
    EvidenceContent,
    FetchTiming,
    HttpHeaders,
    Page,
    PageStatus,
    Record,
    RedirectChain,
    RobotsCheck,
)
from outrider.observe.words import duration
from outrider.ops.ancestry import instant
from outrider.ops.story import Discovery, Prospect, RobotsNow, Story
from outrider.web.rows import meaning_of
from outrider.web.shapes import RobotsShown, SiteRow
from outrider.web.story_shapes import Moment, Phase, Step, StoryShown, VisitShown

T = TypeVar("T", bound=EvidenceContent)

_PHASES: Final = ("dns", "connect", "tls", "first_byte", "total")
_WORDS: Final = {
    PageStatus.FETCHED: "fetched",
    PageStatus.NOT_MODIFIED: "had not changed",
    PageStatus.MOVED: "moved to another site",
    PageStatus.SKIPPED: "skipped",
    PageStatus.FAILED: "failed",
}
_NEXT: Final = {
    Prospect.DUE: "it is due now",
    Prospect.UNDER_WAY: "a worker has its site now",
    Prospect.LATER: "to be visited",
    Prospect.BLOCKED: "not to be visited until somebody acts",
    Prospect.NEVER: "not to be visited again",
    Prospect.UNPROPOSED: "never proposed",
}


def story_shown(story: Story, site: SiteRow, *, can_act: bool, has_records: bool) -> StoryShown:
    standing = story.standing
    return StoryShown(
        url=str(story.url),
        at=story.at,
        site=site,
        standing=standing,
        outlook=story.outlook,
        can_act=can_act,
        is_letter=standing.state is State.DEAD,
        meaning=meaning_of(standing.reason),
        has_records=has_records,
        discovery=story.discovery,
        decisions=story.decisions,
        visits=tuple(visit for record in story.visits for visit in _visits(record)),
        timeline=timeline(story),
        rulings=story.rulings,
        robots=None if story.robots is None else _robots(story.robots),
        other=None if standing.of is None else str(standing.of),
    )


def timeline(story: Story) -> tuple[Moment, ...]:
    """Oldest first; what nobody knows the time of keeps its place in the story; what comes next is last."""
    past = [
        *_discovered(story.discovery),
        *(
            Moment("refused", f"refused by {one.by}: {one.reason}", one.at, f"{one.rule}: {one.evidence}", True)
            for one in story.decisions
        ),
        *(
            Moment("retried", f"{event.reason}: tried again after {duration(event.wait)}", event.at, str(event.url))
            for event in story.retries
        ),
        *(_visited(record.page, story) for record in story.visits if record.page is not None),
    ]
    past.sort(key=lambda moment: float("-inf") if moment.at is None else moment.at)
    standing = story.standing
    state = "never proposed" if standing.state is None else standing.state.value
    reason = f": {standing.reason}" if standing.reason is not None else ""
    now = Moment("now", f"{state}{reason}", story.at, standing.detail, standing.state is State.DEAD)
    ahead = story.outlook
    to_come = Moment("next", _NEXT[ahead.prospect], ahead.at, "; ".join(ahead.because))
    return (*past, now, to_come)


def _discovered(discovery: Discovery | None) -> Iterator[Moment]:
    if discovery is None:
        return
    text = f"discovered as {discovery.origin}" if discovery.origin else "discovered"
    where = f"on {discovery.parent}" if discovery.parent is not None else ""
    yield Moment("discovered", text, None if discovery.at is None else instant(discovery.at), where)


def _visited(page: Page, story: Story) -> Moment:
    data = page.metadata
    code = f", HTTP {page.status_code}" if page.status_code else ""
    reason = f": {data.reason}" if data.reason else ""
    asked = f"asked for as {page.url}" if page.url != story.url else ""
    led = f"ended at {data.final_url}" if data.final_url not in {page.url, story.url} else ""
    return Moment(
        kind="visited",
        text=f"{_WORDS[data.status]}{reason}{code}",
        at=instant(data.fetched_at),
        detail="; ".join(filter(None, (asked, led, data.error if data.error != data.reason else None))),
        is_trouble=data.status is PageStatus.FAILED,
    )


def _visits(record: Record) -> Iterator[VisitShown]:
    page = record.page
    if page is None:
        return
    data = page.metadata
    timing = _first(record, FetchTiming)
    chain = _first(record, RedirectChain)
    check = _first(record, RobotsCheck)
    headers = _first(record, HttpHeaders)
    yield VisitShown(
        fetch_id=page.fetch_id,
        asked_for=page.url,
        status=data.status.value,
        status_code=page.status_code,
        final_url=data.final_url,
        at=instant(data.fetched_at),
        seconds=(page.load_time if timing is None else timing.duration) / 1000,
        reason=data.reason,
        meaning=meaning_of(data.reason),
        error=data.error,
        content_type=data.content_type,
        content_length=data.content_length,
        content_hash=data.content_hash,
        title=data.title,
        canonical=data.canonical,
        directives=data.directives,
        links=data.links,
        attempts=data.attempts,
        retries=data.retries,
        truncated=data.truncated,
        confidence=data.confidence.value,
        content_key=data.content_key,
        robots="" if check is None else check.reason,
        chain=() if chain is None else tuple(_steps(chain)),
        phases=() if timing is None else tuple(_phases(timing)),
        headers=() if headers is None else headers.headers,
    )


def _steps(chain: RedirectChain) -> Iterator[Step]:
    for step in chain.steps:
        yield Step(step.url, step.status_code, step.location, instant(step.at), step.address)


def _phases(timing: FetchTiming) -> Iterator[Phase]:
    """Those that took place, as seconds; each begins where the one before ended."""
    start = 0.0
    for name in _PHASES:
        end = getattr(timing, name) / 1000
        if end > start:
            yield Phase("body" if name == "total" else name, start, end)
            start = end


def _first(record: Record, kind: type[T]) -> T | None:
    return next((one.content for one in record.evidence if isinstance(one.content, kind)), None)


def _robots(now: RobotsNow) -> RobotsShown:
    verdict = now.verdict
    return RobotsShown(
        origin=now.origin,
        status=now.status.value,
        fetched_at=now.fetched_at,
        expires_at=now.expires_at,
        http_status=now.http_status,
        verdict="" if verdict is None else verdict.reason,
        allowed=None if verdict is None else verdict.allowed,
    )
