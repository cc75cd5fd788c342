"""What does this origin's robots.txt say about a URL? Asked once a day per origin, by the holder of its site.

RFC 9309 and DESIGN 2.4: up to five redirects, a failure is remembered for minutes and not for a day, the last good
copy outlives an outage, and one request is under way per origin. Every request takes its turn at the site's pace.
"""

import asyncio
from collections import OrderedDict
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import BodyTooLarge, Undecodable
from outrider.fetch.ask import Asker
from outrider.fetch.body import BodyLimits, decode
from outrider.fetch.hold import Hold
from outrider.model.outcome import Failure, Hop
from outrider.model.robots import RobotsBasis, RobotsFile, RobotsStatus, RobotsVerdict
from outrider.model.url import Url
from outrider.policy.redirect import Follow, Leave, RedirectRules, next_hop
from outrider.policy.robots import Defer, RobotsRules, Unreachable, judge, parse, status_of
from outrider.ports import Clock, Request, Response

MOST_REDIRECTS = 5
ORIGINS_PER_SITE = 16
"""How many origins' files travel with a site's state; a site with more asks again now and then."""


class RobotsSettings(Struct, frozen=True):
    agent: str
    respect: bool = True
    unreachable: Unreachable = Unreachable.DEFER
    ttl: float = 86_400.0
    failure_ttl: float = 300.0
    max_bytes: int = 524_288
    cache_bytes: int = 67_108_864


class Judged(Struct, frozen=True):
    """The verdict, or `Defer`; `file` is what it rests on, `failure` why the file could not be had just now."""

    verdict: RobotsVerdict | Defer
    file: RobotsFile | None = None
    rules: RobotsRules | None = None
    failure: Failure | None = None


_Known: TypeAlias = tuple[RobotsFile, RobotsRules | None]


class RobotsTexts:
    def __init__(self, asker: Asker, clock: Clock, settings: RobotsSettings) -> None:
        self._asker = asker
        self._clock = clock
        self._settings = settings
        self._cache: OrderedDict[str, _Known] = OrderedDict()
        self._cached_bytes = 0
        self._asking: dict[str, asyncio.Task[tuple[_Known, Failure | None]]] = {}

    async def judge(self, url: Url, hold: Hold) -> Judged:
        if not self._settings.respect:
            return Judged(RobotsVerdict(allowed=True, basis=RobotsBasis.NOT_ASKED))
        (file, rules), failure = await self._known(url.origin, hold)
        verdict = judge(file, rules, url.target, self._settings.agent, self._settings.unreachable)
        return Judged(verdict, file, rules, failure)

    async def _known(self, origin: str, hold: Hold) -> tuple[_Known, Failure | None]:
        known = self._cache.get(origin) or self._from_site(origin, hold)
        if known and known[0].expires_at > self._clock.now():
            self._cache.move_to_end(origin)
            return known, None
        asking = self._asking.get(origin)
        if asking is None:
            asking = asyncio.create_task(self._fetch(origin, known, hold))
            self._asking[origin] = asking
            asking.add_done_callback(lambda _: self._asking.pop(origin, None))
        # A visit that is cancelled must not take the answer away from the others that wait for it.
        return await asyncio.shield(asking)

    def _from_site(self, origin: str, hold: Hold) -> _Known | None:
        file = next((file for file in hold.site.robots if file.origin == origin), None)
        if file is None:
            return None
        known = (file, parse(file.body, self._settings.max_bytes) if file.body is not None else None)
        self._remember(known)
        return known

    async def _fetch(self, origin: str, before: _Known | None, hold: Hold) -> tuple[_Known, Failure | None]:
        response, failure = await self._follow(Url.trusted(f"{origin}/robots.txt"), hold)
        now = self._clock.now()
        status = status_of(response.status if response is not None and failure is None else _status(failure))
        body = None
        if status is RobotsStatus.FOUND and response is not None:
            body = self._decoded(response)
            status = status if body is not None else RobotsStatus.UNREACHABLE
        found = status is not RobotsStatus.UNREACHABLE
        file = RobotsFile(
            origin,
            status,
            fetched_at=now,
            expires_at=now + (self._settings.ttl if found else self._settings.failure_ttl),
            body=body if found or before is None else before[0].body,
            http_status=response.status if response else None,
            detail=failure.detail if failure else "",
        )
        rules = parse(file.body, self._settings.max_bytes) if file.body is not None else None
        self._remember((file, rules))
        others = tuple(other for other in hold.site.robots if other.origin != origin)
        hold.site = replace(hold.site, robots=(*others[-ORIGINS_PER_SITE + 1 :], file))
        return (file, rules), None if found else failure

    async def _follow(self, url: Url, hold: Hold) -> tuple[Response | None, Failure | None]:
        """Redirects are followed even to another site (RFC 9309 2.3.1.2): it is one small request a day."""
        walked: list[Hop] = []
        while True:
            answer = await self._asker.ask(Request(url, body_cap=self._settings.max_bytes), hold)
            response = answer.response
            if response is None or answer.failure is not None:
                return response, answer.failure
            step = next_hop(
                url, response.status, response.header("location"), walked, RedirectRules(limit=MOST_REDIRECTS)
            )
            if not isinstance(step, Follow | Leave):
                return response, None
            walked.append(Hop(url, response.status, location=step.url))
            url = step.url

    def _decoded(self, response: Response) -> bytes | None:
        limits = BodyLimits(decoded=self._settings.max_bytes, on_oversize="truncate")
        try:
            encoding = response.header("content-encoding")
            return decode(response.body, encoding, complete=response.complete, limits=limits).data
        except (BodyTooLarge, Undecodable):
            return None

    def _remember(self, known: _Known) -> None:
        origin = known[0].origin
        self._forget(origin)
        self._cache[origin] = known
        self._cached_bytes += _weight(known)
        while self._cached_bytes > self._settings.cache_bytes and len(self._cache) > 1:
            self._forget(next(iter(self._cache)))

    def _forget(self, origin: str) -> None:
        old = self._cache.pop(origin, None)
        if old is not None:
            self._cached_bytes -= _weight(old)


def _weight(known: _Known) -> int:
    """Bytes in memory, about: parsed rules weigh several times their text."""
    return 2_000 + 8 * len(known[0].body or b"")


def _status(failure: Failure | None) -> int | None:
    return failure.status if failure else None
