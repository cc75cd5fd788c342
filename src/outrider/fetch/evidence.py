"""What is kept of a visit, as plain values: one page record, and one piece of evidence for each claim in it (S1).

A redirect chain only when there were redirects (S1-19), an error only when there was one (S1-22). What was never asked
for leaves nothing behind: a URL that a skip rule refused has no record, and no evidence either (S1-29).
"""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from outrider.fetch.visit import Haul
from outrider.model.outcome import Failed, Fetched, Hop, Moved, NotModified, Skipped, Timing, Visit, first_value
from outrider.model.reason import Family, Reason
from outrider.model.record import (
    ChainStep,
    Confidence,
    Evidence,
    EvidenceContent,
    FetchError,
    FetchTiming,
    HttpHeaders,
    HttpResponse,
    Page,
    PageMetadata,
    PageStatus,
    RedirectChain,
    RobotsCheck,
)
from outrider.model.url import Url
from outrider.policy.confidence import confidence, robots_confidence
from outrider.policy.redirect import Follow, Leave, RedirectRules, next_hop
from outrider.policy.robots import Defer, disallowed_paths

_STATUS: Final = {
    Fetched: PageStatus.FETCHED,
    NotModified: PageStatus.NOT_MODIFIED,
    Moved: PageStatus.MOVED,
    Skipped: PageStatus.SKIPPED,
    Failed: PageStatus.FAILED,
}
_THOUSANDTHS: Final = tuple(f".{number:03}Z" for number in range(1_000))


def page_record(haul: Haul, scan_id: str = "") -> Page | None:
    """None for a URL that a rule of ours kept us from looking at (S1-29)."""
    visit, outcome = haul.visit, haul.visit.outcome
    if not _was_looked_at(visit):
        return None
    body = outcome.body if isinstance(outcome, Fetched) else None
    answer = last_answer(visit)
    reason = _reason(visit)
    took = 0.0
    for hop in visit.hops:
        took += hop.timing.total
    return Page(
        fetch_id=visit.id,
        scan_id=scan_id,
        url=str(visit.requested),
        status_code=_status_code(visit, answer),
        load_time=round(_milliseconds(took)),
        metadata=PageMetadata(
            status=_STATUS[type(outcome)],
            final_url=str(final_url(visit)),
            content_type=_content_type(visit, answer),
            content_length=body.length if body else 0,
            redirect_count=visit.redirects,
            robots_blocked=isinstance(outcome, Skipped) and reason is Reason.ROBOTS_DISALLOWED,
            confidence=confidence(outcome, visit.robots),
            skip_content_extraction=body is None,
            fetched_at=_iso(visit.ended_at),
            error=error_message(visit),
            reason=reason,
            content_hash=body.sha256 if body else None,
            attempts=_attempts(visit, answer),
            retries=sum(past.wait is not None for past in visit.tries) if visit.tries else 0,
            truncated=body.truncated if body else False,
            wire_length=body.wire_length if body else 0,
        ),
    )


def evidence(haul: Haul, agent: str) -> tuple[Evidence, ...]:
    """At most the six kinds, in the order in which they came about."""
    visit = haul.visit
    if not _was_looked_at(visit):
        return ()
    answer = last_answer(visit)
    found: list[EvidenceContent | None] = [
        _robots_check(haul, agent),
        _chain(visit),
        _response(visit, answer),
        HttpHeaders(answer.headers) if answer else None,
        _timing(visit, answer),
        _fetch_error(visit, answer),
    ]
    fetch_id, url = visit.id, str(visit.requested)
    return tuple([Evidence(fetch_id, url, content, _metadata(content)) for content in found if content is not None])


def final_url(visit: Visit) -> Url:
    """After all redirects (S1-9), also when there was no answer any more where the last one led."""
    if not visit.hops:
        return visit.requested
    last = visit.hops[-1]
    if last.location is None:
        return last.url
    step = next_hop(last.url, last.status, last.location, (), RedirectRules())
    return step.url if isinstance(step, Follow | Leave) else last.url


def status_code(visit: Visit) -> int:
    """Of the response that the visit ended with; 0 when there was none (S1-22, S1-29)."""
    return _status_code(visit, last_answer(visit))


def last_answer(visit: Visit) -> Hop | None:
    """The response that the visit ended with: not a redirect whose target gave no answer or was not asked."""
    if not visit.hops:
        return None
    last = visit.hops[-1]
    return last if last.location is None or isinstance(visit.outcome, Moved) else None


def error_message(visit: Visit) -> str | None:
    """Why there is no content: the reason, and what is known of it. None for a success and for a page that moved."""
    match visit.outcome:
        case Fetched() | NotModified() | Moved():
            return None
        case Failed(failure):
            return f"{failure.reason}: {failure.detail}" if failure.detail else str(failure.reason)
        case Skipped(reason, detail):
            return f"{reason}: {detail}" if detail else str(reason)


def _status_code(visit: Visit, answer: Hop | None) -> int:
    if isinstance(visit.outcome, Skipped):
        return visit.outcome.status or 0
    return answer.status if answer else 0


def _was_looked_at(visit: Visit) -> bool:
    if visit.hops:
        return True
    reason = _reason(visit)
    return reason is None or reason.family is not Family.ADMISSION


def _attempts(visit: Visit, answer: Hop | None) -> int:
    """Requests for the page and its hops, whatever came of them; those for robots.txt are not for the page (C19)."""
    if not visit.tries and answer is not None:
        return len(visit.hops)
    unanswered = sum(
        past.wait is not None or past.failure.status is None
        for past in visit.tries
        if past.failure.reason is not Reason.BLOCKED_ADDRESS
    )
    by_head = isinstance(visit.outcome, Skipped) and visit.outcome.status is not None and answer is None
    return len(visit.hops) + unanswered + by_head


def _robots_check(haul: Haul, agent: str) -> RobotsCheck | None:
    verdict = haul.visit.robots
    if verdict is None:
        # Nobody knows what the file says, and that is why the page was not asked for.
        unknown = haul.robots.verdict if haul.robots else None
        return RobotsCheck(False, Confidence.LOW, unknown.reason) if isinstance(unknown, Defer) else None
    rules = haul.robots.rules if haul.robots else None
    return RobotsCheck(
        allowed=verdict.allowed,
        confidence=robots_confidence(verdict),
        reason=verdict.reason,
        disallowed_paths=disallowed_paths(rules, agent) if rules else (),
        line=verdict.line,
        rule=verdict.rule,
        group=verdict.group,
        digest=verdict.digest,
    )


def _chain(visit: Visit) -> RedirectChain | None:
    """Kept as far as it went when a redirect was the end of it."""
    if not visit.redirects:
        reason = _reason(visit)
        if reason is None or reason.family is not Family.REDIRECT:
            return None
    return RedirectChain(tuple(map(_step, visit.hops)))


def _step(hop: Hop) -> ChainStep:
    return ChainStep(str(hop.url), hop.status, hop.location, hop.headers, _iso(hop.at), hop.address)


def _response(visit: Visit, answer: Hop | None) -> HttpResponse | None:
    status = _status_code(visit, answer)
    if not status and not isinstance(visit.outcome, Failed):
        return None
    body = visit.outcome.body if isinstance(visit.outcome, Fetched) else None
    return HttpResponse(
        status_code=status,
        final_url=str(final_url(visit)),
        content_type=_content_type(visit, answer),
        content_length=body.length if body else 0,
        redirect_count=visit.redirects,
        success=isinstance(visit.outcome, Fetched | NotModified),
        error=error_message(visit),
    )


def _timing(visit: Visit, answer: Hop | None) -> FetchTiming:
    last = answer.timing if answer else Timing()
    return FetchTiming(
        start_time=_iso(visit.started_at),
        end_time=_iso(visit.ended_at),
        duration=round(_milliseconds(visit.ended_at - visit.started_at)),
        dns=_milliseconds(last.dns),
        connect=_milliseconds(last.connect),
        tls=_milliseconds(last.tls),
        first_byte=_milliseconds(last.first_byte),
        total=_milliseconds(last.total),
    )


def _fetch_error(visit: Visit, answer: Hop | None) -> FetchError | None:
    if not isinstance(visit.outcome, Failed):
        return None
    return FetchError(
        message=error_message(visit) or "",
        error_type="fetch_error",
        status_code=_status_code(visit, answer),
        reason=visit.outcome.failure.reason,
    )


def _metadata(content: EvidenceContent) -> dict[str, str | int | float | bool | None]:
    """The fields that S1-17 to S1-22 want beside the content, to filter by."""
    match content:
        case HttpResponse():
            return {
                "statusCode": content.status_code,
                "finalUrl": content.final_url,
                "contentType": content.content_type,
                "contentLength": content.content_length,
                "redirectCount": content.redirect_count,
                "success": content.success,
            }
        case HttpHeaders():
            headers = content.headers
            return {
                "headerCount": len(headers),
                "contentType": first_value(headers, "content-type"),
                "server": first_value(headers, "server"),
            }
        case RedirectChain():
            steps = content.steps
            return {"count": sum(step.location is not None for step in steps), "finalUrl": steps[-1].url}
        case RobotsCheck():
            return {"allowed": content.allowed, "confidence": content.confidence, "reason": content.reason}
        case FetchTiming():
            return {"startTime": content.start_time, "endTime": content.end_time, "duration": content.duration}
        case FetchError():
            return {"errorType": content.error_type, "statusCode": content.status_code}


def _reason(visit: Visit) -> Reason | None:
    match visit.outcome:
        case Fetched() | NotModified() | Moved():
            return None
        case Failed(failure):
            return failure.reason
        case Skipped(reason):
            return reason


def _content_type(visit: Visit, answer: Hop | None) -> str | None:
    """As the server said it, else what the content looks like."""
    said = first_value(answer.headers, "content-type") if answer else None
    if said is None and isinstance(visit.outcome, Fetched):
        return visit.outcome.body.content_type
    return said


def _milliseconds(seconds: float) -> float:
    """To the microsecond, as a whole number of those: rounding to digits goes by way of a text."""
    return round(seconds * 1_000_000) / 1_000 if seconds > 0 else 0.0


def _iso(at: float) -> str:
    # By the microsecond, because 1.001 is a little less than that in binary.
    second, thousandth = divmod(round(at * 1_000_000) // 1_000, 1_000)
    return _iso_second(second) + _THOUSANDTHS[thousandth]


@lru_cache(maxsize=256)
def _iso_second(at: int) -> str:
    """Thousands of visits share a second, and a date takes a while to write."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
