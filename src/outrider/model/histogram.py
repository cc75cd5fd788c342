"""How are values spread? Counted into fixed buckets, so that counting is cheap and two workers' counts add up."""

from bisect import bisect_left
from typing import Self

from msgspec import Struct


class Histogram(Struct):
    """`bounds` are the upper ends of the buckets, included; one bucket more takes what is above them all.

    Not frozen: its worker counts up in place, everybody else adds. Only histograms of the same bounds can be added.
    """

    bounds: tuple[float, ...]
    buckets: list[int]
    total: float = 0.0

    @classmethod
    def over(cls, bounds: tuple[float, ...]) -> Self:
        """An empty one."""
        return cls(bounds, [0] * (len(bounds) + 1))

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.total += value

    def plus(self, other: Self) -> "Histogram":
        """Both together, as a new value."""
        buckets = [one + another for one, another in zip(self.buckets, other.buckets, strict=True)]
        return Histogram(self.bounds, buckets, self.total + other.total)
