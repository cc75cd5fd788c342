"""How is it going? What a crawl tells of itself, or what its stores count, as one value. Pure: all of it comes in."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from outrider import __version__
from outrider.model.activity import Activity
from outrider.model.ledger import Census
from outrider.model.progress import Counts, Progress, eta
from outrider.model.reason import Reason
from outrider.model.record import PageStatus, Tally
from outrider.ops.meaning import meaning
from outrider.web.history import History, Sample
from outrider.web.shapes import Counted, Overview, Share, States, Totals

_FIELDS: Final = tuple(name for name in Totals.__struct_fields__ if name in Counts.__struct_fields__)


class Known(Struct, frozen=True):
    """What was found at one moment. `progress` is None where no crawl tells of itself; then there is a `tally`."""

    at: float
    census: Census
    tally: Tally = Tally()
    progress: Progress | None = None
    running: bool | None = None


def sample_of(known: Known) -> Sample:
    progress = known.progress
    return Sample(
        at=known.at,
        totals=totals_of(known),
        in_flight=progress.in_flight if progress is not None else 0,
        owed=known.census.pending + known.census.waiting,
        memory=progress.memory if progress is not None else 0,
    )


def totals_of(known: Known) -> Totals:
    if known.progress is not None:
        counts = known.progress.counts
        return Totals(**{name: getattr(counts, name) for name in _FIELDS})
    pages = known.tally.pages
    return Totals(
        visits=sum(pages.values()),
        pages=pages.get(PageStatus.FETCHED, 0),
        unchanged=pages.get(PageStatus.NOT_MODIFIED, 0),
        moved=pages.get(PageStatus.MOVED, 0),
        skipped=pages.get(PageStatus.SKIPPED, 0),
        failed=pages.get(PageStatus.FAILED, 0),
        bytes=known.tally.bytes,
    )


def overview_of(known: Known, history: History, *, name: str, can_act: bool, ordered: int = 0) -> Overview:
    census = known.census
    progress = known.progress or Progress(known.at, known.at, census=census, rate=history.rate())
    is_watched = known.progress is not None
    runs = known.running is not False
    return Overview(
        at=known.at,
        name=name,
        version=__version__,
        running=known.running,
        is_watched=is_watched,
        can_act=can_act,
        started_at=progress.started_at if is_watched else None,
        finish=progress.finish,
        paused=progress.paused if runs else "",
        waiting_for=progress.waiting_for if runs else "",
        rate=progress.rate if runs else 0.0,
        in_flight=progress.in_flight if runs else 0,
        held=progress.held if is_watched else census.leased,
        broken=progress.broken,
        workers=progress.workers if runs else 0,
        deaths=progress.deaths,
        memory=progress.memory if runs else 0,
        limit_pages=progress.limit_pages,
        seconds_left=eta(progress) if is_watched and runs else None,
        ordered=ordered,
        states=states_of(census),
        totals=totals_of(known),
        errors=counted_reasons(progress.counts.errors),
        skipped=counted_reasons(census.skipped),
        dead=counted_reasons(census.dead),
        activity=shares_of(progress.counts.activity),
        history=history.points(),
    )


def states_of(census: Census) -> States:
    return States(
        discovered=census.discovered,
        pending=census.pending,
        waiting=census.waiting,
        fetched=census.fetched,
        skipped=sum(census.skipped.values()),
        dead=sum(census.dead.values()),
        alias=census.alias,
        sites=census.sites,
        leased=census.leased,
        stale=census.stale,
    )


def counted_reasons(reasons: Mapping[Reason, int]) -> tuple[Counted, ...]:
    """The most frequent first."""
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Counted(reason.value, count, meaning(reason)) for reason, count in ordered if count)


def shares_of(activity: Mapping[Activity, float]) -> tuple[Share, ...]:
    """The largest first; together they are all of the workers' time."""
    whole = sum(activity.values())
    if whole <= 0:
        return ()
    ordered = sorted(activity.items(), key=lambda item: -item[1])
    return tuple(Share(name.value, seconds, seconds / whole) for name, seconds in ordered)
