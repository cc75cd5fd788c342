"""What does a finished visit add to what its worker has counted? The one place that knows."""

from typing import assert_never

from outrider.engine.finisher import Finished
from outrider.model.event import Event, SiteCameBack, SiteProbed, SiteWentDown
from outrider.model.outcome import Failed, Fetched, Moved, NotModified, Outcome, Scope, Skipped, Visit
from outrider.model.progress import Counts
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later


def count(counts: Counts, item: Finished) -> None:
    """Once for each item that is written, in place."""
    for event in item.events:
        _count_event(counts, event)
    if isinstance(item.settlement, Dead):
        counts.dead += 1
    if item.haul is None:
        return
    visit = item.haul.visit
    _count_visit(counts, visit)
    _count_outcome(counts, visit.outcome)
    if isinstance(item.settlement, Later) and _is_excused(visit.outcome):
        counts.requeued += 1
    if item.capture is not None:
        counts.bytes += len(item.capture.body)
    if item.found is not None:
        counts.links += item.found.links


def _count_event(counts: Counts, event: Event) -> None:
    match event:
        case SiteWentDown():
            counts.opened += 1
        case SiteCameBack():
            counts.closed += 1
        case SiteProbed(alive=True):
            counts.probes_alive += 1
        case SiteProbed():
            counts.probes_failed += 1


def _count_visit(counts: Counts, visit: Visit) -> None:
    counts.visits += 1
    counts.requests += visit.requests
    counts.retried += sum(past.wait is not None for past in visit.tries)
    if visit.requests:
        # A clock that was set back makes no negative time.
        counts.seconds.observe(max(visit.ended_at - visit.started_at, 0.0))


def _count_outcome(counts: Counts, outcome: Outcome) -> None:
    match outcome:
        case Fetched(body=body):
            counts.pages += 1
            counts.sizes.observe(body.length)
        case NotModified():
            counts.unchanged += 1
        case Moved():
            counts.moved += 1
        case Skipped(reason):
            counts.skipped += 1
            counts.disallowed += reason is Reason.ROBOTS_DISALLOWED
            counts.errors[reason] = counts.errors.get(reason, 0) + 1
        case Failed(failure):
            counts.failed += 1
            counts.errors[failure.reason] = counts.errors.get(failure.reason, 0) + 1
        case _:
            assert_never(outcome)


def _is_excused(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.failure.scope is Scope.SITE
