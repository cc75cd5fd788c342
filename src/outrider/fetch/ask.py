"""One question to a site, asked again as often as `policy.retry` allows. The answer is a response or a failure.

Here transport errors end: nothing above this file catches one.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from outrider.errors import TransportError
from outrider.fetch.hold import Hold, Turn
from outrider.model.activity import Activity
from outrider.model.asked import Asked, AskedFor
from outrider.model.outcome import Failure, Try
from outrider.model.site import BreakerState, Site
from outrider.policy.breaker import asks_to_wait
from outrider.policy.classify import classify, classify_error
from outrider.policy.pace import PaceLimits, parse_retry_after, silence, slow_down
from outrider.policy.redirect import is_redirect
from outrider.policy.retry import Again, RetryLimits, next_try
from outrider.ports import Clock, Request, Response, Transport

_USUAL_PACE: Final = PaceLimits()


class Reply(Struct, frozen=True):
    """What came of asking. `response` is the last one seen, also when its status makes it a `failure`."""

    asked_at: float
    response: Response | None
    failure: Failure | None
    tries: tuple[Try, ...] = ()


class Asker:
    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        limits: RetryLimits,
        jitter: Callable[[], float],
        pace: PaceLimits = _USUAL_PACE,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._limits = limits
        self._pace = pace
        self._jitter = jitter

    async def ask(
        self,
        request: Request,
        hold: Hold,
        *,
        conditional: bool = False,
        again: bool = True,
        kind: AskedFor = AskedFor.PAGE,
    ) -> Reply:
        """`conditional`: a 304 is welcome. `again=False` asks once, whatever happens. Each request goes on record."""
        breaker = hold.site.breaker
        tries: list[Try] = []
        while True:
            turn = await hold.turn()
            asked_at = turn.at
            response: Response | None = None
            failure: Failure | None = None
            try:
                response, failure = await self._once(request, conditional=conditional)
            finally:
                # Also when we are cancelled: it was sent, and its pause is owed.
                ended_at = hold.answered()
                hold.sheet.answered(response, failure, ended_at)
                hold.note(_asked(turn, request, kind, hold, ended_at, response, failure))
            if failure is not None and asks_to_wait(failure):
                hold.hush(ended_at + silence(hold.site.pace, failure.retry_after, self._pace))
            if failure is None or not again:
                return Reply(asked_at, response, failure, tuple(tries))
            slowed = self.slowed(hold.site, failure)
            step = next_try(
                failure,
                [past.failure for past in tries],
                self._limits,
                breaker=breaker,
                time_left=hold.time_left(slowed),
                jitter=self._jitter(),
            )
            wait = step.wait if isinstance(step, Again) else None
            tries.append(Try(request.url, asked_at, failure, wait))
            if wait is None:
                return Reply(asked_at, response, failure, tuple(tries))
            # A 429 that is tried again slows the site down here; the last one becomes the outcome, and is settled.
            hold.site = slowed
            await self._clock.sleep(wait)
            hold.sheet.lap(Activity.TURN)

    def slowed(self, site: Site, failure: Failure) -> Site:
        """The site after this failure: as it was, unless the failure asks us to wait."""
        if not asks_to_wait(failure):
            return site
        return slow_down(site, self._clock.now(), failure.retry_after, self._pace)

    async def _once(self, request: Request, *, conditional: bool) -> tuple[Response | None, Failure | None]:
        try:
            response = await self._transport.request(request)
        except TransportError as error:
            return None, classify_error(error)
        # Where a redirect leads is not for this file to judge.
        status = response.status
        if 200 <= status < 300 or is_redirect(status):
            return response, None
        retry_after = parse_retry_after(response.header("retry-after"), self._clock.now())
        return response, classify(status, retry_after=retry_after, conditional=conditional)


def _asked(
    turn: Turn,
    request: Request,
    kind: AskedFor,
    hold: Hold,
    ended_at: float,
    response: Response | None,
    failure: Failure | None,
) -> Asked:
    site = turn.site
    breaker = site.breaker
    is_closed = breaker.state is BreakerState.CLOSED
    return Asked(
        turn.at,
        hold.visit,
        turn.number,
        site.key,
        str(request.url),
        request.method,
        kind,
        ended_at,
        None if response is None else response.status,
        None if failure is None else failure.reason.value,
        None if failure is None else failure.retry_after,
        turn.not_before,
        site.pace.interval,
        breaker.state,
        None if is_closed else breaker.probe_at,
        0 if is_closed else breaker.openings,
        hold.manners,
    )
