"""Every request takes its turn: at the site's pace, one after the other, and never into a silence."""

import asyncio

import pytest

from outrider.clock import SharedClock
from outrider.errors import LeaseLost
from outrider.fetch.hold import Hold
from outrider.model.site import Pace, Site
from outrider.policy.pace import PaceLimits, fresh_pace, hold_until, slow_down
from outrider.testing.clock import FakeClock

LIMITS = PaceLimits(delay=2.0)
SITE = Site("example.com", pace=fresh_pace(LIMITS))


async def test_a_rested_site_is_asked_at_once_and_then_at_its_pace() -> None:
    """C23, S4-3, S4-40: the pause is counted from the request, and again from its answer."""
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=1_000.0)

    asked_at = []
    for took in (0.0, 5.0, 0.0):
        await hold.turn()
        asked_at.append(clock.now())
        clock.advance(took)
        hold.answered()

    assert asked_at == [100.0, 102.0, 109.0]
    assert hold.requests == 3


async def test_a_burst_is_spent_before_the_delay_counts() -> None:
    clock = FakeClock(100.0)
    hold = Hold(Site("example.com", pace=Pace(base=2.0, interval=2.0, burst=3)), clock, until=1_000.0)

    asked_at = []
    for _ in range(5):
        await hold.turn()
        asked_at.append(clock.now())

    assert asked_at == [100.0, 100.0, 100.0, 102.0, 104.0]


async def test_two_visits_of_one_site_queue_up() -> None:
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=1_000.0)
    asked_at: list[float] = []

    async def ask() -> None:
        await hold.turn()
        asked_at.append(clock.now())

    await asyncio.gather(ask(), ask(), ask())

    assert asked_at == [100.0, 102.0, 104.0]


async def test_nobody_is_asked_before_the_site_may_be() -> None:
    """H2-3: what keeps a site silent outlives the visit that found out."""
    clock = FakeClock(100.0)
    hold = Hold(hold_until(SITE, 160.0), clock, until=1_000.0)

    await hold.turn()

    assert clock.now() == 160.0


async def test_a_place_taken_before_the_site_asked_for_silence_is_given_up() -> None:
    """C17: a 429 to one visit is heeded by those that wait already."""
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=1_000.0)
    asked_at: list[float] = []

    async def ask() -> None:
        await hold.turn()
        asked_at.append(clock.now())

    async def be_told_to_wait() -> None:
        await clock.sleep(1.0)
        hold.site = slow_down(hold.site, clock.now(), 60.0, LIMITS)

    await asyncio.gather(ask(), ask(), ask(), be_told_to_wait())

    assert asked_at == [100.0, 161.0, 165.0]
    assert hold.requests == 3


async def test_there_is_no_time_left_when_the_next_turn_comes_after_the_lease() -> None:
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=130.0)

    assert hold.time_left(SITE) == 30.0
    assert hold.time_left(hold_until(SITE, 129.0)) == 30.0
    assert hold.time_left(hold_until(SITE, 130.0)) == 0.0


async def test_nobody_gets_a_turn_once_the_lease_has_ended() -> None:
    """The line to the lender may be cut: from then on the site is another's, who was told nothing of us."""
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=103.0, is_lent=True)
    await hold.turn()
    await hold.turn()

    with pytest.raises(LeaseLost):
        await hold.turn()

    assert (clock.now(), hold.requests) == (104.0, 2)


async def test_a_site_that_nobody_lent_is_ours_for_as_long_as_we_like() -> None:
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=101.0)

    await hold.turn()
    await hold.turn()

    assert hold.requests == 2


async def test_a_silence_shorter_than_the_places_that_were_taken_is_kept_too() -> None:
    """Two have their places at 102 and 104 when a third visit hears that nobody is wanted before 105."""
    clock = FakeClock(100.0)
    hold = Hold(SITE, clock, until=1_000.0)
    await hold.turn()
    asked_at: list[float] = []

    async def ask() -> None:
        await hold.turn()
        asked_at.append(clock.now())

    async def hear() -> None:
        await clock.sleep(1.0)
        hold.hush(105.0)

    await asyncio.gather(ask(), ask(), hear())

    assert asked_at == [106.0, 108.0]


async def test_a_clock_that_is_set_back_during_the_wait_shortens_no_pause() -> None:
    own = FakeClock(100.0)
    clock = SharedClock(own)
    hold = Hold(SITE, clock, until=1_000.0)
    await hold.turn()

    async def hear() -> None:
        await own.sleep(1.0)
        clock.hear(said=100.5, asked_at=101.0, heard_at=101.0)

    turn, _ = await asyncio.gather(hold.turn(), hear())

    assert (turn.not_before, turn.at) == (102.0, 102.0)
    assert own.now() == 102.5
