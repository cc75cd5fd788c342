"""What is there to say of a crawl at one moment? The facts as labelled rows, the most telling of each first.

The live display, the plain line and `outrider status` all say these; how they look is theirs.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from outrider.model.activity import Activity, shares
from outrider.model.progress import Progress, eta
from outrider.model.reason import Reason
from outrider.observe.words import counted, duration, rate, size, without_passwords

_DOING: Final[Mapping[Activity, str]] = {
    Activity.TURN: "waiting for turns",
    Activity.ROOM: "waiting for room",
    Activity.PROBING: "probing",
    Activity.RESOLVING: "DNS",
    Activity.CONNECTING: "connecting",
    Activity.TLS: "TLS",
    Activity.FIRST_BYTE: "waiting for answers",
    Activity.RECEIVING: "receiving",
    Activity.READING: "reading",
    Activity.OTHER: "other",
}

TOP = 5
"""So many reasons are told; the others are one number."""


def headline(progress: Progress) -> str:
    if progress.finish is not None:
        return "ended"
    return "paused" if progress.paused else "crawling"


def rows(progress: Progress) -> Iterator[tuple[str, list[str]]]:
    """A label and its pieces."""
    counts, census = progress.counts, progress.census
    yield "pages", _pages(progress)
    yield "queue", [f"{census.pending:,} pending", f"{census.waiting:,} waiting", f"{census.discovered:,} discovered"]
    yield "in flight", [counted(progress.in_flight, "visit"), counted(progress.workers, "worker")]
    yield "sites", [f"{progress.held:,} held", f"{progress.broken:,} down", f"{_idle(progress):,} at rest"]
    yield "visits", _visits(progress)
    yield (
        "bytes",
        [size(counts.bytes), counted(counts.requests, "request"), counted(counts.retried, "retry", "retries")],
    )
    if counts.activity:
        yield "time", spent(counts.activity)
    if counts.errors:
        yield "errors", top(counts.errors)
    if progress.memory:
        yield "memory", [size(progress.memory)]
    if progress.paused:
        yield "paused", [without_passwords(progress.paused)]
    if progress.waiting_for:
        yield "waiting", [f"for {progress.waiting_for}"]


def _pages(progress: Progress) -> list[str]:
    pages = f"{progress.counts.pages:,}"
    if progress.limit_pages is not None:
        pages += f" of {progress.limit_pages:,}"
    left = eta(progress)
    told = [pages, rate(progress.rate)]
    return [*told, f"about {duration(left)} left"] if left else told


def _visits(progress: Progress) -> list[str]:
    counts = progress.counts
    kinds = ("failed", "skipped", "moved", "unchanged")
    return [f"{counts.visits:,}", *(f"{getattr(counts, kind):,} {kind}" for kind in kinds if getattr(counts, kind))]


def _idle(progress: Progress) -> int:
    return max(progress.census.sites - progress.held - progress.broken, 0)


def spent(seconds: Mapping[Activity, float]) -> list[str]:
    """What the visitors of sites are busy with, in percents that add up to 100."""
    return [f"{_DOING[activity]} {share} %" for activity, share in shares(seconds).items()]


def top(reasons: Mapping[Reason, int], most: int = TOP) -> list[str]:
    """The most frequent first."""
    by_count = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{reason} {count:,}" for reason, count in by_count[:most]]
    rest = sum(count for _, count in by_count[most:])
    return [*told, f"others {rest:,}"] if rest else told
