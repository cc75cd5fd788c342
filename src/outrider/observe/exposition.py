"""The tables of `metrics`, written down for Prometheus each time that it asks. Nothing is kept, nothing is global."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from outrider.errors import OutriderError
from outrider.model.histogram import Histogram
from outrider.model.progress import Progress
from outrider.observe.counted import ExtractCounts, IntakeCounts, QueueSizes, ScheduleCounts
from outrider.observe.metric import Kind, Metric
from outrider.observe.metrics import EXTRACT, INTAKE, PROCESS, QUEUES, SCHEDULE, WORKER

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

S = TypeVar("S")

Ready: TypeAlias = Callable[[], str | None]


def worker_exposition(
    progress: Callable[[], Progress | None],
    intake: Callable[[], IntakeCounts],
    sizes: Callable[[], QueueSizes],
    ready: Ready,
) -> Callable[[], bytes]:
    """What `outrider worker` serves. Each is asked once a scrape; no progress yet means that nothing was done yet."""

    def families() -> "Iterator[Family]":
        now = progress() or Progress(0.0, 0.0)
        yield from _families(WORKER, now)
        yield from _families(INTAKE, (now, intake()))
        yield from _families(QUEUES, sizes())
        yield from _families(PROCESS, ready())

    return exposition(families)


def extract_exposition(counts: Callable[[], ExtractCounts], ready: Ready) -> Callable[[], bytes]:
    return exposition(lambda: (*_families(EXTRACT, counts()), *_families(PROCESS, ready())))


def schedule_exposition(counts: Callable[[], ScheduleCounts], ready: Ready) -> Callable[[], bytes]:
    return exposition(lambda: (*_families(SCHEDULE, counts()), *_families(PROCESS, ready())))


def exposition(families: "Callable[[], Iterable[Family]]") -> Callable[[], bytes]:
    """Raises `OutriderError` where the client library is missing."""
    try:
        from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra: only who needs it
        from prometheus_client.registry import Collector  # noqa: PLC0415 - the same
    except ImportError as error:
        raise OutriderError("metrics need prometheus-client: pip install 'outrider[service]'") from error

    class Collected(Collector):
        def collect(self) -> "Iterable[Family]":
            return families()

    # Without `auto_describe` it is not asked before somebody scrapes: nothing may have been counted yet.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected())
    return lambda: generate_latest(registry)


def _families(table: Sequence[Metric[S]], source: S) -> "Iterator[Family]":
    from prometheus_client import core  # noqa: PLC0415 - see above

    for metric in table:
        about = metric.name, metric.meaning
        values = [(labels, value) for labels, value in metric.read(source) if value is not None]
        if metric.kind is Kind.HISTOGRAM:
            spread = core.HistogramMetricFamily(*about, labels=metric.labels)
            for labels, value in values:
                assert isinstance(value, Histogram)  # noqa: S101 - what `histogram` makes
                spread.add_metric(labels, _buckets(value), value.total)
            yield spread
            continue
        made = core.CounterMetricFamily if metric.kind is Kind.COUNTER else core.GaugeMetricFamily
        family = made(*about, labels=metric.labels)
        for labels, value in values:
            assert not isinstance(value, Histogram)  # noqa: S101 - what `counter` and `gauge` make
            family.add_metric(labels, value)
        yield family


def _buckets(spread: Histogram) -> list[tuple[str, float]]:
    """Prometheus counts in each bucket what is in those below it, too."""
    bounds = [*map(str, spread.bounds), "+Inf"]
    return list(zip(bounds, accumulate(spread.buckets), strict=True))
