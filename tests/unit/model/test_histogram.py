"""Values are counted into fixed buckets, and two counts add up."""

import pytest
from msgspec.msgpack import decode, encode

from outrider.model.histogram import Histogram


@pytest.mark.parametrize(
    ("value", "bucket"), [(-1.0, 0), (0.0, 0), (1.0, 0), (1.01, 1), (5.0, 1), (9.9, 2), (10.0, 2), (10.1, 3), (1e12, 3)]
)
def test_a_bound_belongs_to_the_bucket_below_it(value: float, bucket: int) -> None:
    """S4-49: as Prometheus counts them, "less or equal"."""
    histogram = Histogram.over((1.0, 5.0, 10.0))

    histogram.observe(value)

    assert histogram.buckets[bucket] == histogram.count == 1
    assert histogram.total == value


def test_two_together_are_a_third_and_stay_as_they_were() -> None:
    one, other = Histogram.over((1.0,)), Histogram.over((1.0,))
    one.observe(0.5)
    other.observe(0.5)
    other.observe(2.0)

    both = one.plus(other)

    assert (both.buckets, both.total) == ([2, 1], 3.0)
    assert (one.buckets, other.buckets) == ([1, 0], [1, 1])


def test_histograms_of_other_bounds_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="zip"):
        Histogram.over((1.0,)).plus(Histogram.over((1.0, 2.0)))


def test_it_travels_between_processes() -> None:
    histogram = Histogram.over((1.0, 5.0))
    histogram.observe(3.0)

    assert decode(encode(histogram), type=Histogram) == histogram
