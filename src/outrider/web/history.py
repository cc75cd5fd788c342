"""What happened over time, in a bounded number of samples: what is older is kept more coarsely, nothing is made up.

A sample holds sums since a beginning; what happened between two is their difference. So leaving one out loses no event,
only when exactly it was. Sums that fall back belong to a new beginning.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from outrider.web.shapes import Point, Totals

MOST: Final = 360
_RECENT: Final = 10.0
"""Seconds over which the present rate is reckoned."""


class Sample(Struct, frozen=True):
    at: float
    totals: Totals
    in_flight: int = 0
    owed: int = 0
    memory: int = 0


class History:
    def __init__(self, most: int = MOST) -> None:
        self._most = max(most, 4)
        self._samples: list[Sample] = []
        self._before: tuple[Point, ...] = ()

    def begin_with(self, points: Iterable[Point]) -> None:
        """What is on record of the time before the first sample; those that reach into it are left out."""
        self._before = tuple(points)[-self._most :]

    def add(self, sample: Sample) -> None:
        """One that is not later than the last is ignored: the same moment, read twice."""
        if self._samples and sample.at <= self._samples[-1].at:
            return
        self._samples.append(sample)
        if len(self._samples) > self._most:
            self._thin()

    def points(self) -> tuple[Point, ...]:
        since = self._samples[0].at if self._samples else float("inf")
        earlier = [point for point in self._before if point.at <= since]
        return (*earlier, *(_between(one, other) for one, other in pairwise(self._samples)))

    def rate(self) -> float:
        """Pages a second lately; 0 when nothing is known yet."""
        if len(self._samples) < 2:
            return 0.0
        last = self._samples[-1]
        first = next(sample for sample in self._samples if sample.at >= last.at - _RECENT)
        if first is last:
            first = self._samples[-2]
        return _rise(first.totals.pages, last.totals.pages) / (last.at - first.at)

    def _thin(self) -> None:
        """Of the older half every other one goes: the further back, the more often it has been halved."""
        half = len(self._samples) // 2
        self._samples = self._samples[:half:2] + self._samples[half:]


def points_of(moments: Sequence[tuple[float, str, int]], most: int = MOST) -> list[Point]:
    """From single visits on record: when each was, how it ended (as a field of `Point`), and its bytes; any order."""
    if not moments:
        return []
    ordered = sorted(moments)
    first, last = ordered[0][0], ordered[-1][0]
    step = max((last - first) / most, 2.0)
    sums: dict[int, dict[str, int]] = {}
    for at, kind, size in ordered:
        here = sums.setdefault(int((at - first) / step), {})
        here[kind] = here.get(kind, 0) + 1
        here["bytes"] = here.get("bytes", 0) + size
    ends = ((place, min(first + (place + 1) * step, last)) for place in range(max(sums) + 1))
    return [Point(end, step, **sums.get(place, {})) for place, end in ends]


def _between(one: Sample, other: Sample) -> Point:
    before, after = one.totals, other.totals
    return Point(
        at=other.at,
        seconds=other.at - one.at,
        pages=_rise(before.pages, after.pages),
        unchanged=_rise(before.unchanged, after.unchanged),
        moved=_rise(before.moved, after.moved),
        skipped=_rise(before.skipped, after.skipped),
        failed=_rise(before.failed, after.failed),
        bytes=_rise(before.bytes, after.bytes),
        in_flight=other.in_flight,
        owed=other.owed,
        memory=other.memory,
    )


def _rise(before: int, after: int) -> int:
    return after - before if after >= before else after
