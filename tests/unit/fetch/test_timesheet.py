"""A lap begins where the one before ended."""

from outrider.fetch.timesheet import Timesheet
from outrider.model.activity import Activity
from outrider.model.outcome import Failure, Timing
from outrider.model.reason import Reason
from outrider.ports import Response
from outrider.testing.clock import FakeClock


def test_the_laps_are_all_of_the_time() -> None:
    clock = FakeClock(100.0)
    sheet = Timesheet(clock)

    clock.advance(2.0)
    sheet.lap(Activity.TURN)
    clock.advance(1.0)
    sheet.answered(Response(200, (), b"", timing=Timing(first_byte=0.5, total=0.75)), None, clock.now())
    clock.advance(0.5)
    sheet.answered(None, Failure(Reason.CONNECT_TIMEOUT), clock.now())
    clock.advance(0.25)
    sheet.answered(None, None, clock.now())
    sheet.lap(Activity.READING)

    assert sheet.seconds == {
        Activity.TURN: 2.0,
        Activity.FIRST_BYTE: 0.5,
        Activity.RECEIVING: 0.25,
        Activity.CONNECTING: 0.5,
        Activity.OTHER: 0.5,
    }
    assert sum(sheet.seconds.values()) == clock.now() - 100.0


def test_while_one_thing_is_done_everything_is_for_it() -> None:
    clock = FakeClock()
    sheet = Timesheet(clock)

    with sheet.only(Activity.PROBING):
        clock.advance(1.0)
        sheet.lap(Activity.TURN)
        clock.advance(2.0)
    clock.advance(4.0)
    sheet.lap(Activity.TURN)

    assert sheet.seconds == {Activity.PROBING: 3.0, Activity.TURN: 4.0}


def test_several_visitors_write_to_one_sum() -> None:
    clock = FakeClock()
    together: dict[Activity, float] = {}
    one, other = Timesheet(clock, together), Timesheet(clock, together)

    clock.advance(1.0)
    one.lap(Activity.TURN)
    clock.advance(1.0)
    other.lap(Activity.TURN)

    assert together == {Activity.TURN: 3.0}


def test_a_clock_that_was_set_back_makes_no_negative_time() -> None:
    clock = FakeClock(100.0)
    sheet = Timesheet(clock)

    sheet.lap(Activity.TURN, 90.0)
    sheet.lap(Activity.READING, 91.0)

    assert sheet.seconds == {Activity.READING: 1.0}
