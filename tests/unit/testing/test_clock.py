"""Sleeping on a FakeClock takes no time and keeps its order."""

import asyncio

from outrider.testing.clock import FakeClock


async def test_a_sleeper_wakes_at_its_moment_and_no_time_passes_outside() -> None:
    clock = FakeClock(start=100.0)

    await clock.sleep(86_400.0)

    assert clock.now() == 86_500.0


async def test_sleepers_wake_in_the_order_of_their_moments() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def nap(name: str, *naps: float) -> None:
        for seconds in naps:
            await clock.sleep(seconds)
            woken.append((name, clock.now()))

    await asyncio.gather(nap("long", 3.0, 3.0), nap("short", 1.0, 1.0, 1.0), nap("none", 0.0))

    assert woken == [("none", 0.0), ("short", 1.0), ("short", 2.0), ("long", 3.0), ("short", 3.0), ("long", 6.0)]


async def test_a_cancelled_sleeper_does_not_hold_up_the_others() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(5.0))
    await asyncio.sleep(0)
    sleeper.cancel()

    await clock.sleep(10.0)

    assert sleeper.cancelled()
    assert clock.now() == 10.0


async def test_time_can_be_moved_by_hand() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(5.0))
    await asyncio.sleep(0)

    clock.advance(7.0)
    await sleeper

    assert clock.now() == 7.0
