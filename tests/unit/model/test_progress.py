"""Counts add up, and the time left is only told when it can be."""

import pytest
from msgspec.structs import replace

from outrider.model.activity import Activity
from outrider.model.codec import from_json, to_json
from outrider.model.ledger import Census
from outrider.model.progress import Counts, Progress, WorstBreaker, eta
from outrider.model.reason import Reason

OWED = Census(discovered=300, pending=200, fetched=100)
RUNNING = Progress(at=50.0, started_at=10.0, census=OWED, counts=Counts(pages=100), rate=10.0)


def test_counts_of_two_workers_add_up_field_by_field() -> None:
    spread = {"seconds", "sizes", "activity"}
    names = [name for name in Counts.__struct_fields__ if name not in {"errors", *spread}]
    one = Counts(errors={Reason.HTTP_404: 1})
    other = Counts(errors={Reason.HTTP_404: 2, Reason.HTTP_500: 3})
    for number, name in enumerate(names):
        setattr(one, name, number)
        setattr(other, name, 100)

    both = one.plus(other)

    assert [getattr(both, name) for name in names] == [100 + number for number in range(len(names))]
    assert both.errors == {Reason.HTTP_404: 3, Reason.HTTP_500: 3}
    assert one.errors == {Reason.HTTP_404: 1}


def test_what_two_workers_spent_their_time_on_adds_up() -> None:
    one = Counts(activity={Activity.TURN: 1.5, Activity.READING: 0.25})
    other = Counts(activity={Activity.TURN: 2.0, Activity.OTHER: 0.5})

    both = one.plus(other)

    assert both.activity == {Activity.TURN: 3.5, Activity.READING: 0.25, Activity.OTHER: 0.5}
    assert one.activity == {Activity.TURN: 1.5, Activity.READING: 0.25}


def test_what_two_workers_measured_adds_up() -> None:
    """S4-49"""
    one, other = Counts(), Counts()
    one.seconds.observe(0.2)
    other.seconds.observe(7.0)
    other.sizes.observe(5_000)

    both = one.plus(other)

    assert (both.seconds.count, both.seconds.total, both.sizes.count) == (2, 7.2, 1)
    assert one.seconds.count == 1


def test_fresh_counts_share_nothing() -> None:
    one, other = Counts(), Counts()

    one.errors[Reason.HTTP_404] = 1
    one.pages += 1
    one.seconds.observe(1.0)

    assert other == Counts()


@pytest.mark.parametrize(
    ("progress", "seconds"),
    [
        (RUNNING, 20.0),
        (replace(RUNNING, limit_pages=150), 5.0),
        (replace(RUNNING, limit_pages=100), 0.0),
        (replace(RUNNING, limit_pages=1_100), 100.0),
        (replace(RUNNING, rate=0.0), None),
        (replace(RUNNING, paused="our own network is down"), None),
        (replace(RUNNING, census=Census(discovered=5, waiting=5)), None),
        (replace(RUNNING, census=Census()), 0.0),
        (replace(RUNNING, finish="interrupted"), 0.0),
    ],
)
def test_the_time_left_is_what_is_owed_by_the_rate(progress: Progress, seconds: float | None) -> None:
    assert eta(progress) == seconds


def test_a_clock_that_went_back_makes_no_negative_time() -> None:
    assert replace(RUNNING, at=0.0).seconds == 0.0
    assert RUNNING.seconds == 40.0


def test_a_snapshot_comes_back_from_json_as_it_went_in() -> None:
    progress = replace(RUNNING, counts=Counts(errors={Reason.HTTP_404: 2}), finish="finished")

    assert from_json(to_json(progress), Progress) == progress


def test_of_two_breakers_the_one_that_stays_open_longer_is_the_worse() -> None:
    """S4-48"""
    weak = WorstBreaker(failures=4)
    down = WorstBreaker(30.0, failures=5, is_open=True)
    probed = WorstBreaker(60.0, failures=6, is_open=True, is_probed=True)

    assert sorted([probed, weak, down, WorstBreaker()]) == [WorstBreaker(), weak, down, probed]
    assert [breaker.state for breaker in (WorstBreaker(), weak, down, probed)] == [0, 0, 1, 2]
