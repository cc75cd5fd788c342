"""Is one more request, soon, inside this visit, worth it? Only if it could succeed without changing crawl state (S3-2).

A blip is retried, an outage is not: no try is spent while the site's breaker counts anything (DESIGN 2.1). What this
file gives up on goes back to the frontier, where `policy.settle` decides about later.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.model.outcome import Failure
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState

JITTER: Final = 0.25
"""The largest share by which a wait is stretched, so that sites that fell together are not asked together."""


class Class(StrEnum):
    """Failures that share a budget."""

    NETWORK = "network"
    GATEWAY = "gateway"
    SERVER_ERROR = "server_error"
    RATE_LIMIT = "rate_limit"


class RetryLimits(Struct, frozen=True):
    """How many retries a visit may spend: in all (`total`, so total + 1 requests: C19) and by class."""

    total: int = 3
    network: int = 1
    gateway: int = 2
    server_error: int = 2
    rate_limit: int = 1
    backoff: float = 2.0
    wait_cap: float = 30.0


class Again(Struct, frozen=True):
    wait: float


class GiveUp(Struct, frozen=True):
    why: str


NextTry: TypeAlias = Again | GiveUp

_CLASS: Final[dict[Reason, Class]] = {
    Reason.DNS_FAILURE: Class.NETWORK,
    Reason.CONNECT_REFUSED: Class.NETWORK,
    Reason.CONNECT_FAILED: Class.NETWORK,
    Reason.CONNECT_TIMEOUT: Class.NETWORK,
    Reason.TLS_FAILURE: Class.NETWORK,
    Reason.READ_TIMEOUT: Class.NETWORK,
    Reason.CONNECTION_LOST: Class.NETWORK,
    Reason.HTTP_502: Class.GATEWAY,
    Reason.HTTP_503: Class.GATEWAY,
    Reason.HTTP_504: Class.GATEWAY,
    Reason.RATE_LIMITED: Class.RATE_LIMIT,
}


def class_of(failure: Failure) -> Class | None:
    """None: never tried again inline (S3-13…S3-19), however transient it may be in the long run."""
    if not failure.transient:
        return None
    if failure.reason is Reason.HTTP_503 and failure.retry_after is not None:
        return Class.RATE_LIMIT
    if failure.status is not None and failure.status >= 500:
        return _CLASS.get(failure.reason, Class.SERVER_ERROR)
    return _CLASS.get(failure.reason)


def next_try(
    failure: Failure,
    earlier: Sequence[Failure],
    limits: RetryLimits,
    *,
    breaker: Breaker,
    time_left: float,
    jitter: float,
) -> NextTry:
    """Decide after `failure`, which `earlier` failures of this visit came before. `breaker` is as it was at the start.

    A wait beyond `limits.wait_cap`, or beyond what the lease has left, is the frontier's business.
    """
    kind = class_of(failure)
    if kind is None:
        return GiveUp("another try would end the same")
    if breaker.state is not BreakerState.CLOSED:
        return GiveUp("the site is down")
    if len(earlier) >= limits.total:
        return GiveUp(f"{limits.total} retries are spent")
    if failure.stale and not any(past.stale for past in earlier):
        return Again(0.0)
    if breaker.failures:
        return GiveUp("the site has failed before: it may be going down")
    budget: int = getattr(limits, kind)
    if sum(class_of(past) is kind and not past.stale for past in earlier) >= budget:
        return GiveUp(f"{budget} retries for {kind} are spent")
    wait = max(limits.backoff * 2 ** len(earlier) * (1 + JITTER * jitter), failure.retry_after or 0.0)
    if wait > limits.wait_cap:
        return GiveUp(f"{wait:.0f} s is too long to wait inside a visit")
    if wait >= time_left:
        return GiveUp("the lease ends first")
    return Again(wait)
