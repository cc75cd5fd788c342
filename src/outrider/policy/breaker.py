"""Is the site up? Closed: ask. Open: stay away until `probe_at`. Half open: one request finds out.

It opens after `threshold` failures in a row and stays open for 30, 60, 120, 240, 300 s (C5), a little longer by luck.
Any answer below 500 except 429 proves life (C3). A 500 counts once per URL, so that one bad page cannot shut a site
(C2). A 429 is a request to slow down and counts for nothing (C17); neither does a skip (C15).
"""

from enum import StrEnum
from typing import Final, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.outcome import Failed, Failure, Fetched, Moved, NotModified, Outcome, Scope, Skipped
from outrider.model.reason import Family, Reason
from outrider.model.site import Breaker, BreakerState

JITTER: Final = 0.1


class BreakerLimits(Struct, frozen=True):
    """`ladder` replaces the formula where someone wants exact steps. None in `give_up…` means never."""

    threshold: int = 5
    backoff: float = 30.0
    multiplier: float = 2.0
    max_backoff: float = 300.0
    ladder: tuple[float, ...] = ()
    give_up_after: float | None = 3600.0
    give_up_probes: int | None = 12
    give_up_probes_without_name: int = 3


class Sign(StrEnum):
    """What an outcome says about the site."""

    ALIVE = "alive"
    DOWN = "down"
    SUSPECT = "suspect"
    WAIT = "wait"
    NONE = "none"


class Proceed(Struct, frozen=True):
    pass


class Probe(Struct, frozen=True):
    pass


class StayAway(Struct, frozen=True):
    until: float


Step: TypeAlias = Proceed | Probe | StayAway

_SILENT: Final = frozenset({Reason.READ_TIMEOUT, Reason.CONNECTION_LOST})


def read_sign(outcome: Outcome) -> Sign:
    match outcome:
        case Fetched() | NotModified() | Moved():
            return Sign.ALIVE
        case Skipped():
            return Sign.NONE
        case Failed(failure):
            return _read_failure(failure)
        case _:
            assert_never(outcome)


def _read_failure(failure: Failure) -> Sign:
    if asks_to_wait(failure):
        return Sign.WAIT
    if failure.scope is Scope.SITE:
        return Sign.DOWN
    if failure.reason in _SILENT or (failure.status or 0) >= 500:
        return Sign.SUSPECT
    if failure.status is not None or failure.reason.family in {Family.REDIRECT, Family.CONTENT}:
        return Sign.ALIVE
    return Sign.NONE


def asks_to_wait(failure: Failure) -> bool:
    """429, or 503 with Retry-After: the site is up and wants less of us."""
    return failure.status == 429 or (failure.status == 503 and failure.retry_after is not None)


def next_step(breaker: Breaker, now: float) -> Step:
    """What the holder of the site may do now."""
    match breaker.state:
        case BreakerState.CLOSED:
            return Proceed()
        case BreakerState.OPEN | BreakerState.HALF_OPEN:
            # Half open is only ever seen by its holder; a stored one belonged to a holder that died while probing.
            return Probe() if now >= breaker.probe_at else StayAway(breaker.probe_at)
        case _:
            assert_never(breaker.state)


def begin_probe(breaker: Breaker) -> Breaker:
    return replace(breaker, state=BreakerState.HALF_OPEN, probes=breaker.probes + 1)


def after(breaker: Breaker, sign: Sign, url: int, now: float, limits: BreakerLimits, jitter: float) -> Breaker:
    """The breaker once `sign` was read from a visit of the URL with this identity hash."""
    match sign:
        case Sign.NONE:
            return breaker
        case Sign.ALIVE:
            return Breaker()
        case Sign.WAIT if breaker.state is BreakerState.HALF_OPEN:
            # It lives but wants no visitors yet: ask again after the same pause, not a longer one.
            return _open(breaker, breaker.openings, now, limits, jitter)
        case Sign.WAIT:
            return breaker
        case Sign.DOWN | Sign.SUSPECT:
            return _struck(breaker, sign, url, now, limits, jitter)
        case _:
            assert_never(sign)


def pause(openings: int, limits: BreakerLimits) -> float:
    """How long the breaker stays open the n-th time in a row, before jitter."""
    if limits.ladder:
        return limits.ladder[min(openings, len(limits.ladder)) - 1]
    # The exponent is bounded so that a site that is down for years does not overflow a float.
    return min(limits.backoff * limits.multiplier ** min(openings - 1, 64), limits.max_backoff)


def is_given_up(breaker: Breaker, reason: Reason, now: float, limits: BreakerLimits) -> bool:
    """Down for so long that its tasks should end; sooner for a name that does not exist."""
    if breaker.state is not BreakerState.OPEN or breaker.down_since is None:
        return False
    never = limits.give_up_after is None and limits.give_up_probes is None
    if reason is Reason.DNS_NOT_FOUND and not never:
        return breaker.probes >= limits.give_up_probes_without_name
    too_long = limits.give_up_after is not None and now - breaker.down_since >= limits.give_up_after
    too_often = limits.give_up_probes is not None and breaker.probes >= limits.give_up_probes
    return too_long or too_often


def _struck(breaker: Breaker, sign: Sign, url: int, now: float, limits: BreakerLimits, jitter: float) -> Breaker:
    match breaker.state:
        case BreakerState.OPEN:
            return breaker  # the late answer of a visit that was under way when it opened
        case BreakerState.HALF_OPEN:
            return _open(breaker, breaker.openings + 1, now, limits, jitter)
        case BreakerState.CLOSED:
            if sign is Sign.SUSPECT and url in breaker.suspects:
                return breaker
            struck = replace(
                breaker,
                failures=breaker.failures + 1,
                suspects=(*breaker.suspects, url) if sign is Sign.SUSPECT else breaker.suspects,
                down_since=now if breaker.down_since is None else breaker.down_since,
            )
            return _open(struck, 1, now, limits, jitter) if struck.failures >= limits.threshold else struck
        case _:
            assert_never(breaker.state)


def _open(breaker: Breaker, openings: int, now: float, limits: BreakerLimits, jitter: float) -> Breaker:
    wait = pause(openings, limits) * (1 + JITTER * jitter)
    return replace(breaker, state=BreakerState.OPEN, openings=openings, suspects=(), probe_at=now + wait)
