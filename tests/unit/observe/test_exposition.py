"""What Prometheus is told is what was counted, under the names that were promised."""

import re
import sys
from collections.abc import Iterator

import pytest
from msgspec import Struct
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from tests.unit.observe.crawls import BUSY

from outrider.errors import OutriderError
from outrider.model.activity import Activity
from outrider.model.progress import Counts, Progress, WorstBreaker
from outrider.model.reason import Reason
from outrider.observe.exposition import extract_exposition, schedule_exposition, worker_exposition
from outrider.observe.metric import Kind
from outrider.observe.metrics import EXTRACT, INTAKE, PROCESS, QUEUES, SCHEDULE, WORKER


class Taken(Struct, frozen=True):
    new: int = 40
    again: int = 20
    owed: int = 5
    refused: int = 2
    unreadable: int = 3


class Sizes(Struct, frozen=True):
    queue: int | None = None
    letters: int | None = None


class ExtractCounts(Struct, frozen=True):
    pages: int = 0
    missing: int = 0
    malformed: int = 0
    bugs: int = 0
    links: int = 0
    new_urls: int = 0
    refused: int = 0
    lag: int = 0


class ScheduleCounts(Struct, frozen=True):
    urls_enqueued: int
    seed_urls_enqueued: int
    queue_size: int
    loop_lag: float


SIZES = Sizes(queue=12, letters=5)
TABLES = (WORKER, INTAKE, QUEUES, EXTRACT, SCHEDULE, PROCESS)
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parsed(text: bytes) -> Samples:
    """By name and labels, as another program reads it."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def told(progress: Progress | None = BUSY, sizes: Sizes = SIZES, why_not: str | None = None) -> Samples:
    return parsed(worker_exposition(lambda: progress, Taken, lambda: sizes, lambda: why_not)())


def plain(samples: Samples, name: str) -> float:
    return samples[name, frozenset()]


def labelled(samples: Samples, name: str) -> dict[tuple[str, ...], float]:
    return {tuple(dict(sorted(labels)).values()): value for (other, labels), value in samples.items() if other == name}


def test_the_counters_of_a_page_fetcher_have_their_names() -> None:
    """S4-46"""
    counts = Counts(pages=10, unchanged=2, dead=4, disallowed=3, requeued=5, retried=6, failed=30)

    samples = told(replace(BUSY, counts=counts))

    assert {
        name: plain(samples, f"page_fetcher_{name}_total")
        for name in ("pages_fetched", "pages_failed", "pages_skipped_robots", "pages_requeued", "retries")
    } == {"pages_fetched": 12, "pages_failed": 4, "pages_skipped_robots": 3, "pages_requeued": 5, "retries": 6}
    assert plain(samples, "page_fetcher_dlq_enqueued_total") == 4 + Taken().unreadable


def test_the_counters_of_the_breaker_have_their_names() -> None:
    """S4-47"""
    counts = Counts(opened=7, closed=6, probes_alive=5, probes_failed=4)

    samples = told(replace(BUSY, counts=counts))

    assert plain(samples, "page_fetcher_circuit_breaker_opened_total") == 7
    assert plain(samples, "page_fetcher_circuit_breaker_closed_total") == 6
    probes = labelled(samples, "page_fetcher_circuit_breaker_probes_total")
    assert probes == {("success",): 5, ("failure",): 4}


@pytest.mark.parametrize(
    ("breaker", "state"),
    [
        (WorstBreaker(), 0),
        (WorstBreaker(60.0, 6, is_open=True), 1),
        (WorstBreaker(60.0, 6, is_open=True, is_probed=True), 2),
    ],
)
def test_the_gauges_have_their_names(breaker: WorstBreaker, state: int) -> None:
    """S4-48"""
    samples = told(replace(BUSY, breaker=breaker))

    assert plain(samples, "page_fetcher_input_queue_size") == 12
    assert plain(samples, "page_fetcher_dlq_size") == 5
    assert plain(samples, "page_fetcher_circuit_breaker_state") == state
    assert plain(samples, "page_fetcher_circuit_breaker_consecutive_failures") == breaker.failures
    assert plain(samples, "page_fetcher_circuit_breaker_current_backoff_seconds") == breaker.backoff


def test_the_histograms_have_their_names_and_count_upwards() -> None:
    """S4-49"""
    counts = Counts()
    for seconds in (0.01, 0.2, 0.2, 400.0):
        counts.seconds.observe(seconds)
    counts.sizes.observe(5_000)

    samples = told(replace(BUSY, counts=counts))

    buckets = {le: n for (le,), n in labelled(samples, "page_fetcher_fetch_duration_seconds_bucket").items()}
    assert (buckets["0.05"], buckets["0.25"], buckets["120.0"], buckets["+Inf"]) == (1, 3, 3, 4)
    assert plain(samples, "page_fetcher_fetch_duration_seconds_count") == 4
    assert plain(samples, "page_fetcher_fetch_duration_seconds_sum") == pytest.approx(400.41)
    assert plain(samples, "page_fetcher_content_size_bytes_sum") == 5_000


def test_the_frontier_is_told_by_state_and_reason_and_adds_up() -> None:
    samples = told()

    states = labelled(samples, "outrider_frontier_urls")
    assert states["", "pending"] == BUSY.census.pending
    assert states["out_of_scope", "skipped"] == 1_000
    assert states["http_404", "dead"] == 200
    assert sum(states.values()) == plain(samples, "outrider_frontier_discovered")


def test_failures_are_told_by_reason() -> None:
    failures = labelled(told(), "outrider_failures_total")

    assert failures["http_404",] == BUSY.counts.errors[Reason.HTTP_404]


def test_seconds_are_told_by_what_they_were_spent_on_and_are_all() -> None:
    counts = Counts(activity={Activity.TURN: 30.5, Activity.READING: 1.5})

    seconds = labelled(told(replace(BUSY, counts=counts)), "outrider_worker_seconds_total")

    assert set(seconds) == {(activity.value,) for activity in Activity}
    assert (seconds["turn",], seconds["reading",], sum(seconds.values())) == (30.5, 1.5, 32.0)


def test_what_nobody_knows_is_not_told() -> None:
    """A queue whose size could not be read is not an empty one."""
    samples = told(sizes=Sizes())

    names = {name for name, _ in samples}
    assert "page_fetcher_input_queue_size" not in names
    assert "page_fetcher_dlq_enqueued_total" in names


def test_entries_are_told_by_what_became_of_them() -> None:
    entries = labelled(told(), "outrider_intake_entries_total")

    assert entries == {("new",): 40, ("again",): 20, ("owed",): 5, ("refused",): 2, ("unreadable",): 3}


def test_before_the_first_report_nothing_was_done_yet() -> None:
    samples = told(progress=None, why_not="starting")

    assert plain(samples, "page_fetcher_pages_fetched_total") == 0
    assert plain(samples, "outrider_workers") == 0


@pytest.mark.parametrize(("why_not", "paused", "ready"), [(None, "", 1), ("paused: no network", "no network", 0)])
def test_a_pause_is_told(why_not: str | None, paused: str, ready: int) -> None:
    samples = told(replace(BUSY, paused=paused), why_not=why_not)

    assert (plain(samples, "outrider_ready"), plain(samples, "outrider_paused")) == (ready, int(bool(paused)))


def test_the_extractor_tells_its_own() -> None:
    """S4-51: how many contents were gone before they were read is watched."""
    counts = ExtractCounts(pages=5, missing=1, malformed=2, links=100, new_urls=40, lag=7)

    samples = parsed(extract_exposition(lambda: counts, lambda: None)())

    assert plain(samples, "outrider_extract_missing_total") == 1
    assert plain(samples, "outrider_extract_lag") == 7
    assert plain(samples, "outrider_extract_urls_new_total") == 40


def test_the_scheduler_tells_its_own() -> None:
    counts = ScheduleCounts(urls_enqueued=50, seed_urls_enqueued=10, queue_size=33, loop_lag=0.5)

    samples = parsed(schedule_exposition(lambda: counts, lambda: "starting")())

    assert plain(samples, "crawler_scheduler_urls_enqueued_total") == 50
    assert plain(samples, "crawler_scheduler_seed_urls_enqueued_total") == 10
    assert plain(samples, "crawler_scheduler_crawler_queue_size") == 33
    assert plain(samples, "crawler_scheduler_loop_lag_seconds") == 0.5
    assert plain(samples, "outrider_ready") == 0


def test_what_is_served_is_read_anew_each_time_and_not_before() -> None:
    numbers = iter(range(1, 100))

    serve = extract_exposition(lambda: ExtractCounts(pages=next(numbers)), lambda: None)
    first, second = (plain(parsed(serve()), "outrider_extract_pages_total") for _ in range(2))

    assert (first, second) == (1, 2)


def _names() -> Iterator[tuple[str, Kind, tuple[str, ...], str]]:
    for table in TABLES:
        for metric in table:
            yield metric.name, metric.kind, metric.labels, metric.meaning


def test_names_are_unique_and_say_their_kind() -> None:
    names = [name for name, _, _, _ in _names()]

    assert len(names) == len(set(names))
    for name, kind, _, meaning in _names():
        assert re.fullmatch(r"(page_fetcher|crawler_scheduler|outrider)_[a-z_]+", name)
        assert name.endswith("_total") == (kind is Kind.COUNTER)
        assert meaning.endswith(".")


def test_no_label_can_be_a_url_or_a_host() -> None:
    """As many series as there are sites would break whoever stores them."""
    assert {label for _, _, labels, _ in _names() for label in labels} == {
        *("activity", "outcome", "python", "reason", "result", "state", "version"),
    }


def test_without_the_client_library_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(OutriderError, match=r"pip install 'outrider\[service\]'"):
        extract_exposition(ExtractCounts, lambda: None)
