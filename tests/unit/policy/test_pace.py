"""When may the site be asked again?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.site import Site
from outrider.policy.pace import (
    PaceLimits,
    TooSlow,
    completed,
    fresh_pace,
    heed_crawl_delay,
    hold_until,
    parse_retry_after,
    ready_at,
    recover,
    reserve,
    slow_down,
)

LIMITS = PaceLimits()
NOW = 1_000.0


def site(limits: PaceLimits = LIMITS) -> Site:
    return Site("example.com", pace=fresh_pace(limits))


def send_times(start: Site, requests: int, now: float = NOW) -> list[float]:
    times = []
    for _ in range(requests):
        now = max(now, ready_at(start))
        times.append(now)
        start = reserve(start, now)
    return times


def slowed(site: Site, crawl_delay: float | None, limits: PaceLimits = LIMITS) -> Site:
    paced = heed_crawl_delay(site, crawl_delay, limits)
    assert isinstance(paced, Site)
    return paced


def test_a_request_reserves_the_whole_interval_before_it_is_sent() -> None:
    """C23, S4-3, S4-34, S4-40."""
    assert send_times(site(), 4) == [1000.0, 1001.0, 1002.0, 1003.0]


def test_a_burst_is_spent_at_once_and_refilled_at_the_rate() -> None:
    bursty = site(PaceLimits(delay=2.0, burst=3))

    assert send_times(bursty, 6) == [1000.0, 1000.0, 1000.0, 1002.0, 1004.0, 1006.0]


def test_a_slow_answer_is_followed_by_the_whole_pause() -> None:
    """C23: adjusted again at completion."""
    asked = reserve(site(), NOW)

    assert ready_at(completed(asked, NOW + 0.5)) == NOW + 1.5
    assert ready_at(completed(asked, NOW + 10)) == NOW + 11


def test_crawl_delay_can_only_slow_us() -> None:
    """C21, H2-25."""
    assert send_times(slowed(site(), 5.0), 2) == [1000.0, 1005.0]
    assert send_times(slowed(site(), 0.1), 2) == [1000.0, 1001.0]
    assert send_times(slowed(slowed(site(), 5.0), None), 2) == [1000.0, 1001.0]


def test_a_crawl_delay_counts_from_the_request_that_fetched_it() -> None:
    asked = completed(reserve(site(PaceLimits(delay=0.0)), NOW), NOW)

    assert ready_at(slowed(asked, 5.0, PaceLimits(delay=0.0))) == NOW + 5
    assert ready_at(slowed(slowed(asked, 5.0, PaceLimits(delay=0.0)), 5.0, PaceLimits(delay=0.0))) == NOW + 5


def test_a_crawl_delay_beyond_the_cap_sets_the_site_aside() -> None:
    """C21."""
    assert heed_crawl_delay(site(), 301.0, LIMITS) == TooSlow(301.0)
    assert isinstance(heed_crawl_delay(site(), 300.0, LIMITS), Site)


def test_a_429_stops_the_site_for_as_long_as_it_says_and_widens_the_interval() -> None:
    """C17, S4-19, H0-9."""
    waiting = slow_down(reserve(site(), NOW), NOW, 120.0, LIMITS)

    assert ready_at(waiting) == NOW + 120
    assert send_times(waiting, 3) == [1120.0, 1122.0, 1124.0]
    assert slow_down(waiting, NOW, None, LIMITS).pace.interval == 4.0


def test_retry_after_is_capped_and_the_interval_too() -> None:
    forever = slow_down(site(), NOW, 1e9, LIMITS)
    assert ready_at(forever) == NOW + LIMITS.retry_after_cap

    for _ in range(20):
        forever = slow_down(forever, NOW, 0.0, LIMITS)
    assert forever.pace.interval == LIMITS.slowest


def test_no_burst_follows_a_cool_down() -> None:
    bursty = PaceLimits(delay=1.0, burst=5)
    waiting = slow_down(site(bursty), NOW, 60.0, bursty)

    assert send_times(waiting, 3) == [1060.0, 1062.0, 1064.0]


def test_good_answers_give_the_excess_back_slowly() -> None:
    slow = slow_down(site(), NOW, None, LIMITS)
    once = recover(slow, LIMITS)
    assert once.pace.interval == pytest.approx(1.9)
    assert ready_at(once) == ready_at(slow)

    answers = 1
    while once.pace.interval > once.pace.base:
        once = recover(once, LIMITS)
        answers += 1
    assert 40 < answers < 50
    assert recover(once, LIMITS) is once


def test_a_site_crawled_without_delay_still_slows_down_when_told() -> None:
    eager = PaceLimits(delay=0.0)

    assert slow_down(site(eager), NOW, None, eager).pace.interval == 1.0


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        (None, None),
        ("", None),
        ("120", 120.0),
        (" 120 ", 120.0),
        ("0", 0.0),
        ("-5", None),
        ("1.5", None),
        ("١٢", None),
        ("9" * 400, 999_999_999_999.0),
        ("Thu, 01 Jan 1970 00:18:20 GMT", 100.0),
        ("Thursday, 01-Jan-70 00:18:20 GMT", 100.0),
        ("Thu Jan  1 00:18:20 1970", 100.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("Thu, 99 Jan 2026 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str | None, wait: float | None) -> None:
    """C17: seconds, and all three dates of RFC 9110."""
    assert parse_retry_after(value, NOW) == wait


@given(
    st.sampled_from([PaceLimits(), PaceLimits(0.0), PaceLimits(2.0, 3), PaceLimits(70.0, slowest=3600.0)]),
    st.lists(
        st.tuples(
            st.sampled_from(["reserve", "complete", "slow", "recover", "delay", "hold", "pass"]),
            st.floats(0, 500, allow_nan=False),
        ),
        max_size=30,
    ),
)
def test_a_site_is_never_ready_earlier_because_of_an_event_that_should_slow_it(
    limits: PaceLimits, events: list[tuple[str, float]]
) -> None:
    """H2-2: whatever happens, not_before only moves forward; nothing asked for is asked for too soon."""
    now, last_sent, current = NOW, None, site(limits)
    for event, amount in events:
        before = current
        match event:
            case "reserve":
                now = max(now, ready_at(current))
                if last_sent is not None and limits.burst == 1:
                    assert now >= last_sent + limits.delay
                current, last_sent = reserve(current, now), now
            case "complete":
                current = completed(current, now)
            case "slow":
                current = slow_down(current, now, amount, limits)
                assert ready_at(current) >= now + min(amount, limits.retry_after_cap)
            case "recover":
                current = recover(current, limits)
            case "delay":
                paced = heed_crawl_delay(current, amount, limits)
                current = current if isinstance(paced, TooSlow) else paced
            case "hold":
                current = hold_until(current, now + amount)
                assert ready_at(current) >= now + amount
            case _:
                now += amount
        assert ready_at(current) >= ready_at(before)
        assert current.pace.interval >= current.pace.base >= limits.delay
