"""H4-7: many machines go by one clock, however wrong their own is."""

import time

import pytest

from outrider.clock import SharedClock, SteadyClock
from outrider.testing.clock import FakeClock


@pytest.mark.parametrize(("wrong_by", "there", "back"), [(0.0, 0.1, 0.1), (-300.0, 0.1, 0.3), (3_600.0, 0.0, 0.2)])
async def test_after_one_answer_it_is_right_within_the_time_of_that_answer(
    wrong_by: float, there: float, back: float
) -> None:
    own = FakeClock(1_000.0 + wrong_by)
    clock = SharedClock(own)

    asked_at = clock.now()
    await own.sleep(there)
    said = own.now() - wrong_by
    await own.sleep(back)
    clock.hear(said, asked_at=asked_at, heard_at=clock.now())

    assert abs(clock.now() - (own.now() - wrong_by)) <= there + back


async def test_a_slow_answer_moves_nothing_that_may_be_right() -> None:
    own = FakeClock(1_000.0)
    clock = SharedClock(own)
    clock.hear(990.0, asked_at=1_000.0, heard_at=1_000.0)

    asked_at = clock.now()
    await own.sleep(20.0)
    clock.hear(992.0, asked_at=asked_at, heard_at=clock.now())

    assert clock.now() == pytest.approx(1_010.0)


async def test_quicker_answers_never_set_it_forward_so_that_no_pause_ends_early() -> None:
    own = FakeClock(1_000.0)
    clock = SharedClock(own)
    ahead = []

    for trip in (0.25, 0.05, 0.15, 0.01):
        asked_at = clock.now()
        await own.sleep(trip)
        said = own.now() + 120.0
        await own.sleep(trip)
        clock.hear(said, asked_at=asked_at, heard_at=clock.now())
        ahead.append(clock.now() - own.now() - 120.0)

    assert ahead == pytest.approx([0.25, 0.05, 0.05, 0.01])


async def test_one_that_goes_faster_is_followed_step_by_step() -> None:
    own = FakeClock(1_000.0)
    clock = SharedClock(own)
    clock.hear(1_200.0, asked_at=1_000.0, heard_at=1_000.1)

    clock.hear(clock.now() + 0.15, asked_at=clock.now(), heard_at=clock.now() + 0.1)

    assert clock.now() == pytest.approx(1_200.05)


async def test_it_sleeps_as_long_as_anybody() -> None:
    own = FakeClock(1_000.0)
    clock = SharedClock(own)
    clock.hear(500.0, asked_at=1_000.0, heard_at=1_000.0)

    await clock.sleep(7.0)

    assert (own.now(), clock.now()) == (1_007.0, 507.0)


@pytest.mark.parametrize("step", [-3_600.0, 120.0])
async def test_setting_the_clock_of_the_machine_moves_no_pause(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    clock = SteadyClock()
    right = time.time
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: right() + step)

    after = clock.now()

    assert before == pytest.approx(right(), abs=60.0)
    assert 0 <= after - before < 60.0


async def test_a_steady_clock_goes_on() -> None:
    clock = SteadyClock()
    before = clock.now()

    await clock.sleep(0.01)

    assert clock.now() >= before + 0.01
