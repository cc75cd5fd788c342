"""What does this origin's robots.txt say about a URL? Asked once a day per origin, by the holder of its site.

RFC 9309 and DESIGN 2.4: up to five redirects, a failure is remembered for minutes and not for a day, the last good
copy outlives an outage. Every request takes its turn at the site's pace.

The law: **only a visit that is under way asks.** Of many that need the same file one asks, and the others wait for
what it finds. When it is cancelled, one of them asks in its place, so that nobody talks to a site that is no longer
held. What is known travels with the site, too: another process that gets the site need not ask.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import BodyTooLarge, Undecodable
from outrider.fetch.ask import Asker
from outrider.fetch.body import BodyLimits, decode
from outrider.fetch.hold import Hold
from outrider.model.asked import AskedFor
from outrider.model.outcome import Failure, Hop, Scope
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsFile, RobotsStatus, RobotsVerdict
from outrider.model.url import Url
from outrider.policy.breaker import asks_to_wait
from outrider.policy.redirect import Follow, Leave, RedirectRules, next_hop
from outrider.policy.robots import Defer, RobotsRules, Unreachable, judge, parse, status_of
from outrider.ports import Clock, Request, Response

MOST_REDIRECTS: Final = 5
ORIGINS_PER_SITE: Final = 16
BYTES_PER_SITE: Final = 1_048_576
"""How many origins' files travel with a site, and how large they may be in all; beyond that the oldest stay behind."""


class RobotsSettings(Struct, frozen=True):
    agent: str
    respect: bool = True
    unreachable: Unreachable = Unreachable.DEFER
    ttl: float = 86_400.0
    failure_ttl: float = 300.0
    max_bytes: int = 524_288
    cache_bytes: int = 67_108_864


class Judged(Struct, frozen=True):
    """The verdict, or `Defer`; `file` is what it rests on, `failure` why the file could not be had the last time.

    A site that our own guard refuses is always deferred, whatever `unreachable` says: then there is no `file`, and
    `failure` names the address.
    """

    verdict: RobotsVerdict | Defer
    file: RobotsFile | None = None
    rules: RobotsRules | None = None
    failure: Failure | None = None


class _Known(Struct, frozen=True):
    file: RobotsFile
    rules: RobotsRules | None = None
    failure: Failure | None = None

    @property
    def blocked(self) -> Failure | None:
        failure = self.failure
        return failure if failure is not None and failure.reason is Reason.BLOCKED_ADDRESS else None

    @property
    def weight(self) -> int:
        """Bytes in memory, about: parsed rules weigh up to twenty times their text."""
        return 2_000 + 20 * len(self.file.body or b"")


class RobotsTexts:
    def __init__(self, asker: Asker, clock: Clock, settings: RobotsSettings) -> None:
        self._asker = asker
        self._clock = clock
        self._settings = settings
        self._cache: OrderedDict[str, _Known] = OrderedDict()
        self._cached_bytes = 0
        self._asking: dict[str, asyncio.Event] = {}
        self._defers = settings.unreachable is Unreachable.DEFER

    async def judge(self, url: Url, hold: Hold) -> Judged:
        """`hold` is the site's of this URL, held by the caller until this returns."""
        if not self._settings.respect:
            return Judged(RobotsVerdict(allowed=True, basis=RobotsBasis.NOT_ASKED))
        origin = url.origin
        known = self._remembered(origin, hold)
        if known is None or known.file.expires_at <= self._clock.now():
            known = await self._learned(origin, hold)
        self._carry(known, hold)
        if known.blocked:
            return Judged(Defer(known.blocked.detail), failure=known.blocked)
        verdict = judge(known.file, known.rules, url.target, self._settings.agent, self._settings.unreachable)
        return Judged(verdict, known.file, known.rules, self._as_of_now(known))

    async def _learned(self, origin: str, hold: Hold) -> _Known:
        """Ask for the file, unless somebody is doing so already: then it is known when they are done."""
        while True:
            known = self._remembered(origin, hold)
            if known is not None and known.file.expires_at > self._clock.now():
                return known
            asking = self._asking.get(origin)
            if asking is None:
                break
            await asking.wait()
        self._asking[origin] = asking = asyncio.Event()
        try:
            return await self._fetch(origin, known, hold)
        finally:
            del self._asking[origin]
            asking.set()

    def _remembered(self, origin: str, hold: Hold) -> _Known | None:
        """The newer of what this process knows and what came with the site."""
        known = self._cache.get(origin)
        for carried in hold.site.robots:
            if carried.origin == origin and (known is None or carried.fetched_at > known.file.fetched_at):
                known = self._remember(carried, hold)
        if known is not None:
            self._cache.move_to_end(origin)
        return known

    async def _fetch(self, origin: str, before: _Known | None, hold: Hold) -> _Known:
        response, failure = await self._follow(Url.trusted(f"{origin}/robots.txt"), hold)
        now = self._clock.now()
        status = status_of(response.status if response is not None else None)
        last_good = before.file.body if before is not None else None
        body = None
        if status is RobotsStatus.FOUND and response is not None:
            body, failure = self._decoded(response)
            status = status if body is not None else RobotsStatus.UNREACHABLE
        elif response is not None and response.status == 304 and last_good is not None:
            # Nobody asked whether it has changed, but now we know.
            status, body = RobotsStatus.FOUND, last_good
        if status is not RobotsStatus.UNREACHABLE:
            failure, ttl = None, self._settings.ttl
        else:
            body, ttl = last_good, self._patience(failure)
        file = RobotsFile(
            origin,
            status,
            fetched_at=now,
            expires_at=now + ttl,
            body=body,
            http_status=response.status if response is not None else None,
            detail=failure.detail if failure is not None else "",
        )
        if failure is not None and asks_to_wait(failure) and (body is not None or not self._defers):
            # The pages go on being asked for, so that no outcome tells of it: it is heeded here or never.
            hold.site = self._asker.slowed(hold.site, failure)
        return self._remember(file, hold, failure)

    async def _follow(self, url: Url, hold: Hold) -> tuple[Response | None, Failure | None]:
        """Redirects are followed even to another site (RFC 9309 2.3.1.2): it is one small request a day."""
        walked: list[Hop] = []
        while True:
            request = Request(url, body_cap=self._settings.max_bytes)
            reply = await self._asker.ask(request, hold, kind=AskedFor.ROBOTS)
            response, failure = reply.response, reply.failure
            if failure is not None and response is None and walked:
                # The site sends us where nobody is, or where we may not go. That says nothing of the site itself.
                return None, Failure(Reason.ROBOTS_UNREACHABLE, Scope.SITE, detail=f"redirected: {failure.detail}")
            if response is None or failure is not None:
                return response, failure
            rules = RedirectRules(limit=MOST_REDIRECTS)
            step = next_hop(url, response.status, response.header("location"), walked, rules)
            if not isinstance(step, Follow | Leave):
                return response, None
            walked.append(Hop(url, response.status, location=step.url))
            url = step.url

    def _decoded(self, response: Response) -> tuple[bytes | None, Failure | None]:
        limits = BodyLimits(decoded=self._settings.max_bytes, on_oversize="truncate")
        encoding = ", ".join(value for name, value in response.headers if name.lower() == "content-encoding") or None
        try:
            decoded = decode(response.body, encoding, complete=response.complete, limits=limits)
        except BodyTooLarge as error:
            return None, Failure(Reason.BODY_TOO_LARGE, status=response.status, detail=str(error))
        except Undecodable as error:
            return None, Failure(Reason.UNDECODABLE, status=response.status, detail=str(error))
        if decoded.truncated and response.complete and len(decoded.data) < self._settings.max_bytes:
            # Not our cap cut it off: it was sent broken, and whichever rules are missing would be broken, too.
            return None, Failure(Reason.UNDECODABLE, status=response.status, detail=f"{encoding} ends too early")
        return decoded.data, None

    def _patience(self, failure: Failure | None) -> float:
        """How long a failure is believed: minutes, or for as long as the site asked us to stay away."""
        asked = failure.retry_after if failure is not None else None
        return max(self._settings.failure_ttl, min(asked or 0.0, self._settings.ttl))

    def _as_of_now(self, known: _Known) -> Failure | None:
        """What is left of the wait that a site asked for when the failure was new."""
        if known.failure is None or known.failure.retry_after is None:
            return known.failure
        passed = self._clock.now() - known.file.fetched_at
        return replace(known.failure, retry_after=max(0.0, known.failure.retry_after - passed))

    def _carry(self, known: _Known, hold: Hold) -> None:
        """Let the site's state have the file. That our guard refused an address is no knowledge about the site."""
        file, robots = known.file, hold.site.robots
        for other in robots:
            if other is file or (other.origin == file.origin and other.fetched_at >= file.fetched_at):
                return
        if not known.blocked:
            others = (other for other in robots if other.origin != file.origin)
            hold.site = replace(hold.site, robots=_newest((*others, file)) if robots else (file,))

    def _remember(self, file: RobotsFile, hold: Hold, failure: Failure | None = None) -> _Known:
        # Also one that came with the site: whoever reads our records may not have those of who fetched it.
        hold.note_robots(file)
        rules = parse(file.body, self._settings.max_bytes) if file.body is not None else None
        known = _Known(file, rules, failure)
        self._forget(file.origin)
        self._cache[file.origin] = known
        self._cached_bytes += known.weight
        while self._cached_bytes > self._settings.cache_bytes and len(self._cache) > 1:
            self._forget(next(iter(self._cache)))
        return known

    def _forget(self, origin: str) -> None:
        old = self._cache.pop(origin, None)
        if old is not None:
            self._cached_bytes -= old.weight


def _newest(files: Iterable[RobotsFile]) -> tuple[RobotsFile, ...]:
    """As many of the last ones as may travel with a site, but at least one."""
    kept: list[RobotsFile] = []
    size = 0
    for file in reversed(tuple(files)):
        size += len(file.body or b"")
        if kept and (len(kept) == ORIGINS_PER_SITE or size > BYTES_PER_SITE):
            break
        kept.append(file)
    return tuple(reversed(kept))
