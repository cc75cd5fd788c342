"""What is a metric? Its name, what it means, and how its value is read from something that was counted.

Nothing is counted here, and no driver is needed: `exposition` writes these down for Prometheus.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from outrider.model.histogram import Histogram

S = TypeVar("S")

Value: TypeAlias = float | Histogram | None
"""None: nobody knows just now, and nothing is told."""


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Struct, Generic[S], frozen=True):
    """`name` is what a query asks for; that of a counter ends in _total. No label is a URL or a host.

    `read` gives one value for each combination of `labels`, which are given in their order.
    """

    name: str
    kind: Kind
    meaning: str
    read: Callable[[S], Iterable[tuple[tuple[str, ...], Value]]]
    labels: tuple[str, ...] = ()


def counter(name: str, meaning: str, read: Callable[[S], Value]) -> Metric[S]:
    return Metric(name, Kind.COUNTER, meaning, lambda source: [((), read(source))])


def gauge(name: str, meaning: str, read: Callable[[S], Value]) -> Metric[S]:
    return Metric(name, Kind.GAUGE, meaning, lambda source: [((), read(source))])


def histogram(name: str, meaning: str, read: Callable[[S], Histogram]) -> Metric[S]:
    return Metric(name, Kind.HISTOGRAM, meaning, lambda source: [((), read(source))])
