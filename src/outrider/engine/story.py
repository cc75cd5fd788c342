"""A settled visit, told for everybody who listens: its record, what the archive gets, its events. Pure."""

from hashlib import blake2b
from typing import Final

from msgspec.structs import replace

from outrider.engine.gate import Found
from outrider.fetch.evidence import evidence, page_record
from outrider.fetch.sent import RequestHeads
from outrider.fetch.visit import Haul
from outrider.model.capture import Capture, Unchanged
from outrider.model.event import (
    Event,
    PageFailed,
    PageFetched,
    PageMoved,
    PageSkipped,
    PageUnchanged,
    RequestRetried,
    SiteCameBack,
    SiteSetAside,
    SiteSlowedDown,
    SiteWentDown,
    UrlDied,
)
from outrider.model.outcome import Failed, Fetched, Moved, NotModified, Skipped, Visit
from outrider.model.reason import Reason
from outrider.model.record import Record
from outrider.model.settlement import Dead, Later, Settlement
from outrider.model.site import BreakerState, Site
from outrider.model.task import Task

_MOST_NUMBERED: Final = (1 << 24) - 1


def fetch_id(task: Task, secret: int) -> str:
    """Which owed visit is this? A visit that is repeated after a crash has the same name, so its record is one (C19).

    Every settlement changes one of these numbers, and nothing else does. The first digits are the task's number in its
    site: visits of one time are about as far on their sites, so their names lie close together in an index.
    """
    counts = task.sequence, task.visits, task.deferrals, task.visited_at, task.changes.gone
    owed = "\n".join(map(str, (task.url, *counts)))
    digits = blake2b(owed.encode(), digest_size=9, key=secret.to_bytes(8, signed=True)).hexdigest()
    return f"{task.sequence & _MOST_NUMBERED:06x}{digits}"


def capture_of(task: Task, haul: Haul, heads: RequestHeads, *, decoded: bool = False) -> Capture | None:
    """The answer that the visit ended with, as the archive wants it; None when there was none.

    `decoded`: the store wants the content too, not only the bytes as sent.
    """
    visit, response = haul.visit, haul.response
    if response is None or not visit.hops:
        return None
    last = visit.hops[-1]
    outcome = visit.outcome
    unchanged: Unchanged | None = None
    payload: str | None = None
    truncated = not response.complete
    if isinstance(outcome, NotModified):
        unchanged = Unchanged.NOT_MODIFIED
    elif isinstance(outcome, Fetched):
        truncated = outcome.body.truncated
        if not outcome.body.encodings and not truncated:
            payload = outcome.body.sha256
        if task.content_sha256 is not None and task.content_sha256 == outcome.body.sha256:
            unchanged = Unchanged.SAME_CONTENT
    return Capture(
        fetch_id=visit.id,
        url=last.url,
        at=last.at,
        status=response.status,
        headers=response.headers,
        body=response.body,
        # Conditions are for the URL that was asked for, never for where a redirect leads.
        request=heads.of(last.url, task.validators if len(visit.hops) == 1 else None),
        http_version=response.http_version,
        address=response.address,
        payload_sha256=payload,
        truncated=truncated,
        chain=(*task.via, *visit.hops[:-1]),
        unchanged=unchanged,
        earlier_at=task.visited_at if unchanged else None,
        asked=None if last.url == task.url else task.url,
        content=haul.content if decoded else None,
    )


def record_of(task: Task, haul: Haul, found: Found, agent: str, key: str | None) -> Record:
    page = page_record(haul)
    if page is not None:
        facts = found.facts
        metadata = replace(
            page.metadata,
            content_key=key,
            depth=task.depth,
            origin=task.origin.value,
            parent=None if task.parent is None else str(task.parent),
            title=facts.title,
            canonical=None if facts.canonical is None else str(facts.canonical),
            directives=tuple(sorted(found.directives)) if found.directives else (),
            links=found.links,
        )
        page = replace(page, metadata=metadata)
    return Record(page, evidence(haul, agent), tuple(found.decisions))


def events_of(
    task: Task, visit: Visit, settlement: Settlement, site: str, record: Record, directives: frozenset[str]
) -> list[Event]:
    """What happened to the URL, with key and moment as its record has them."""
    at, url, outcome, name = visit.ended_at, task.url, visit.outcome, visit.id
    about = record.page.metadata if record.page else None
    events: list[Event] = [
        RequestRetried(at=past.at, url=past.url, site=site, reason=past.failure.reason, wait=past.wait)
        for past in visit.tries
        if past.wait is not None
    ]
    match outcome:
        case Fetched(found_at, status, body):
            events.append(
                PageFetched(
                    at=at,
                    url=url,
                    requested_url=task.via[0].url if task.via else url,
                    final_url=found_at,
                    site=site,
                    status_code=status,
                    content_type=body.content_type,
                    content_length=body.length,
                    content_hash=body.sha256,
                    fetched_at=about.fetched_at if about else "",
                    cache_key=(about and about.content_key) or "",
                    fetch_id=name,
                    depth=task.depth,
                    origin=task.origin.value,
                    directives=tuple(sorted(directives)),
                    charset=body.charset,
                )
            )
        case NotModified():
            events.append(PageUnchanged(at=at, url=url, site=site, fetch_id=name))
        case Moved(to):
            events.append(PageMoved(at=at, url=url, site=site, to=to, fetch_id=name))
        case Skipped(reason, detail):
            events.append(PageSkipped(at=at, url=url, site=site, reason=reason, detail=detail, fetch_id=name))
        case Failed(failure):
            due_at = settlement.due_at if isinstance(settlement, Later) else None
            events.append(
                PageFailed(
                    at=at,
                    url=url,
                    site=site,
                    reason=failure.reason,
                    status=failure.status,
                    due_at=due_at,
                    detail=failure.detail,
                    scope=failure.scope,
                    fetch_id=name,
                )
            )
    if isinstance(settlement, Dead):
        events.append(
            UrlDied(
                at=at,
                url=url,
                site=site,
                reason=settlement.reason,
                visits=settlement.visits,
                status=settlement.status,
                detail=settlement.detail or (outcome.failure.detail if isinstance(outcome, Failed) else ""),
                fetch_id=name,
            )
        )
    return events


def site_events(before: Site, after: Site, visit: Visit) -> list[Event]:
    """What the visit (or probe) changed for the site."""
    if before.breaker is after.breaker and before.pace is after.pace and before.set_aside == after.set_aside:
        return []
    at = visit.ended_at
    events: list[Event] = []
    reason = visit.outcome.failure.reason if isinstance(visit.outcome, Failed) else Reason.SITE_UNREACHABLE
    opened = after.breaker.state is BreakerState.OPEN and after.breaker.openings > before.breaker.openings
    if opened:
        events.append(
            SiteWentDown(
                at=at,
                site=after.key,
                reason=reason,
                probe_at=after.breaker.probe_at,
                openings=after.breaker.openings,
            )
        )
    elif after.breaker.state is BreakerState.CLOSED and before.breaker.openings:
        down_since = before.breaker.down_since or at
        events.append(SiteCameBack(at=at, site=after.key, down_since=down_since))
    if after.pace.interval > before.pace.interval and isinstance(visit.outcome, Failed):
        slowed = SiteSlowedDown(at=at, site=after.key, interval=after.pace.interval, not_before=after.not_before)
        events.append(slowed)
    if after.set_aside and not before.set_aside:
        down_since = after.breaker.down_since or at
        events.append(SiteSetAside(at=at, site=after.key, reason=reason, down_since=down_since))
    return events
