"""Turns do not drift, none is given twice, what was missed is made up once, nobody starves."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outrider.policy.schedule import (
    CLOSEST,
    SPREAD,
    Begin,
    Due,
    Edition,
    Kind,
    Outdated,
    Source,
    Turn,
    forecast,
    next_turn,
    plan,
    serve,
)

NOW = 1_800_000_000.0
HOUR = 3_600.0


def page(n: int = 1, every: float | None = HOUR) -> Source:
    return Source(Kind.URL, f"https://example.org/{n}", every)


def take(source: Source, last: Turn | None, now: float) -> Turn:
    """A turn that is given whole at `now`."""
    due_at = next_turn(source, last, now)
    assert due_at is not None
    service = serve(Due(source, due_at), last, Edition(), now)
    assert isinstance(service, Begin)
    return replace(service.turn, given=1)


def test_what_was_never_fed_is_due_at_once() -> None:
    planned = plan([page()], {}, NOW)

    assert planned.due == (Due(page(), NOW),)
    assert planned.wake_at is None


def test_the_next_turn_is_an_interval_and_a_little_later() -> None:
    turn = take(page(), None, NOW)

    planned = plan([page()], {page().name: turn}, NOW + 1)

    assert planned.due == ()
    assert planned.wake_at is not None
    assert NOW + HOUR <= planned.wake_at <= NOW + HOUR * (1 + SPREAD)


def test_a_thousand_sources_that_began_together_part_and_stay_apart() -> None:
    sources = [page(n) for n in range(1_000)]
    turns = {source.name: take(source, None, NOW) for source in sources}

    seconds = [round(next_turn(source, turns[source.name], NOW) or 0) for source in sources]

    assert max(seconds.count(second) for second in set(seconds)) < 20
    assert [next_turn(source, turns[source.name], NOW) for source in sources] == [
        next_turn(source, take(source, None, NOW), NOW + 5) for source in sources
    ]


def test_once_is_once() -> None:
    turn = take(page(every=None), None, NOW)

    assert next_turn(page(every=None), turn, NOW + 1e9) is None
    assert plan([page(every=None)], {page().name: turn}, NOW + 1e9).wake_at is None


def test_a_late_turn_does_not_move_those_after_it() -> None:
    first = take(page(), None, NOW)
    due_at = next_turn(page(), first, NOW)
    assert due_at is not None

    second = take(page(), first, due_at + 0.4 * HOUR)

    assert next_turn(page(), second, due_at) == due_at + HOUR


@pytest.mark.parametrize("missed", [1, 2, 24, 10_000])
def test_what_was_missed_is_made_up_once(missed: int) -> None:
    first = take(page(), None, NOW)
    due_at = next_turn(page(), first, NOW)
    assert due_at is not None
    now = due_at + (missed + 0.1) * HOUR

    second = take(page(), first, now)

    assert next_turn(page(), second, now) == pytest.approx(due_at + (missed + 1) * HOUR)


def test_a_turn_just_before_the_next_one_stands_for_both() -> None:
    first = take(page(), None, NOW)
    due_at = next_turn(page(), first, NOW)
    assert due_at is not None

    second = take(page(), first, due_at + 0.9 * HOUR)

    assert next_turn(page(), second, due_at) == due_at + 2 * HOUR


def test_an_interval_that_was_changed_counts_from_the_last_turn() -> None:
    turn = take(page(every=24 * HOUR), None, NOW)

    soon = next_turn(page(every=600.0), turn, NOW)

    assert soon is not None
    assert NOW + 300 <= soon <= turn.due_at + 600


def test_a_clock_that_was_far_ahead_starves_nobody() -> None:
    turn = take(page(), None, NOW + 1e9)

    assert next_turn(page(), turn, NOW) == NOW


@given(
    every=st.floats(1.0, 1e7),
    waits=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=40),
)
def test_no_two_turns_are_closer_than_half_an_interval_and_all_stand_on_the_grid(
    every: float, waits: list[float]
) -> None:
    source, now = page(every=every), NOW
    turn = take(source, None, now)
    start = turn.due_at

    for wait in waits:
        now += wait * every
        planned = plan([source], {source.name: turn}, now)
        if planned.due:
            before, turn = turn, take(source, turn, now)
            assert turn.began_at - before.began_at >= CLOSEST * every - 1e-3
            steps = (turn.due_at - start) / every
            assert math.isclose(steps, round(steps), abs_tol=1e-3)
        else:
            assert planned.wake_at is not None
            assert now < planned.wake_at <= turn.began_at + 1.5 * every + SPREAD * every + 1e-3


@given(
    intervals=st.lists(st.sampled_from([10.0, 60.0, 600.0]), min_size=2, max_size=8),
    room=st.integers(1, 3),
)
def test_nobody_starves_however_little_room_there_is(intervals: list[float], room: int) -> None:
    sources = [page(n, every) for n, every in enumerate(intervals)]
    turns: dict[str, Turn] = {}
    now = NOW

    for _ in range(4 * len(sources)):
        for due in plan(sources, turns, now).due[:room]:
            turns[due.source.name] = take(due.source, turns.get(due.source.name), now)
        now += 10.0

    assert set(turns) == {source.name for source in sources}


def test_who_was_served_longest_ago_comes_first_and_new_ones_before() -> None:
    long_list = Turn(NOW, NOW, NOW + 50, Edition(5_000, "d"), 1_000)
    older = take(page(1), None, NOW - 2 * HOUR)
    seeds = Source(Kind.SEEDS, "seeds.txt")
    sources = [seeds, page(1), page(2)]

    planned = plan(sources, {seeds.name: long_list, page(1).name: older}, NOW + 60)

    assert [due.source for due in planned.due] == [page(2), page(1), seeds]


def test_a_list_under_way_goes_on_where_it_was() -> None:
    seeds = Source(Kind.SEEDS, "seeds.txt")
    last = Turn(NOW, NOW, NOW, Edition(5_000, "d", 7), 1_000)

    service = serve(Due(seeds, NOW), last, Edition(5_000, "d", 9), NOW + 5)

    assert service == Begin(replace(last, served_at=NOW + 5))


def test_a_list_that_was_changed_under_way_begins_anew() -> None:
    seeds = Source(Kind.SEEDS, "seeds.txt")
    last = Turn(NOW, NOW, NOW, Edition(5_000, "d", 7), 1_000)

    service = serve(Due(seeds, NOW), last, Edition(9, "e", 8), NOW + 5)

    assert service == Begin(Turn(NOW, NOW, NOW + 5, Edition(9, "e", 8), 0), anew=True)


def test_two_who_have_different_lists_do_not_begin_anew_by_turns() -> None:
    seeds = Source(Kind.SEEDS, "seeds.txt")
    newer = Turn(NOW, NOW, NOW, Edition(9, "e", 8), 1)

    assert serve(Due(seeds, NOW), newer, Edition(5_000, "d", 7), NOW) == Outdated(newer)


def test_the_forecast_names_the_next_turns_in_order() -> None:
    sources = [page(1, 600.0), page(2, None), page(3, 2_000.0)]

    found = forecast(sources, {}, NOW, 8)

    assert [due.source for due in found[:3]] == sources
    assert [due.at for due in found] == sorted(due.at for due in found)
    assert [due.source for due in found].count(page(2, None)) == 1
    assert len(found) == 8


def test_a_forecast_ends_when_nothing_will_ever_be_due() -> None:
    assert len(forecast([page(1, None)], {}, NOW, 10)) == 1
