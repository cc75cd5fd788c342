"""How was this URL found, and by which way does a seed lead to it? Parents are what the records of the visits say."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.model.ledger import Entry
from outrider.model.record import Decision, PageStatus, Record
from outrider.model.task import Origin
from outrider.model.url import Url
from outrider.observe.words import moment
from outrider.ops.story import Ancestor, Discovery
from outrider.ports import Records

LONGEST: Final = 50
"""Steps of a path that are walked back; nobody reads a longer one."""

_BEGINNINGS: Final = frozenset({Origin.SEED.value, Origin.QUEUE.value, Origin.RECRAWL.value})


class _Step(Struct, frozen=True):
    """How one URL was found: by whom, on which page."""

    origin: str
    depth: int = 0
    parent: str | None = None
    at: str | None = None


async def discovery_of(
    names: Iterable[str],
    entry: Entry | None,
    visits: Sequence[Record],
    decisions: Sequence[Decision],
    records: Records,
) -> Discovery | None:
    """None when nothing is on record of it. `names` are those under which the page itself goes."""
    own = set(names)
    step = _by_visit(own, visits) or _by_line(entry) or _by_decision(decisions)
    if step is None:
        return None
    first_visit = min((record.page.metadata.fetched_at for record in visits if record.page), default=None)
    path, at, is_whole = await _path(step, own, first_visit, records)
    depth = step.depth
    if not step.origin and path and path[0].on_record:
        # A refusal names the page alone; what a page links to is one step further than itself.
        depth = path[0].depth + 1
    return Discovery(step.origin, depth, step.parent, step.at or at, path, is_whole)


async def _path(
    step: _Step, known: set[str], before: str | None, records: Records
) -> tuple[tuple[Ancestor, ...], str | None, bool]:
    """The pages that led here, when the first of them was fetched, and whether they go back to a beginning."""
    path: list[Ancestor] = []
    found_at: str | None = None
    known = set(known)
    while step.parent is not None and step.origin not in _BEGINNINGS:
        parent = step.parent
        if parent in known or len(path) >= LONGEST:
            return tuple(path), found_at, False
        known.add(parent)
        visits = await _visits_of(parent, records)
        above = _by_visit({parent}, visits)
        at = _fetched_at(visits, before)
        found_at = found_at or at
        if above is None:
            path.append(Ancestor(parent, on_record=False))
            return tuple(path), found_at, False
        path.append(Ancestor(parent, above.origin, above.depth, at))
        step, before = above, at
    return tuple(path), found_at, step.origin in _BEGINNINGS


async def _visits_of(text: str, records: Records) -> list[Record]:
    try:
        url = Url(text)
    except InvalidUrl:  # somebody else wrote it
        return []
    return [record for record in await records.find(url) if record.page is not None]


def _fetched_at(visits: Sequence[Record], before: str | None) -> str | None:
    """When the page was read that names the URL: the last time before the URL itself was visited, else the first."""
    read = [
        record.page.metadata.fetched_at
        for record in visits
        if record.page is not None and record.page.metadata.status in {PageStatus.FETCHED, PageStatus.MOVED}
    ]
    earlier = [at for at in read if before is None or at <= before]
    return min(earlier or read, default=None)


def _by_visit(names: set[str], visits: Sequence[Record]) -> _Step | None:
    """The first visit tells; one that only ended there was led there by a redirect."""
    for record in visits:
        page = record.page
        if page is not None and page.url in names:
            data = page.metadata
            return _Step(data.origin, data.depth, data.parent)
    for record in visits:
        page = record.page
        if page is not None:
            return _Step(Origin.REDIRECT.value, page.metadata.depth, page.url, page.metadata.fetched_at)
    return None


def _by_line(entry: Entry | None) -> _Step | None:
    if entry is None or entry.task is None:
        return None
    task = entry.task
    return _Step(task.origin.value, task.depth, None if task.parent is None else str(task.parent))


def _by_decision(decisions: Sequence[Decision]) -> _Step | None:
    if not decisions:
        return None
    first = decisions[0]
    return _Step("", 0, first.parent, moment(first.at))


def instant(text: str) -> float | None:
    """Seconds since the epoch of a moment as records have it; None for what is none."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
