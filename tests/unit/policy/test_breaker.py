"""Is the site up?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.outcome import Body, Failed, Failure, Fetched, Moved, NotModified, Outcome, Scope, Skipped
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState
from outrider.model.url import Url
from outrider.policy.breaker import (
    BreakerLimits,
    Probe,
    Proceed,
    Sign,
    StayAway,
    after,
    begin_probe,
    is_given_up,
    next_step,
    pause,
    read_sign,
)
from outrider.policy.classify import classify

LIMITS = BreakerLimits()
NOW = 1_000.0
A = Url("http://example.com/")


def answered(status: int, retry_after: float | None = None) -> Outcome:
    failure = classify(status, retry_after=retry_after)
    assert failure is not None
    return Failed(failure)


def struck(times: int, sign: Sign = Sign.DOWN, breaker: Breaker = Breaker(), now: float = NOW) -> Breaker:  # noqa: B008 - frozen
    for n in range(times):
        breaker = after(breaker, sign, n, now, LIMITS, jitter=0.0)
    return breaker


@pytest.mark.parametrize(
    ("outcome", "sign"),
    [
        (Fetched(A, 200, Body(1, "")), Sign.ALIVE),
        (NotModified(A), Sign.ALIVE),
        (Moved(A, permanent=True), Sign.ALIVE),
        (Skipped(Reason.ROBOTS_DISALLOWED), Sign.NONE),
        (Skipped(Reason.BLOCKED_ADDRESS), Sign.NONE),
        (answered(403), Sign.ALIVE),
        (answered(404), Sign.ALIVE),
        (answered(304), Sign.ALIVE),
        (answered(429), Sign.WAIT),
        (answered(429, 5), Sign.WAIT),
        (answered(500), Sign.SUSPECT),
        (answered(521), Sign.SUSPECT),
        (answered(502), Sign.DOWN),
        (answered(503), Sign.DOWN),
        (answered(503, 5), Sign.WAIT),
        (answered(504), Sign.DOWN),
        (Failed(Failure(Reason.DNS_FAILURE, Scope.SITE)), Sign.DOWN),
        (Failed(Failure(Reason.CONNECT_REFUSED, Scope.SITE)), Sign.DOWN),
        (Failed(Failure(Reason.READ_TIMEOUT)), Sign.SUSPECT),
        (Failed(Failure(Reason.CONNECTION_LOST)), Sign.SUSPECT),
        (Failed(Failure(Reason.PROTOCOL_ERROR)), Sign.NONE),
        (Failed(Failure(Reason.TOO_MANY_REDIRECTS)), Sign.ALIVE),
        (Failed(Failure(Reason.EMPTY_BODY)), Sign.ALIVE),
        (Failed(Failure(Reason.INTERNAL_ERROR)), Sign.NONE),
    ],
    ids=str,
)
def test_an_outcome_is_a_sign_of_life_of_trouble_or_of_nothing(outcome: Outcome, sign: Sign) -> None:
    """C2, C3, C6, C15, C17, S4-17 to S4-21, S4-31, H4-2."""
    assert read_sign(outcome) is sign


def test_it_opens_after_five_failures_in_a_row() -> None:
    """S4-21, S4-25, S4-41, S4-43: closed to open."""
    four = struck(4)
    assert (four.state, four.failures) == (BreakerState.CLOSED, 4)
    assert next_step(four, NOW) == Proceed()

    five = struck(1, breaker=four)
    assert (five.state, five.probe_at, five.down_since) == (BreakerState.OPEN, NOW + 30, NOW)
    assert next_step(five, NOW + 29) == StayAway(NOW + 30)
    assert next_step(five, NOW + 30) == Probe()


def test_any_sign_of_life_starts_the_count_anew() -> None:
    """C3, S4-21, S4-43: success reset."""
    assert struck(1, Sign.ALIVE, struck(4)) == Breaker()


def test_a_500_counts_once_per_url() -> None:
    """C2: one poisonous URL cannot shut a site, five distinct ones can."""
    breaker = Breaker()
    for _ in range(20):
        breaker = after(breaker, Sign.SUSPECT, 7, NOW, LIMITS, jitter=0.0)
    assert (breaker.state, breaker.failures) == (BreakerState.CLOSED, 1)

    assert struck(5, Sign.SUSPECT).state is BreakerState.OPEN


def test_a_skip_and_a_429_count_for_nothing() -> None:
    """C15, C17."""
    four = struck(4)

    assert struck(9, Sign.NONE, four) == struck(9, Sign.WAIT, four) == four


def test_a_probe_closes_it_or_opens_it_for_longer() -> None:
    """S4-22, S4-23, S4-43: half-open to closed, half-open to open, escalation, cap; C5."""
    breaker, waits = struck(5), []
    for _ in range(6):
        now = breaker.probe_at
        probing = begin_probe(breaker)
        assert probing.state is BreakerState.HALF_OPEN
        assert struck(1, Sign.ALIVE, probing, now) == Breaker()
        breaker = struck(1, Sign.DOWN, probing, now)
        waits.append(breaker.probe_at - now)

    assert waits == [60.0, 120.0, 240.0, 300.0, 300.0, 300.0]
    assert (breaker.probes, breaker.openings) == (6, 7)


def test_a_probe_that_is_told_to_wait_is_asked_again_after_the_same_pause() -> None:
    """C6."""
    probing = begin_probe(struck(5))

    again = struck(1, Sign.WAIT, probing, NOW + 30)

    assert (again.state, again.probe_at) == (BreakerState.OPEN, NOW + 60)


def test_an_explicit_ladder_replaces_the_formula() -> None:
    """C5: the seed's 30, 60, 120, 300."""
    ladder = BreakerLimits(ladder=(30.0, 60.0, 120.0, 300.0))

    assert [pause(n, ladder) for n in range(1, 7)] == [30, 60, 120, 300, 300, 300]
    assert [pause(n, LIMITS) for n in range(1, 7)] == [30, 60, 120, 240, 300, 300]
    assert pause(10_000, LIMITS) == 300


def test_jitter_stretches_the_pause_by_a_tenth_at_most() -> None:
    opened = after(struck(4), Sign.DOWN, 9, NOW, LIMITS, jitter=1.0)

    assert opened.probe_at == NOW + 33


def test_a_site_that_stays_down_is_given_up_unless_the_service_never_does() -> None:
    """DESIGN 2.2: an hour or twelve probes, sooner for a name that does not exist."""
    down = struck(5)
    refused, no_name = Reason.CONNECT_REFUSED, Reason.DNS_NOT_FOUND
    never = BreakerLimits(give_up_after=None, give_up_probes=None)

    assert not is_given_up(down, refused, NOW + 3599, LIMITS)
    assert is_given_up(down, refused, NOW + 3600, LIMITS)
    assert not is_given_up(down, refused, NOW + 1e9, never)
    assert not is_given_up(down, no_name, NOW + 1e9, never)
    assert not is_given_up(Breaker(), refused, NOW + 1e9, LIMITS)

    probed = Breaker(BreakerState.OPEN, probes=3, down_since=NOW)
    assert is_given_up(probed, no_name, NOW, LIMITS)
    assert not is_given_up(probed, refused, NOW, LIMITS)
    assert is_given_up(Breaker(BreakerState.OPEN, probes=12, down_since=NOW), refused, NOW, LIMITS)


@given(st.lists(st.tuples(st.sampled_from(list(Sign)), st.integers(0, 9), st.floats(0, 400)), max_size=60))
def test_a_breaker_never_forgets_to_open_or_to_close(story: list[tuple[Sign, int, float]]) -> None:
    breaker, now, in_a_row = Breaker(), NOW, set[object]()
    for number, (sign, url, passed) in enumerate(story):
        now += passed
        if breaker.state is BreakerState.OPEN:
            step = next_step(breaker, now)
            if isinstance(step, StayAway):
                assert step.until > now
                continue
            breaker = begin_probe(breaker)
        was = breaker.state
        breaker = after(breaker, sign, url, now, LIMITS, jitter=0.5)

        if sign is Sign.ALIVE:
            in_a_row = set()
            assert breaker == Breaker()
        elif was is BreakerState.HALF_OPEN and sign is not Sign.NONE:
            assert breaker.state is BreakerState.OPEN
        elif sign in {Sign.DOWN, Sign.SUSPECT}:
            in_a_row.add(number if sign is Sign.DOWN else f"url {url}")
            assert (breaker.state is BreakerState.OPEN) == (len(in_a_row) >= LIMITS.threshold)
        if breaker.state is BreakerState.OPEN:
            assert breaker.probe_at > now
            assert breaker.down_since is not None
            assert breaker.down_since <= now
        if breaker.state is BreakerState.HALF_OPEN:
            breaker = after(breaker, Sign.ALIVE, url, now, LIMITS, jitter=0.5)
            in_a_row = set()
