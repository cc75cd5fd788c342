"""Is one more request, soon, worth it?"""

import pytest

from outrider.model.outcome import Failure, Scope
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState
from outrider.policy.classify import classify
from outrider.policy.retry import Again, GiveUp, NextTry, RetryLimits, next_try

LIMITS = RetryLimits()
SERVICE = RetryLimits(network=0, gateway=0, server_error=3, rate_limit=3)
REFUSED = Failure(Reason.CONNECT_REFUSED, Scope.SITE, transient=True)
LOST = Failure(Reason.CONNECTION_LOST, transient=True)
STALE = Failure(Reason.CONNECTION_LOST, transient=True, stale=True)


def answer(status: int, retry_after: float | None = None) -> Failure:
    failure = classify(status, retry_after=retry_after)
    assert failure is not None
    return failure


def ask(failure: Failure, *earlier: Failure, limits: RetryLimits = LIMITS, **given: object) -> NextTry:
    breaker = given.get("breaker", Breaker())
    assert isinstance(breaker, Breaker)
    time_left = float(str(given.get("time_left", 300.0)))
    jitter = float(str(given.get("jitter", 0.0)))
    return next_try(failure, earlier, limits, breaker=breaker, time_left=time_left, jitter=jitter)


def waits(failure: Failure, limits: RetryLimits) -> list[float]:
    earlier: list[Failure] = []
    found: list[float] = []
    while isinstance(step := ask(failure, *earlier, limits=limits), Again):
        found.append(step.wait)
        earlier.append(failure)
    return found


@pytest.mark.parametrize(
    ("failure", "polite", "service"),
    [
        (REFUSED, [2.0], []),
        (LOST, [2.0], []),
        (Failure(Reason.READ_TIMEOUT, transient=True), [2.0], []),
        (Failure(Reason.DNS_FAILURE, Scope.SITE, transient=True), [2.0], []),
        (Failure(Reason.TLS_FAILURE, Scope.SITE, transient=True), [2.0], []),
        (answer(500), [2.0, 4.0], [2.0, 4.0, 8.0]),
        (answer(521), [2.0, 4.0], [2.0, 4.0, 8.0]),
        (answer(502), [2.0, 4.0], []),
        (answer(503), [2.0, 4.0], []),
        (answer(504), [2.0, 4.0], []),
        (answer(429), [2.0], [2.0, 4.0, 8.0]),
        (answer(429, 10), [10.0], [10.0, 10.0, 10.0]),
        (answer(503, 10), [10.0], [10.0, 10.0, 10.0]),
        (answer(429, 31), [], []),
        (Failure(Reason.DNS_NOT_FOUND, Scope.SITE), [], []),
        (Failure(Reason.TLS_EXPIRED, Scope.SITE), [], []),
        (answer(304), [], []),
        (answer(400), [], []),
        (answer(403), [], []),
        (answer(404), [], []),
        (answer(408), [], []),
        (answer(410), [], []),
        (Failure(Reason.TOO_MANY_REDIRECTS), [], []),
        (Failure(Reason.REDIRECT_LOOP), [], []),
        (Failure(Reason.UNSUPPORTED_CONTENT_TYPE), [], []),
        (Failure(Reason.EMPTY_BODY), [], []),
        (Failure(Reason.UNDECODABLE), [], []),
        (Failure(Reason.PROTOCOL_ERROR), [], []),
    ],
    ids=lambda value: f"{value.reason}+{value.retry_after}" if isinstance(value, Failure) else None,
)
def test_each_class_of_failure_has_its_own_budget(failure: Failure, polite: list[float], service: list[float]) -> None:
    """C1, C8, C19, S1-4, S1-5, S1-10, S1-11, S3-1 to S3-9, S3-13 to S3-19, S3-22, S4-32."""
    assert waits(failure, LIMITS) == polite
    assert waits(failure, SERVICE) == service


def test_three_retries_are_four_requests_whatever_fails() -> None:
    """C19: the ceiling holds across classes."""
    assert ask(answer(500), answer(503), LOST, answer(429)) == GiveUp("3 retries are spent")
    assert isinstance(ask(answer(500), answer(503), LOST), Again)


def test_a_stale_connection_is_tried_again_at_once_and_once() -> None:
    assert ask(STALE) == Again(0.0)
    assert ask(STALE, STALE) == Again(4.0)
    assert isinstance(ask(STALE, STALE, LOST), GiveUp)
    assert ask(STALE, breaker=Breaker(failures=2)) == Again(0.0)


def test_a_blip_is_retried_and_an_outage_is_not() -> None:
    """C1: no inline tries while the breaker counts anything."""
    assert ask(REFUSED) == Again(2.0)
    assert isinstance(ask(REFUSED, breaker=Breaker(failures=1)), GiveUp)
    for state in (BreakerState.OPEN, BreakerState.HALF_OPEN):
        assert ask(STALE, breaker=Breaker(state)) == GiveUp("the site is down")


def test_a_wait_longer_than_the_lease_is_left_to_the_frontier() -> None:
    """S3-10."""
    assert ask(answer(500), time_left=2.1) == Again(2.0)
    assert ask(answer(500), time_left=2.0) == GiveUp("the lease ends first")


def test_jitter_only_ever_stretches_a_wait() -> None:
    assert ask(answer(500), jitter=1.0) == Again(2.5)
    assert ask(answer(429, 10), jitter=1.0) == Again(10.0)
