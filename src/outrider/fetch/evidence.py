"""What is kept of a visit, as plain values: one page record, and one piece of evidence for each claim in it (S1).

A redirect chain only when there were redirects (S1-19), an error only when there was one (S1-22).
"""

from datetime import UTC, datetime
from typing import Final

from outrider.fetch.visit import Haul
from outrider.model.outcome import Failed, Fetched, Hop, Moved, NotModified, Skipped, Timing, Visit
from outrider.model.reason import Family, Reason
from outrider.model.record import (
    ChainStep,
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
from outrider.policy.confidence import confidence, robots_confidence
from outrider.policy.robots import disallowed_paths

_STATUS: Final = {
    Fetched: PageStatus.FETCHED,
    NotModified: PageStatus.NOT_MODIFIED,
    Moved: PageStatus.MOVED,
    Skipped: PageStatus.SKIPPED,
    Failed: PageStatus.FAILED,
}
_NO_RECORD: Final = frozenset({Reason.SKIP_PATTERN, Reason.NON_TEXT_EXTENSION})


def page_record(haul: Haul, scan_id: str = "") -> Page | None:
    """None for a URL that a skip pattern kept us from looking at (S1-29)."""
    visit, outcome = haul.visit, haul.visit.outcome
    if isinstance(outcome, Skipped) and outcome.reason in _NO_RECORD:
        return None
    body = outcome.body if isinstance(outcome, Fetched) else None
    blocked = isinstance(outcome, Skipped) and outcome.reason is Reason.ROBOTS_DISALLOWED
    return Page(
        fetch_id=visit.id,
        scan_id=scan_id,
        url=str(visit.requested),
        status_code=_status_code(visit),
        load_time=_milliseconds(visit.ended_at - visit.started_at),
        metadata=PageMetadata(
            status=_STATUS[type(outcome)],
            final_url=str(visit.final_url),
            content_type=body.content_type if body else _header(visit, "content-type"),
            content_length=body.length if body else 0,
            redirect_count=visit.redirects,
            robots_blocked=blocked,
            confidence=confidence(outcome, visit.robots),
            skip_content_extraction=body is None,
            fetched_at=_iso(visit.ended_at),
            error=_error(visit),
            reason=_reason(visit),
            content_hash=body.sha256 if body else None,
            attempts=visit.requests,
            retries=sum(past.wait is not None for past in visit.tries),
            truncated=body.truncated if body else False,
        ),
    )


def evidence(haul: Haul, agent: str) -> tuple[Evidence, ...]:
    """At most the six kinds, in the order in which they came about."""
    visit = haul.visit
    found: list[EvidenceContent | None] = [
        _robots_check(haul, agent),
        _chain(visit),
        _response(visit),
        HttpHeaders(visit.hops[-1].headers) if visit.hops else None,
        _timing(visit),
        _fetch_error(visit),
    ]
    return tuple(
        Evidence(visit.id, str(visit.requested), content, _metadata(content))
        for content in found
        if content is not None
    )


def _robots_check(haul: Haul, agent: str) -> RobotsCheck | None:
    verdict = haul.visit.robots
    if verdict is None:
        return None
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
    return RedirectChain(tuple(map(_step, visit.hops))) if visit.redirects else None


def _step(hop: Hop) -> ChainStep:
    return ChainStep(str(hop.url), hop.status, hop.location, hop.headers, _iso(hop.at), hop.address)


def _response(visit: Visit) -> HttpResponse | None:
    if not visit.hops and not isinstance(visit.outcome, Failed):
        return None
    body = visit.outcome.body if isinstance(visit.outcome, Fetched) else None
    return HttpResponse(
        status_code=_status_code(visit),
        final_url=str(visit.final_url),
        content_type=body.content_type if body else _header(visit, "content-type"),
        content_length=body.length if body else 0,
        redirect_count=visit.redirects,
        success=isinstance(visit.outcome, Fetched | NotModified),
        error=_error(visit),
    )


def _timing(visit: Visit) -> FetchTiming:
    last = visit.hops[-1].timing if visit.hops else Timing()
    return FetchTiming(
        start_time=_iso(visit.started_at),
        end_time=_iso(visit.ended_at),
        duration=_milliseconds(visit.ended_at - visit.started_at),
        dns=last.dns,
        connect=last.connect,
        tls=last.tls,
        first_byte=last.first_byte,
        total=last.total,
    )


def _fetch_error(visit: Visit) -> FetchError | None:
    if not isinstance(visit.outcome, Failed):
        return None
    failure = visit.outcome.failure
    network = failure.reason.family is Family.NETWORK
    return FetchError(
        message=_error(visit) or "",
        error_type="fetch_error",
        status_code=0 if network else failure.status or 0,
        reason=failure.reason,
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
        case HttpHeaders(headers):
            named = {name.lower(): value for name, value in reversed(headers)}
            return {
                "headerCount": len(headers),
                "contentType": named.get("content-type"),
                "server": named.get("server"),
            }
        case RedirectChain(steps):
            return {"count": sum(step.location is not None for step in steps), "finalUrl": steps[-1].url}
        case RobotsCheck(allowed, sure, reason):
            return {"allowed": allowed, "confidence": sure, "reason": reason}
        case FetchTiming(start, end, duration):
            return {"startTime": start, "endTime": end, "duration": duration}
        case FetchError():
            return {"errorType": content.error_type, "statusCode": content.status_code}


def _status_code(visit: Visit) -> int:
    """Of the final response; 0 when there was none (S1-22, S1-29)."""
    match visit.outcome:
        case Skipped(status=status):
            return status or 0
        case Failed(failure) if failure.reason is Reason.ROBOTS_UNREACHABLE:
            return 0
        case _:
            return visit.hops[-1].status if visit.hops else 0


def _error(visit: Visit) -> str | None:
    match visit.outcome:
        case Failed(failure):
            return f"{failure.reason}: {failure.detail}" if failure.detail else str(failure.reason)
        case Skipped(reason, detail):
            return f"{reason}: {detail}" if detail else str(reason)
        case _:
            return None


def _reason(visit: Visit) -> str | None:
    match visit.outcome:
        case Failed(failure):
            return failure.reason
        case Skipped(reason):
            return reason
        case _:
            return None


def _header(visit: Visit, name: str) -> str | None:
    headers = visit.hops[-1].headers if visit.hops else ()
    return next((value for key, value in headers if key.lower() == name), None)


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
