"""Which metrics are there, and what do they mean? The page of docs/reference, from the tables themselves."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from outrider.observe.metric import Metric
from outrider.observe.metrics import EXTRACT, INTAKE, PROCESS, QUEUES, SCHEDULE, WORKER

INTRODUCTION: Final = """\
`outrider worker`, `outrider extract` and `outrider schedule` serve them at `/metrics` of `metrics_address`, in the text
format of Prometheus. Beside it `/healthz` says whether the process lives and `/readyz` whether it works; see
[how to monitor](../how-to/monitor.md).

Counters begin at 0 with the process and never go back while it lives, also when one of its workers dies. What nobody
knows just now, such as the length of a queue that cannot be reached, is left out. No label is a URL or a host: as many
series as there are sites would break whoever stores them.
"""

HEADER: Final = "name | kind | labels | meaning"

SECTIONS: Final[tuple[tuple[str, Sequence[Metric[Any]]], ...]] = (
    ("outrider worker", (*WORKER, *INTAKE, *QUEUES)),
    ("outrider extract", EXTRACT),
    ("outrider schedule", SCHEDULE),
    ("All of them", PROCESS),
)


def rows(table: Sequence[Metric[Any]]) -> Iterator[tuple[str, ...]]:
    for metric in sorted(table, key=_place):
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        yield f"`{metric.name}`", metric.kind.value, labels, metric.meaning


def _place(metric: Metric[Any]) -> tuple[bool, str]:
    """The names that were promised come first, as they stand."""
    return metric.name.startswith("outrider_"), "" if metric.name.startswith("page_fetcher_") else metric.name
