"""Which URLs were given up, and why? And what becomes of them: another visit, or none ever again.

A dead letter is a line of the ledger. It keeps why, and how often it was tried; when that was last, and what was seen
then, the records know. What a service has told other programs of its dead letters is neither read here nor changed.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, Protocol

from msgspec import Struct, field

from outrider.errors import ConfigError, InvalidUrl
from outrider.model.event import UrlDismissed, UrlReplayed
from outrider.model.ledger import Entry, Filter, Search, State
from outrider.model.reason import Reason
from outrider.model.record import Page
from outrider.model.task import Task
from outrider.model.url import SiteBy, Url
from outrider.ops.ancestry import instant
from outrider.ops.walks import walking
from outrider.policy.transition import revived
from outrider.ports import Browsable, EventSink, OwesAgain, Records, TakesOrders
from outrider.stores.registry import FrontierStore

_SIDE_BY_SIDE: Final = 50
"""Letters that are looked up at once: a store that answers one at a time need not be waited for each time."""
_AT_ONCE: Final = 500
"""Letters an act, when there are many: for each act, a store may look through all that a site owes."""
_ONE_BY_ONE: Final = 20
"""So few are acted upon one at a time: then it is known of each whether it was us."""


class Operated(Protocol):
    """The stores of what is operated on; `events` is where an act is told."""

    @property
    def frontier(self) -> FrontierStore: ...

    @property
    def records(self) -> Records: ...

    @property
    def events(self) -> EventSink: ...


class Wanted(Struct, frozen=True):
    """Which dead letters are meant; what is empty does not matter.

    `site` is a politeness unit, or a host of one. `status` 0 means that no answer came. `since` and `until` are about
    the last visit. `text` is a part of the URL.
    """

    urls: tuple[Url, ...] = ()
    reasons: frozenset[Reason] = frozenset()
    site: str | None = None
    status: int | None = None
    since: float | None = None
    until: float | None = None
    text: str | None = None

    @property
    def is_dated(self) -> bool:
        return self.since is not None or self.until is not None


class Letter(Struct, frozen=True, rename="camel"):
    """One URL that was given up. `visits` counted against it; `last_at`, `error` and `fetch_id` are of the last one.

    Those three are None where no visit is on record; `last_at` is then what the line's task knows of it, if anything.
    """

    url: Url
    site: str
    reason: Reason
    status: int | None = None
    visits: int = 0
    detail: str = ""
    last_at: float | None = None
    error: str | None = None
    fetch_id: str | None = None
    depth: int = 0
    origin: str = ""
    parent: Url | None = None


class Count(Struct, rename="camel"):
    """How many match, and the `first` of them. `undated` ones were left out: nobody knows when they were visited."""

    total: int = 0
    by_reason: Counter[str] = field(default_factory=Counter)
    by_site: Counter[str] = field(default_factory=Counter)
    undated: int = 0
    first: list[Letter] = []

    def add(self, letters: Sequence[Letter]) -> None:
        self.total += len(letters)
        self.by_reason.update(letter.reason.value for letter in letters)
        self.by_site.update(letter.site for letter in letters)


async def letters(
    frontier: FrontierStore, records: Records, wanted: Wanted, *, visits: bool = True
) -> AsyncIterator[Letter]:
    """Those that match, in the order of the store. The ledger may change meanwhile.

    Without `visits`, the records are asked only where the time of a visit counts.
    """
    async with walking(_lines(frontier, wanted)) as batches:
        async for lines in batches:
            found = await _letters(lines, records) if visits or wanted.is_dated else map(_letter, lines)
            for letter in found:
                if _is_in_time(letter, wanted):
                    yield letter


async def count_letters(frontier: FrontierStore, records: Records, wanted: Wanted, *, first: int = 0) -> Count:
    """One walk over the dead lines. The records are asked only about the `first`, or where the time of a visit counts.

    However many there are, no more than a batch is held.
    """
    count = Count()
    async with walking(_lines(frontier, wanted)) as batches:
        async for lines in batches:
            if wanted.is_dated:
                found = await _letters(lines, records)
                count.undated += sum(letter.last_at is None for letter in found)
                found = [letter for letter in found if _is_in_time(letter, wanted)]
            else:
                shown = lines[: max(first - count.total, 0)]
                found = [*await _letters(shown, records), *map(_letter, lines[len(shown) :])]
            count.first += found[: max(first - count.total, 0)]
            count.add(found)
    return count


async def replay(operated: Operated, urls: Sequence[Url], by: str, *, at: float | None = None) -> int:
    """Owe those that are dead letters a visit again, with fresh counts, and tell of it; how many.

    What another has replayed meanwhile is not counted: of two who replay one letter, one does. A store may leave a
    site alone that has very much to do. Raises `ConfigError` for a frontier that cannot owe a URL again.
    """
    frontier = operated.frontier
    if not isinstance(frontier, OwesAgain):
        raise ConfigError("this frontier cannot owe a URL another visit")
    at = time.time() if at is None else at
    count = 0
    for some in _parts(urls):
        lines = await _dead(frontier, some)
        if not lines:
            continue
        owed = await frontier.owe_again([revived(line.task or Task(line.url), 0) for line in lines], ended=True)
        count += owed
        if 0 < owed < len(lines):
            # The count says how many were ours, not which: those that another replayed at this very moment are told
            # of twice, rather than one of ours never.
            still_dead = {line.url for line in await _dead(frontier, [line.url for line in lines])}
            lines = [line for line in lines if line.url not in still_dead]
        if owed:
            told = [UrlReplayed(at=at, url=one.url, site=one.site, reason=_reason(one), by=by) for one in lines]
            await operated.events.publish(told)
    return count


async def drop(operated: Operated, urls: Sequence[Url], by: str, *, at: float | None = None) -> int:
    """End those that are dead letters as dismissed, for good, and tell of it; how many.

    Of two who drop one letter, one does. Raises `ConfigError` for a frontier that cannot dismiss a URL.
    """
    frontier = operated.frontier
    if not isinstance(frontier, TakesOrders):
        raise ConfigError("this frontier cannot dismiss a URL")
    at = time.time() if at is None else at
    count = 0
    for some in _parts(urls):
        lines = await _dead(frontier, some)
        if not lines:
            continue
        dismissed = await frontier.dismiss([(line.url, Reason.DISMISSED) for line in lines])
        ours = [line for line, was in zip(lines, dismissed, strict=True) if was]
        count += len(ours)
        told = [UrlDismissed(at=at, url=one.url, site=one.site, reason=Reason.DISMISSED, by=by) for one in ours]
        await operated.events.publish(told)
    return count


async def _lines(frontier: FrontierStore, wanted: Wanted) -> AsyncIterator[list[Entry]]:
    """Dead lines by all that a line tells of itself, so many at once as are looked up together."""
    if wanted.urls:
        for start in range(0, len(wanted.urls), _SIDE_BY_SIDE):
            lines = await _dead(frontier, wanted.urls[start : start + _SIDE_BY_SIDE])
            if found := [line for line in lines if _matches(line, wanted, frontier.rules.site_by)]:
                yield found
        return
    async with walking(_every_dead(frontier, wanted)) as batches:
        async for entries in batches:
            found = [line for line in entries if _matches(line, wanted, frontier.rules.site_by)]
            for start in range(0, len(found), _SIDE_BY_SIDE):
                yield found[start : start + _SIDE_BY_SIDE]


async def _every_dead(frontier: FrontierStore, wanted: Wanted) -> AsyncIterator[Sequence[Entry]]:
    """Those that the store itself can tell apart. A store that is looked at page by page need not read all lines."""
    reason = next(iter(wanted.reasons)) if len(wanted.reasons) == 1 else None
    site = None if wanted.site is None else _site_key(wanted.site, frontier.rules.site_by)
    if not isinstance(frontier, Browsable):
        async with walking(frontier.entries(Filter(State.DEAD, reason, site))) as batches:
            async for entries in batches:
                yield entries
        return
    search = Search(State.DEAD, reason, site, wanted.status or None, wanted.text)
    after: str | None = None
    while True:
        some = await frontier.browse(search, after, most=_AT_ONCE)
        yield some.entries
        after = some.after
        if after is None:
            return


async def _dead(frontier: FrontierStore, urls: Sequence[Url]) -> list[Entry]:
    """Each line once, under its own name."""
    found: dict[Url, Entry] = {}
    for start in range(0, len(urls), _SIDE_BY_SIDE):
        lines = await asyncio.gather(*map(frontier.find, urls[start : start + _SIDE_BY_SIDE]))
        found |= {line.url: line for line in lines if line is not None and line.state is State.DEAD}
    return list(found.values())


def _matches(line: Entry, wanted: Wanted, by: SiteBy) -> bool:
    return (
        line.state is State.DEAD
        and (not wanted.reasons or line.reason in wanted.reasons)
        and (wanted.status is None or wanted.status == (line.status or 0))
        and (wanted.text is None or wanted.text in line.url)
        and (wanted.site is None or _is_of(line, wanted.site.lower(), by))
    )


def _is_of(line: Entry, site: str, by: SiteBy) -> bool:
    if line.site == site:
        return True
    host = line.url.host.rstrip(".")
    return line.site == _site_key(site, by) and (site in {host, line.url.authority} or host.endswith(f".{site}"))


def _site_key(text: str, by: SiteBy) -> str:
    """The politeness unit that a host belongs to; a text that names no host is of none, and matches nothing."""
    try:
        return Url(f"http://{text}/").site(by)
    except InvalidUrl:
        return text


async def _letters(lines: Sequence[Entry], records: Records) -> list[Letter]:
    found = await asyncio.gather(*(records.find(line.url) for line in lines))
    pages = ([record.page for record in visits if record.page is not None] for visits in found)
    return [_letter(line, _last(line.url, some)) for line, some in zip(lines, pages, strict=True)]


def _last(url: Url, pages: Sequence[Page]) -> Page | None:
    """Of the visits that asked for it; one that only ended there was another URL's."""
    own = [page for page in reversed(pages) if page.url == url]
    return max(own, key=lambda page: page.metadata.fetched_at, default=None)


def _letter(line: Entry, last: Page | None = None) -> Letter:
    task = line.task or Task(line.url)
    known = [moment for moment in (task.visited_at, task.deferred_at) if moment is not None]
    return Letter(
        url=line.url,
        site=line.site,
        reason=_reason(line),
        status=line.status,
        visits=line.visits,
        detail=line.detail,
        last_at=max(known, default=None) if last is None else instant(last.metadata.fetched_at),
        error=None if last is None else last.metadata.error,
        fetch_id=None if last is None else last.fetch_id,
        depth=task.depth,
        origin=task.origin.value,
        parent=task.parent,
    )


def _is_in_time(letter: Letter, wanted: Wanted) -> bool:
    if not wanted.is_dated:
        return True
    at = letter.last_at
    if at is None:
        return False
    return (wanted.since is None or wanted.since <= at) and (wanted.until is None or at <= wanted.until)


def _reason(line: Entry) -> Reason:
    """Whoever gave it up said why; a line without a reason is somebody else's."""
    return line.reason or Reason.INTERNAL_ERROR


def _parts(urls: Sequence[Url]) -> Iterator[Sequence[Url]]:
    size = 1 if len(urls) <= _ONE_BY_ONE else _AT_ONCE
    for start in range(0, len(urls), size):
        yield urls[start : start + size]
