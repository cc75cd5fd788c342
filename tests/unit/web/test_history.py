"""Over time, in a bounded number of samples: nothing that happened is lost, only when exactly."""

from itertools import pairwise

import pytest

from outrider.web.history import History, Sample, points_of
from outrider.web.shapes import Point, Totals


def sample(at: float, pages: int, failed: int = 0) -> Sample:
    return Sample(at, Totals(pages=pages, failed=failed, bytes=10 * pages))


@pytest.mark.parametrize("count", [1, 2, 16, 17, 500, 5_000])
def test_nothing_is_lost_however_long_it_goes_on(count: int) -> None:
    history = History(most=16)

    for number in range(count):
        history.add(sample(2.0 * number, 3 * number))

    points = history.points()
    assert len(points) <= 16
    assert sum(point.pages for point in points) == 3 * (count - 1)
    assert sum(point.seconds for point in points) == 2.0 * (count - 1)


def test_what_is_recent_is_kept_more_finely() -> None:
    history = History(most=32)

    for number in range(2_000):
        history.add(sample(2.0 * number, number))

    spans = [point.seconds for point in history.points()]
    assert spans[-1] == 2.0
    assert spans[0] > spans[-1]
    assert all(before >= after / 2 for before, after in pairwise(spans))


def test_counts_that_fall_back_are_a_new_beginning() -> None:
    history = History()
    for at, pages in ((0, 10), (2, 14), (4, 3)):
        history.add(sample(at, pages))

    assert [point.pages for point in history.points()] == [4, 3]


def test_the_same_moment_read_twice_is_one() -> None:
    history = History()
    for at in (1.0, 1.0, 0.5, 3.0):
        history.add(sample(at, 1))

    assert [point.at for point in history.points()] == [3.0]


def test_the_rate_is_of_the_last_seconds() -> None:
    history = History()
    assert history.rate() == 0.0

    for at, pages in ((0, 0), (100, 1_000), (110, 1_020)):
        history.add(sample(at, pages))

    assert history.rate() == pytest.approx(2.0)


def test_what_was_before_is_shown_until_the_first_sample() -> None:
    history = History()
    history.begin_with([Point(5.0, 2.0, pages=1), Point(9.0, 2.0, pages=7)])
    history.add(sample(6.0, 1))
    history.add(sample(8.0, 2))

    assert [(point.at, point.pages) for point in history.points()] == [(5.0, 1), (8.0, 1)]


def test_visits_on_record_become_points_that_hold_all_of_them() -> None:
    moments = [(float(at), "failed" if at % 5 == 0 else "pages", 7) for at in range(1_000)]

    points = points_of(moments[::-1], most=10)

    assert len(points) <= 11
    assert sum(point.pages for point in points) == 800
    assert sum(point.failed for point in points) == 200
    assert sum(point.bytes for point in points) == 7_000
    assert points[-1].at == 999.0
    assert points_of([]) == []
