"""One visit, from a task to its outcome: skip rules, robots, hops, tries, content (S1-1, S4-29).

It decides nothing: each step asks a policy and obeys. It never raises for what the web does.
"""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from outrider.errors import BodyTooLarge, Undecodable
from outrider.extract.charset import looks_binary, sniff_charset
from outrider.fetch.ask import Asker, Reply
from outrider.fetch.body import BodyLimits, content_type, decode, describe, is_wanted
from outrider.fetch.hold import Hold
from outrider.fetch.robots_txt import Judged, RobotsTexts
from outrider.model.outcome import (
    Failed,
    Failure,
    Fetched,
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
from outrider.policy.pace import PaceLimits, TooSlow, heed_crawl_delay, hold_until
from outrider.policy.redirect import Arrived, Follow, Leave, RedirectRules, Stop, next_hop
from outrider.policy.robots import Defer
from outrider.ports import Clock, Request, Response

_ACCEPT: Final = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.5"


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
        """Visit the task's URL while its site is held. The site's new state is in `hold.site`."""
        started_at, requests = self._clock.now(), hold.requests
        journey = _Journey()
        outcome = await self._outcome(task, hold, journey)
        verdict = journey.judged.verdict if journey.judged else None
        visit = Visit(
            id=self._new_id(),
            requested=task.url,
            started_at=started_at,
            ended_at=self._clock.now(),
            outcome=outcome,
            hops=tuple(journey.hops),
            tries=tuple(journey.tries),
            robots=verdict if isinstance(verdict, RobotsVerdict) else None,
            requests=hold.requests - requests,
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
            validators = task.validators if not journey.hops else None
            reply = await self._get(url, validators, hold)
            journey.tries += reply.tries
            journey.response = reply.response
            location = reply.response.header("location") if reply.response else None
            walked = [*task.via, *journey.hops]
            if reply.response is None:
                return _unanswered(reply)
            step = next_hop(url, reply.response.status, location, walked, self._rules.redirect)
            leads_on = isinstance(step, Follow | Leave)
            journey.hops.append(_hop(url, reply, reply.response, location if leads_on else None))
            match step:
                case Arrived():
                    return self._arrived(url, reply, reply.response, journey)
                case Follow(target):
                    url = target
                case Leave(target, permanent):
                    return Moved(target, permanent)
                case Stop(Reason.REDIRECT_NOT_FOLLOWED as reason, detail):
                    return Skipped(reason, detail, reply.response.status)
                case Stop(reason, detail):
                    return Failed(Failure(reason, status=reply.response.status, detail=detail))

    async def _barred(self, url: Url, hold: Hold, journey: _Journey) -> Outcome | None:
        """Robots.txt: None means go on."""
        journey.judged = judged = await self._robots.judge(url, hold)
        verdict = judged.verdict
        if isinstance(verdict, Defer):
            if judged.file is not None:
                hold.site = hold_until(hold.site, judged.file.expires_at)
            failure = judged.failure or Failure(Reason.ROBOTS_UNREACHABLE)
            if failure.reason is Reason.BLOCKED_ADDRESS:
                return Skipped(failure.reason, failure.detail)
            return Failed(
                Failure(
                    Reason.ROBOTS_UNREACHABLE,
                    Scope.SITE,
                    status=failure.status,
                    retry_after=failure.retry_after,
                    detail=": ".join(filter(None, (verdict.reason, failure.reason, failure.detail))),
                )
            )
        if not verdict.allowed:
            status = await self._status_only(url, hold) if self._rules.robots_blocked == "status" else None
            return Skipped(Reason.ROBOTS_DISALLOWED, verdict.reason, status)
        paced = heed_crawl_delay(hold.site, verdict.crawl_delay, self._rules.pace)
        if isinstance(paced, TooSlow):
            limit = self._rules.pace.max_crawl_delay
            return Skipped(
                Reason.CRAWL_DELAY_TOO_LONG, f"robots.txt asks for {paced.crawl_delay:g} s, the limit is {limit:g} s"
            )
        hold.site = paced
        return None

    async def _status_only(self, url: Url, hold: Hold) -> int | None:
        reply = await self._asker.ask(Request(url, "HEAD"), hold, again=False)
        return reply.response.status if reply.response else None

    async def _get(self, url: Url, validators: Validators | None, hold: Hold) -> Reply:
        headers = {"Accept": _ACCEPT} | _conditions(validators)
        request = Request(url, headers=headers, body_cap=self._rules.body_cap, wanted_types=self._rules.content_types)
        return await self._asker.ask(request, hold, conditional=bool(validators))

    def _arrived(self, url: Url, reply: Reply, response: Response, journey: _Journey) -> Outcome:
        if reply.failure is not None:
            return Failed(reply.failure)
        validators = Validators(response.header("etag"), response.header("last-modified"))
        if response.status == 304:
            return NotModified(url, validators)
        return self._content(url, response, validators, journey)

    def _content(self, url: Url, response: Response, validators: Validators, journey: _Journey) -> Fetched | Failed:
        status = response.status
        # Before decoding: a body of an unwanted type was never read.
        essence, _ = content_type(response.header("content-type"), b"")
        if essence is not None and not is_wanted(essence, self._rules.content_types):
            return _unusable(Reason.UNSUPPORTED_CONTENT_TYPE, status, essence)
        encoding = ", ".join(value for name, value in response.headers if name.lower() == "content-encoding") or None
        try:
            decoded = decode(response.body, encoding, complete=response.complete, limits=self._rules.body)
        except BodyTooLarge as error:
            return _unusable(Reason.BODY_TOO_LARGE, status, str(error))
        except Undecodable as error:
            return _unusable(Reason.UNDECODABLE, status, str(error))
        if not response.complete and self._rules.body.on_oversize == "fail":
            return _unusable(Reason.BODY_TOO_LARGE, status, f"more than {self._rules.body_cap} bytes")
        if not decoded.data:
            return _unusable(Reason.EMPTY_BODY, status, "")
        essence, charset = content_type(response.header("content-type"), decoded.data)
        if not is_wanted(essence, self._rules.content_types):
            return _unusable(Reason.UNSUPPORTED_CONTENT_TYPE, status, f"looks like {essence or 'no text'}")
        if looks_binary(decoded.data):
            return _unusable(Reason.UNDECODABLE, status, "the content is not text")
        journey.content = decoded.data
        sniffed = sniff_charset(decoded.data, charset)
        body = describe(decoded, len(response.body), essence, sniffed.name)
        return Fetched(url, status, body, validators)


def _unanswered(reply: Reply) -> Skipped | Failed:
    failure = reply.failure or Failure(Reason.INTERNAL_ERROR)
    if failure.reason is Reason.BLOCKED_ADDRESS:
        return Skipped(failure.reason, failure.detail)
    return Failed(failure)


def _unusable(reason: Reason, status: int, detail: str) -> Failed:
    return Failed(Failure(reason, status=status, detail=detail))


def _conditions(validators: Validators | None) -> dict[str, str]:
    if not validators:
        return {}
    pairs = {"If-None-Match": validators.etag, "If-Modified-Since": validators.last_modified}
    return {name: value for name, value in pairs.items() if value}


def _hop(url: Url, reply: Reply, response: Response, location: str | None) -> Hop:
    return Hop(
        url,
        response.status,
        response.headers,
        location,
        at=reply.asked_at,
        timing=response.timing,
        address=response.address,
        http_version=response.http_version,
    )
