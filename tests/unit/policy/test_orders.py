"""What does an operator's order mean for a site now, for its pace, and for its tasks?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.settlement import Skip
from outrider.model.site import Site
from outrider.policy.orders import BY_ORDER, LOOK_AGAIN, Banned, Silence, Treatment, Welcome, paced, slowed, treatment
from outrider.policy.pace import PaceLimits, fresh_pace, heed_crawl_delay, ready_at, reserve, slow_down

NOW = 1_000.0
LIMITS = PaceLimits()
EXCLUDED = Banned(Skip(Reason.EXCLUDED_SITE, BY_ORDER))


def order(*, paused: bool = False, excluded: bool = False, delay: float | None = None) -> SiteOrder:
    return SiteOrder("example.com", paused, excluded, delay, NOW)


def asked(at: float = NOW) -> Site:
    return reserve(Site("example.com", pace=fresh_pace(LIMITS)), at)


def heeded(site: Site, said: SiteOrder | None, crawl_delay: float | None = None) -> Site:
    """As a visit does it, once robots.txt is known."""
    site_now = heed_crawl_delay(slowed(site, said), crawl_delay, paced(LIMITS, said))
    assert isinstance(site_now, Site)
    return site_now


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (None, Welcome()),
        (order(), Welcome()),
        (order(delay=9.0), Welcome()),
        (order(paused=True), Silence(NOW + LOOK_AGAIN)),
        (order(excluded=True), EXCLUDED),
        (order(paused=True, excluded=True, delay=1.0), EXCLUDED),
    ],
)
def test_a_site_is_treated_as_the_order_says(said: SiteOrder | None, expected: Treatment) -> None:
    assert treatment(said, NOW) == expected


def test_a_delay_is_in_place_of_the_settings_until_it_is_taken_back() -> None:
    assert paced(LIMITS, order(delay=0.25)) == replace(LIMITS, delay=0.25)
    assert paced(LIMITS, order(paused=True)) == LIMITS
    assert paced(LIMITS, None) == LIMITS


def test_a_longer_delay_counts_from_the_last_request_on() -> None:
    assert ready_at(slowed(asked(), order(delay=8.0))) == NOW + 8.0
    assert ready_at(heeded(asked(), order(delay=8.0))) == NOW + 8.0


def test_a_shorter_delay_keeps_the_gap_that_was_promised() -> None:
    after = heeded(asked(), order(delay=0.25))

    assert ready_at(after) == NOW + 1.0
    assert ready_at(reserve(after, NOW + 1.0)) == NOW + 1.25


def test_a_delay_that_is_taken_back_leaves_the_setting() -> None:
    before = heeded(asked(), order(delay=8.0))

    after = heeded(before, None)

    assert ready_at(after) == NOW + 8.0
    assert after.pace.interval == LIMITS.delay


def test_robots_txt_may_ask_for_more_than_an_operator() -> None:
    assert heeded(asked(), order(delay=2.0), crawl_delay=5.0).pace.interval == 5.0
    assert heeded(asked(), order(delay=8.0), crawl_delay=5.0).pace.interval == 8.0


def test_what_a_429_added_stays_on_top() -> None:
    told_to_wait = slow_down(asked(), NOW, 30.0, LIMITS)

    after = heeded(told_to_wait, order(delay=0.5))

    assert (after.pace.base, after.pace.interval) == (0.5, 1.5)
    assert ready_at(after) == NOW + 30.0


@given(
    delay=st.none() | st.floats(0, 600),
    crawl_delay=st.none() | st.floats(0, 300),
    was=st.none() | st.floats(0, 300),
    waited=st.none() | st.floats(0, 900),
)
def test_no_order_brings_a_turn_forward(
    delay: float | None, crawl_delay: float | None, was: float | None, waited: float | None
) -> None:
    before = heeded(asked(), None, was)
    if waited is not None:
        before = slow_down(before, NOW, waited, LIMITS)

    after = heeded(before, order(delay=delay), crawl_delay)

    assert ready_at(after) >= ready_at(before)
    assert after.pace.interval >= (crawl_delay or 0.0)
