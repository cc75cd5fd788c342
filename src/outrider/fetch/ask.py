"""One question to a site, asked again as often as `policy.retry` allows. The answer is a response or a failure.

Here transport errors end: nothing above this file catches one.
"""

from collections.abc import Callable

from msgspec import Struct

from outrider.errors import TransportError
from outrider.fetch.hold import Hold
from outrider.model.outcome import Failure, Try
from outrider.policy.classify import classify, classify_error
from outrider.policy.pace import parse_retry_after
from outrider.policy.retry import Again, RetryLimits, next_try
from outrider.ports import Clock, Request, Response, Transport


class Reply(Struct, frozen=True):
    """What came of asking. `response` is the last one seen, also when its status makes it a `failure`."""

    asked_at: float
    response: Response | None
    failure: Failure | None
    tries: tuple[Try, ...] = ()


class Asker:
    def __init__(self, transport: Transport, clock: Clock, limits: RetryLimits, jitter: Callable[[], float]) -> None:
        self._transport = transport
        self._clock = clock
        self._limits = limits
        self._jitter = jitter

    async def ask(self, request: Request, hold: Hold, *, conditional: bool = False, again: bool = True) -> Reply:
        """`conditional`: a 304 is welcome. `again=False` asks once, whatever happens."""
        breaker = hold.site.breaker
        tries: list[Try] = []
        while True:
            await hold.turn()
            asked_at = self._clock.now()
            response, failure = await self._once(request, hold, conditional=conditional)
            if failure is None or not again:
                return Reply(asked_at, response, failure, tuple(tries))
            step = next_try(
                failure,
                [past.failure for past in tries],
                self._limits,
                breaker=breaker,
                time_left=hold.time_left,
                jitter=self._jitter(),
            )
            wait = step.wait if isinstance(step, Again) else None
            tries.append(Try(request.url, asked_at, failure, wait))
            if wait is None:
                return Reply(asked_at, response, failure, tuple(tries))
            await self._clock.sleep(wait)

    async def _once(self, request: Request, hold: Hold, *, conditional: bool) -> tuple[Response | None, Failure | None]:
        try:
            response = await self._transport.request(request)
        except TransportError as error:
            return None, classify_error(error)
        finally:
            hold.answered()
        if 300 <= response.status < 400 and response.status != 304:
            return response, None  # where a redirect leads is not for this file to judge
        retry_after = parse_retry_after(response.header("retry-after"), self._clock.now())
        return response, classify(response.status, retry_after=retry_after, conditional=conditional)
