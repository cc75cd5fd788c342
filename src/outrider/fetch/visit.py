"""One visit, from a task to its outcome: skip rules, robots, hops, tries, content (S1-1, S4-29).

It decides nothing: each step asks a policy and obeys. It never raises for what the web does.
"""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from outrider.fetch.ask import Asker
from outrider.fetch.body import BodyLimits
from outrider.fetch.content import is_heavy, is_sendable, read_page, validators_of
from outrider.fetch.hold import Hold
from outrider.fetch.robots_txt import Judged, RobotsTexts
from outrider.model.asked import AskedFor
from outrider.model.outcome import (
    Failed,
    Failure,
    Hop,
    Moved,
    NotModified,
    Outcome,
    Scope,
    Skipped,
    Try,
    Validators,
    Visit,
)
from outrider.model.reason import Reason
from outrider.model.robots import RobotsVerdict
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, refusal
from outrider.policy.orders import paced
from outrider.policy.pace import PaceLimits, TooSlow, heed_crawl_delay, hold_until
from outrider.policy.redirect import Arrived, Follow, Leave, NextHop, RedirectRules, Stop, is_redirect, next_hop
from outrider.policy.robots import Defer
from outrider.ports import Clock, Request, Response

_HEADERS: Final = MappingProxyType({"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"})
_ARRIVED: Final = Arrived()


class VisitRules(Struct, frozen=True):
    """`robots_blocked="status"`: a page that robots.txt forbids is asked for its status by one HEAD (S1-14)."""

    admit: AdmitRules = AdmitRules()
    redirect: RedirectRules = RedirectRules()
    pace: PaceLimits = PaceLimits()
    body: BodyLimits = BodyLimits()
    body_cap: int = 10_485_760
    content_types: frozenset[str] = frozenset({"text/html", "application/xhtml+xml"})
    robots_blocked: Literal["skip", "status"] = "skip"


class Haul(Struct, frozen=True):
    """What a visit brings home: its story, the decoded content, and the last response as it was sent."""

    visit: Visit
    content: bytes = b""
    response: Response | None = None
    robots: Judged | None = None


class _Journey:
    """What has happened so far in one visit."""

    __slots__ = ("content", "hops", "judged", "response", "tries")

    def __init__(self) -> None:
        self.hops: list[Hop] = []
        self.tries: list[Try] = []
        self.judged: Judged | None = None
        self.response: Response | None = None
        self.content = b""


class Visitor:
    def __init__(
        self, asker: Asker, robots: RobotsTexts, clock: Clock, rules: VisitRules, new_id: Callable[[], str]
    ) -> None:
        self._asker = asker
        self._robots = robots
        self._clock = clock
        self._rules = rules
        self._new_id = new_id

    async def visit(self, task: Task, hold: Hold) -> Haul:
        """Visit the task's URL while its site is held. The site's new state is in `hold.site`.

        Its name is that of the hold, where it has one.
        """
        started_at = self._clock.now()
        journey = _Journey()
        turns = hold.counting_apart(hold.visit or self._new_id())
        outcome = await self._outcome(task, turns, journey)
        verdict = journey.judged.verdict if journey.judged else None
        visit = Visit(
            id=turns.visit,
            requested=task.url,
            started_at=started_at,
            ended_at=self._clock.now(),
            outcome=outcome,
            hops=tuple(journey.hops),
            tries=tuple(journey.tries),
            robots=verdict if isinstance(verdict, RobotsVerdict) else None,
            requests=turns.requests,
        )
        return Haul(visit, journey.content, journey.response, journey.judged)

    async def _outcome(self, task: Task, hold: Hold, journey: _Journey) -> Outcome:
        url = task.url
        while True:
            refused = refusal(url, task.depth, self._rules.admit)
            if refused:
                return Skipped(refused.reason, f"{refused.rule}: {refused.evidence}")
            barred = await self._barred(url, hold, journey)
            if barred:
                return barred
            # What we know of the page says nothing about where a redirect leads.
            validators = None if journey.hops else task.validators
            reply = await self._asker.ask(self._request(url, validators), hold, conditional=bool(validators))
            journey.tries += reply.tries
            response = journey.response = reply.response
            if response is None:
                return _unanswered(reply.failure)
            step, location = self._next_hop(url, response, task, journey)
            journey.hops.append(_hop(url, reply.asked_at, response, location))
            match step:
                case Arrived():
                    return await self._arrived(url, reply.failure, response, validators, journey)
                case Follow(target):
                    url = target
                case Leave(target, permanent):
                    return Moved(target, permanent)
                case Stop(Reason.REDIRECT_NOT_FOLLOWED as reason, detail):
                    return Skipped(reason, detail, response.status)
                case Stop(reason, detail):
                    return Failed(Failure(reason, status=response.status, detail=detail))

    def _next_hop(self, url: Url, response: Response, task: Task, journey: _Journey) -> tuple[NextHop, str | None]:
        """Where the answer leads, and its Location if we go there."""
        if not is_redirect(response.status):
            return _ARRIVED, None
        location = response.header("location")
        step = next_hop(url, response.status, location, [*task.via, *journey.hops], self._rules.redirect)
        return step, location if isinstance(step, Follow | Leave) else None

    async def _barred(self, url: Url, hold: Hold, journey: _Journey) -> Outcome | None:
        """Robots.txt: None means go on."""
        journey.judged = judged = await self._robots.judge(url, hold)
        if judged.failure is not None and judged.failure.reason is Reason.BLOCKED_ADDRESS:
            return _unanswered(judged.failure)
        verdict = judged.verdict
        if isinstance(verdict, Defer):
            if judged.file is not None:
                hold.site = hold_until(hold.site, judged.file.expires_at)
            return Failed(_why_not_now(verdict, judged.failure))
        heeding = heed_crawl_delay(hold.site, verdict.crawl_delay, paced(self._rules.pace, hold.order))
        if not verdict.allowed:
            status = None
            if self._rules.robots_blocked == "status" and not isinstance(heeding, TooSlow):
                hold.site = heeding
                status = await self._status_only(url, hold)
            return Skipped(Reason.ROBOTS_DISALLOWED, verdict.reason, status)
        if isinstance(heeding, TooSlow):
            limit = self._rules.pace.max_crawl_delay
            return Skipped(
                Reason.CRAWL_DELAY_TOO_LONG, f"robots.txt asks for {heeding.crawl_delay:g} s, the limit is {limit:g} s"
            )
        hold.site = heeding
        return None

    async def _status_only(self, url: Url, hold: Hold) -> int | None:
        reply = await self._asker.ask(Request(url, "HEAD"), hold, again=False, kind=AskedFor.STATUS)
        if reply.failure is not None:
            # The outcome is a skip, which settles nothing: a 429 is heeded here or never.
            hold.site = self._asker.slowed(hold.site, reply.failure)
        return reply.response.status if reply.response else None

    def _request(self, url: Url, validators: Validators | None) -> Request:
        return Request(
            url,
            headers=request_headers(validators),
            body_cap=self._rules.body_cap,
            wanted_types=self._rules.content_types,
        )

    async def _arrived(
        self, url: Url, failure: Failure | None, response: Response, sent: Validators | None, journey: _Journey
    ) -> Outcome:
        if failure is not None:
            return Failed(failure)
        if response.status == 304:
            return NotModified(url, validators_of(response, sent))
        if is_heavy(response):
            read = await asyncio.to_thread(read_page, url, response, self._rules.body, self._rules.content_types)
        else:
            read = read_page(url, response, self._rules.body, self._rules.content_types)
        outcome, journey.content = read
        return outcome


def _why_not_now(verdict: Defer, failure: Failure | None) -> Failure:
    """Without its robots.txt the site must wait.

    When it could not even be connected to, that is what happened to the page, too: every URL of it would fail so.
    """
    if failure is None:
        return Failure(Reason.ROBOTS_UNREACHABLE, Scope.SITE, detail=verdict.reason)
    if failure.scope is Scope.SITE and failure.status is None:
        return replace(failure, detail=verdict.reason)
    return Failure(
        Reason.ROBOTS_UNREACHABLE,
        Scope.SITE,
        status=failure.status,
        retry_after=failure.retry_after,
        detail=verdict.reason,
    )


def _unanswered(failure: Failure | None) -> Skipped | Failed:
    failure = failure or Failure(Reason.INTERNAL_ERROR)
    if failure.reason is Reason.BLOCKED_ADDRESS:
        return Skipped(failure.reason, failure.detail)
    return Failed(failure)


def _hop(url: Url, asked_at: float, response: Response, location: str | None) -> Hop:
    return Hop(
        url,
        response.status,
        response.headers,
        location,
        at=asked_at,
        timing=response.timing,
        address=response.address,
        http_version=response.http_version,
    )


def request_headers(validators: Validators | None) -> Mapping[str, str]:
    """What a visit asks with, besides what the transport adds."""
    if not validators:
        return _HEADERS
    pairs = {"If-None-Match": validators.etag, "If-Modified-Since": validators.last_modified}
    return {**_HEADERS, **{name: value for name, value in pairs.items() if value and is_sendable(value)}}
