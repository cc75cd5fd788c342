"""A line of the ledger, a page on record and a site, each as a row that can be shown. Pure."""

from typing import Final

from msgspec.structs import replace

from outrider.model.ledger import Entry, SiteLine, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.record import Page, PageStatus
from outrider.model.robots import RobotsFile
from outrider.model.site import Breaker, BreakerState
from outrider.model.site import Trouble as SiteTrouble
from outrider.model.url import SiteBy, Url
from outrider.ops.ancestry import instant
from outrider.ops.meaning import meaning
from outrider.policy.pace import ready_at
from outrider.web.shapes import BreakerShown, OrderShown, RobotsShown, SiteRow, SiteState, Trouble, UrlRow, VisitRow

_CLOSED: Final = BreakerShown()
_NO_ORDER: Final = OrderShown()
_SAME: Final = 1.0
"""Two troubles of a site within so many seconds are taken for one."""
_STATES: Final = {
    PageStatus.FETCHED: State.FETCHED,
    PageStatus.NOT_MODIFIED: State.FETCHED,
    PageStatus.MOVED: State.ALIAS,
    PageStatus.SKIPPED: State.SKIPPED,
    PageStatus.FAILED: State.DEAD,
}


def meaning_of(reason: str | None) -> str:
    """Empty for none, and for one that a later version wrote."""
    return meaning(Reason(reason)) if reason in set(Reason) else ""


def row_of_entry(entry: Entry) -> UrlRow:
    task = entry.task
    return UrlRow(
        url=str(entry.url),
        state=entry.state,
        site=entry.site,
        reason=entry.reason,
        meaning=meaning_of(entry.reason),
        detail=entry.detail,
        status=entry.status,
        visits=entry.visits,
        depth=None if task is None else task.depth,
        due_at=task.due_at if task is not None and entry.state is State.WAITING else None,
        of=None if entry.of is None else str(entry.of),
        at=None if task is None else task.visited_at,
    )


def row_of_page(page: Page, site_by: SiteBy) -> UrlRow:
    data = page.metadata
    return UrlRow(
        url=page.url,
        state=_STATES[data.status],
        site=Url.trusted(page.url).site(site_by),
        reason=data.reason,
        meaning=meaning_of(data.reason),
        detail=data.error or "",
        status=page.status_code or None,
        visits=1,
        depth=data.depth,
        of=data.final_url if data.final_url != page.url else None,
        at=instant(data.fetched_at),
        title=data.title,
        bytes=data.wire_length,
    )


def trouble_of(page: Page) -> Trouble:
    reason = page.metadata.reason or ""
    at = instant(page.metadata.fetched_at) or 0.0
    return Trouble(page.url, at, reason, meaning_of(reason), page.status_code)


def row_of_visit(page: Page) -> VisitRow:
    data = page.metadata
    return VisitRow(
        url=page.url,
        at=instant(data.fetched_at) or 0.0,
        status=data.status.value,
        status_code=page.status_code,
        reason=data.reason,
        meaning=meaning_of(data.reason),
        title=data.title,
        bytes=data.wire_length,
    )


def row_of_site(line: SiteLine, order: SiteOrder | None, trouble: Trouble | None, now: float) -> SiteRow:
    site = line.site
    robots = max(site.robots, key=lambda file: file.fetched_at, default=None)
    row = SiteRow(
        key=site.key,
        state=SiteState.IDLE,
        pending=line.pending,
        waiting=line.waiting,
        admitted=site.admitted,
        fetched=site.fetched,
        interval=site.pace.interval,
        base=site.pace.base,
        ready_at=ready_at(site),
        alive_at=site.alive_at,
        held_until=line.held_until,
        set_aside=site.set_aside,
        breaker=breaker_shown(site.breaker),
        robots=None if robots is None else robots_shown(robots),
        trouble=_later(trouble, site.trouble),
        order=order_shown(order),
        was_excluded=site.excluded,
    )
    return with_state(row, now)


def _later(visit: Trouble | None, site: SiteTrouble | None) -> Trouble | None:
    """Of what went wrong on a page that is on record, which says more, and of what was wrong with the whole site."""
    if site is None or (visit is not None and visit.at > site.at - _SAME):
        return visit
    return Trouble("", site.at, site.reason.value, meaning_of(site.reason))


def with_state(row: SiteRow, now: float) -> SiteRow:
    """The first that is true, in the order of `SiteState`."""
    order = row.order or _NO_ORDER
    claims = {
        SiteState.EXCLUDED: row.was_excluded or order.excluded,
        SiteState.PAUSED: order.paused,
        SiteState.SET_ASIDE: row.set_aside,
        SiteState.PROBED: row.breaker.state == "half_open",
        SiteState.DOWN: row.breaker.state == "open",
        SiteState.BUSY: row.held_until is not None and row.held_until > now,
        SiteState.SLOWED: row.interval > row.base and row.ready_at > now,
        SiteState.QUEUED: row.pending + row.waiting > 0,
    }
    return replace(row, state=next((state for state in SiteState if claims.get(state)), SiteState.IDLE))


def order_shown(order: SiteOrder | None) -> OrderShown | None:
    if not order:
        return None
    return OrderShown(order.paused, order.excluded, order.delay, order.at)


def breaker_shown(breaker: Breaker) -> BreakerShown:
    if breaker == Breaker():
        return _CLOSED  # one for nearly all sites
    is_closed = breaker.state is BreakerState.CLOSED
    return BreakerShown(
        state=breaker.state.value,
        failures=breaker.failures,
        openings=breaker.openings,
        probes=breaker.probes,
        probe_at=None if is_closed else breaker.probe_at,
        down_since=breaker.down_since,
    )


def robots_shown(file: RobotsFile, most: int = 0) -> RobotsShown:
    """With `most` bytes of what it says, at the most."""
    body = file.body or b""
    return RobotsShown(
        origin=file.origin,
        status=file.status.value,
        fetched_at=file.fetched_at,
        expires_at=file.expires_at,
        http_status=file.http_status,
        detail=file.detail,
        bytes=len(body),
        text=body[:most].decode(errors="replace"),
    )
