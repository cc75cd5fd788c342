"""Every second is spent on one thing, and shares add up to a hundred."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.activity import Activity, phases, shares, spent_in_vain
from outrider.model.outcome import Failure, Timing
from outrider.model.reason import Reason

_instants = st.floats(0, 1e6, allow_nan=False)


def test_a_request_is_parted_by_its_phases() -> None:
    timing = Timing(dns=0.25, connect=0.5, tls=1.0, first_byte=3.0, total=3.5)

    parts = dict(phases(timing, 4.0))

    assert parts == {
        Activity.RESOLVING: 0.25,
        Activity.CONNECTING: 0.25,
        Activity.TLS: 0.5,
        Activity.FIRST_BYTE: 2.0,
        Activity.RECEIVING: 0.5,
        Activity.OTHER: 0.5,
    }


def test_phases_that_did_not_happen_take_no_time() -> None:
    """As on a connection that was kept."""
    assert dict(phases(Timing(first_byte=1.0, total=1.5), 1.5)) == {Activity.FIRST_BYTE: 1.0, Activity.RECEIVING: 0.5}


@given(ends=st.tuples(_instants, _instants, _instants, _instants, _instants), passed=_instants)
def test_whatever_was_measured_the_parts_are_the_whole(ends: tuple[float, ...], passed: float) -> None:
    parts = [seconds for _, seconds in phases(Timing(*ends), passed)]

    assert all(seconds > 0 for seconds in parts)
    assert sum(parts) == pytest.approx(passed)


@pytest.mark.parametrize(
    ("reason", "activity"),
    [
        (Reason.DNS_FAILURE, Activity.RESOLVING),
        (Reason.CONNECT_TIMEOUT, Activity.CONNECTING),
        (Reason.TLS_EXPIRED, Activity.TLS),
        (Reason.READ_TIMEOUT, Activity.FIRST_BYTE),
        (Reason.CONNECTION_LOST, Activity.FIRST_BYTE),
    ],
)
def test_a_request_without_an_answer_is_counted_where_it_failed(reason: Reason, activity: Activity) -> None:
    assert spent_in_vain(Failure(reason)) is activity


def test_shares_are_rounded_so_that_they_add_up() -> None:
    thirds = {Activity.TURN: 1.0, Activity.READING: 1.0, Activity.OTHER: 1.0}

    assert sorted(shares(thirds).values()) == [33, 33, 34]
    assert shares({Activity.TURN: 999.0, Activity.TLS: 1.0}) == {Activity.TURN: 100}
    assert list(shares({Activity.TLS: 1.0, Activity.TURN: 3.0})) == [Activity.TURN, Activity.TLS]


@given(st.dictionaries(st.sampled_from(Activity), st.floats(1e-6, 1e9), min_size=1))
def test_shares_of_anything_add_up_to_a_hundred(seconds: dict[Activity, float]) -> None:
    assert sum(shares(seconds).values()) == 100


@pytest.mark.parametrize("seconds", [{}, {Activity.TURN: 0.0}])
def test_nothing_has_no_shares(seconds: dict[Activity, float]) -> None:
    assert shares(seconds) == {}
