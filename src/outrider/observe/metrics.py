"""Which metrics are there? One table for each thing that counts; whoever serves them picks the tables it has.

`page_fetcher_…` and `crawler_scheduler_…` are the names that the service was specified with (S4-46 to S4-49) and stay
as they are. The rest is `outrider_…`. The reference page is printed from here.
"""

import platform
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from outrider import __version__
from outrider.model.activity import Activity
from outrider.model.ledger import Census
from outrider.model.progress import Progress
from outrider.model.reason import Reason
from outrider.observe.counted import ExtractCounts, IntakeCounts, QueueSizes, ScheduleCounts
from outrider.observe.metric import Kind, Metric, Value, counter, gauge, histogram

Values: TypeAlias = Iterator[tuple[tuple[str, ...], Value]]


def _probes(progress: Progress) -> Values:
    yield ("success",), progress.counts.probes_alive
    yield ("failure",), progress.counts.probes_failed


def _visits(progress: Progress) -> Values:
    counts = progress.counts
    yield ("fetched",), counts.pages
    yield ("unchanged",), counts.unchanged
    yield ("moved",), counts.moved
    yield ("skipped",), counts.skipped
    yield ("failed",), counts.failed


def _failures(progress: Progress) -> Values:
    return _by_reason(progress.counts.errors)


def _seconds(progress: Progress) -> Values:
    for activity in Activity:
        yield (activity.value,), progress.counts.activity.get(activity, 0.0)


def _by_reason(numbers: Mapping[Reason, int]) -> Values:
    for reason, number in sorted(numbers.items()):
        yield (reason.value,), number


def _states(progress: Progress) -> Values:
    census: Census = progress.census
    for state in ("pending", "waiting", "fetched", "alias"):
        yield (state, ""), getattr(census, state)
    for state, reasons in (("skipped", census.skipped), ("dead", census.dead)):
        for (reason,), number in _by_reason(reasons):
            yield (state, reason), number


def _entries(both: tuple[Progress, IntakeCounts]) -> Values:
    for result in ("new", "again", "owed", "refused", "unreadable"):
        yield (result,), getattr(both[1], result)


def _build(_: object) -> Values:
    yield (__version__, platform.python_version()), 1


WORKER: Final[tuple[Metric[Progress], ...]] = (
    counter(
        "page_fetcher_pages_fetched_total",
        "Pages that were had, new or unchanged.",
        lambda progress: progress.counts.pages + progress.counts.unchanged,
    ),
    counter(
        "page_fetcher_pages_failed_total",
        "URLs that were given up after their last visit, by their own fault.",
        lambda progress: progress.counts.dead,
    ),
    counter(
        "page_fetcher_pages_skipped_robots_total",
        "Visits that robots.txt forbade.",
        lambda progress: progress.counts.disallowed,
    ),
    counter(
        "page_fetcher_pages_requeued_total",
        "URLs that went back into the queue because of their site.",
        lambda progress: progress.counts.requeued,
    ),
    counter(
        "page_fetcher_retries_total",
        "Requests that were made again inside a visit.",
        lambda progress: progress.counts.retried,
    ),
    counter(
        "page_fetcher_circuit_breaker_opened_total",
        "Times that a site's breaker opened, again after a failed probe included.",
        lambda progress: progress.counts.opened,
    ),
    counter(
        "page_fetcher_circuit_breaker_closed_total",
        "Times that a site's breaker closed: the site came back.",
        lambda progress: progress.counts.closed,
    ),
    Metric(
        "page_fetcher_circuit_breaker_probes_total",
        Kind.COUNTER,
        "Requests that asked whether a site is back, by result: success or failure.",
        _probes,
        ("result",),
    ),
    gauge(
        "page_fetcher_circuit_breaker_state",
        "Of the worst site: 0 closed (no site is down), 1 open, 2 half open (being probed).",
        lambda progress: progress.breaker.state,
    ),
    gauge(
        "page_fetcher_circuit_breaker_consecutive_failures",
        "Of the worst site: failures in a row, failed probes included.",
        lambda progress: progress.breaker.failures,
    ),
    gauge(
        "page_fetcher_circuit_breaker_current_backoff_seconds",
        "Of the worst site: how long it is left alone; 0 when no site is down.",
        lambda progress: progress.breaker.backoff,
    ),
    histogram(
        "page_fetcher_fetch_duration_seconds",
        "How long visits took that asked for something, retries, redirects and waiting for their turn included.",
        lambda progress: progress.counts.seconds,
    ),
    histogram(
        "page_fetcher_content_size_bytes",
        "How large the fetched contents are, decoded.",
        lambda progress: progress.counts.sizes,
    ),
    Metric("outrider_visits_total", Kind.COUNTER, "Visits that are over, by how they ended.", _visits, ("outcome",)),
    Metric(
        "outrider_failures_total",
        Kind.COUNTER,
        "Visits that brought no page, skipped ones included, by reason.",
        _failures,
        ("reason",),
    ),
    counter(
        "outrider_requests_total",
        "Requests, those for robots.txt, redirects and retries included.",
        lambda progress: progress.counts.requests,
    ),
    counter("outrider_bytes_total", "Bytes of bodies, as sent.", lambda progress: progress.counts.bytes),
    counter(
        "outrider_links_total", "Links that were seen in pages by the worker.", lambda progress: progress.counts.links
    ),
    counter(
        "outrider_urls_new_total",
        "URLs that visits added to the frontier and nobody had known.",
        lambda progress: progress.counts.urls,
    ),
    counter(
        "outrider_leases_lost_total",
        "Sites that went to another worker before this one was done with them.",
        lambda progress: progress.counts.lost_leases,
    ),
    Metric(
        "outrider_worker_seconds_total",
        Kind.COUNTER,
        "Seconds of all visitors of sites, by what they were spent on; the sum is all of their time.",
        _seconds,
        ("activity",),
    ),
    counter("outrider_worker_deaths_total", "Worker processes that vanished.", lambda progress: progress.deaths),
    gauge("outrider_workers", "Worker processes.", lambda progress: progress.workers),
    gauge("outrider_visits_in_flight", "Visits that are under way.", lambda progress: progress.in_flight),
    gauge("outrider_sites_held", "Sites that are lent to this process's workers.", lambda progress: progress.held),
    gauge(
        "outrider_sites_down",
        "Sites whose breaker is open, as far as this process's workers saw lately.",
        lambda progress: progress.broken,
    ),
    gauge(
        "outrider_paused",
        "1 while nothing is asked: our own network is down, or a store is away.",
        lambda progress: int(bool(progress.paused)),
    ),
    gauge("outrider_memory_bytes", "What all processes together occupy.", lambda progress: progress.memory),
    gauge("outrider_start_time_seconds", "When it started, since 1970.", lambda progress: progress.started_at or None),
    Metric(
        "outrider_frontier_urls",
        Kind.GAUGE,
        "URLs of the whole frontier, by state; skipped and dead ones by reason. Every worker tells the same.",
        _states,
        ("state", "reason"),
    ),
    gauge(
        "outrider_frontier_discovered",
        "URLs that were ever proposed: the sum of the states. Every worker tells the same.",
        lambda progress: progress.census.discovered,
    ),
    gauge("outrider_frontier_sites", "Sites of the whole frontier.", lambda progress: progress.census.sites),
)

INTAKE: Final[tuple[Metric[tuple[Progress, IntakeCounts]], ...]] = (
    counter(
        "page_fetcher_dlq_enqueued_total",
        "Dead letters: URLs that were given up, and entries of the queue that are none.",
        lambda both: both[0].counts.dead + both[1].unreadable,
    ),
    Metric(
        "outrider_intake_entries_total",
        Kind.COUNTER,
        "Entries of the queue, by what became of them: new, again (visited before), owed (waiting already), refused, "
        "unreadable.",
        _entries,
        ("result",),
    ),
)

QUEUES: Final[tuple[Metric[QueueSizes], ...]] = (
    gauge("page_fetcher_input_queue_size", "Entries that wait in the queue.", lambda sizes: sizes.queue),
    gauge("page_fetcher_dlq_size", "Dead letters that nobody has taken yet.", lambda sizes: sizes.letters),
)

EXTRACT: Final[tuple[Metric[ExtractCounts], ...]] = (
    counter("outrider_extract_pages_total", "Pages that were read for links.", lambda counts: counts.pages),
    counter(
        "outrider_extract_missing_total",
        "Pages whose content had left the cache before it was read.",
        lambda counts: counts.missing,
    ),
    counter("outrider_extract_malformed_total", "Messages that tell of no page.", lambda counts: counts.malformed),
    counter("outrider_extract_bugs_total", "Pages that only a bug kept from being read.", lambda counts: counts.bugs),
    counter("outrider_extract_links_total", "Links that were found.", lambda counts: counts.links),
    counter(
        "outrider_extract_urls_new_total", "URLs among them that nobody had known.", lambda counts: counts.new_urls
    ),
    counter("outrider_extract_refused_total", "Links that no rule lets in.", lambda counts: counts.refused),
    gauge("outrider_extract_lag", "Messages that wait to be read.", lambda counts: counts.lag),
)

SCHEDULE: Final[tuple[Metric[ScheduleCounts], ...]] = (
    counter(
        "crawler_scheduler_urls_enqueued_total",
        "URLs that were put into the queue.",
        lambda counts: counts.urls_enqueued,
    ),
    counter(
        "crawler_scheduler_seed_urls_enqueued_total",
        "Pages among them that somebody named, by themselves or in a list of seeds; the others are sitemaps and feeds.",
        lambda counts: counts.seed_urls_enqueued,
    ),
    gauge("crawler_scheduler_crawler_queue_size", "Entries that wait in the queue.", lambda counts: counts.queue_size),
    gauge(
        "crawler_scheduler_loop_lag_seconds",
        "How long the source that is longest overdue has waited.",
        lambda counts: counts.loop_lag,
    ),
)

PROCESS: Final[tuple[Metric[str | None], ...]] = (
    gauge("outrider_ready", "What /readyz says: 1 ready, 0 not.", lambda why_not: int(why_not is None)),
    Metric("outrider_build_info", Kind.GAUGE, "Always 1.", _build, ("version", "python")),
)
