"""What is known of a URL that was refused: how deep it lies, who named it, what its site's robots.txt says.

The line of a URL that never came in holds none of that. The decision that refused it names the page that it stood on,
and the record of that page says how deep it was.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, TypeVar

from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.model.ledger import Entry
from outrider.model.record import Page, PageStatus, Record
from outrider.model.robots import RobotsFile
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.ports import Records
from outrider.stores.registry import FrontierStore, LooksAtSites

T = TypeVar("T")

_SIDE_BY_SIDE: Final = 50
"""URLs that are looked up at once: a store that answers one at a time need not be waited for each time."""
_MOST_SITES: Final = 1_000
_MOST_PAGES: Final = 10_000


class Found(Struct, frozen=True):
    """`depth` is None where nothing on record tells it. `task` is how it would be owed a visit.

    `led_to` is where a redirect of it led that was not followed, because of a rule. `rule` is what refused it then.
    """

    depth: int | None
    task: Task
    led_to: tuple[Url, ...] = ()
    rule: str = ""


class _Place(Struct, frozen=True):
    """Of a page: what it is to those that it names."""

    depth: int
    origin: str
    has_moved: bool


class Known:
    """Asks the stores, and remembers lately seen pages and sites: links of one page come together."""

    def __init__(self, frontier: FrontierStore, records: Records) -> None:
        self._frontier = frontier
        self._records = records
        self._sites: OrderedDict[str, tuple[RobotsFile, ...]] = OrderedDict()
        self._places: OrderedDict[str, _Place | None] = OrderedDict()

    async def found(self, lines: Sequence[Entry]) -> list[Found]:
        """One for each line, in order."""
        found: list[Found] = []
        for start in range(0, len(lines), _SIDE_BY_SIDE):
            some = lines[start : start + _SIDE_BY_SIDE]
            records = await asyncio.gather(*(self._records.find(line.url) for line in some))
            found += [await self._found(line, one) for line, one in zip(some, records, strict=True)]
        return found

    async def robots(self, site: str, origin: str) -> RobotsFile | None:
        """The copy that the site's state holds; None: it was never asked for, or the store cannot tell."""
        files = self._sites.get(site)
        if files is None:
            files = ()
            if isinstance(self._frontier, LooksAtSites):
                known = await self._frontier.look_at(site)
                files = () if known is None else known[0].robots
            _remember(self._sites, site, files, _MOST_SITES)
        return next((file for file in files if file.origin == origin), None)

    async def _found(self, line: Entry, records: Sequence[Record]) -> Found:
        decisions = [one for record in records if record.page is None for one in record.decisions]
        rule = next((one.rule for one in reversed(decisions) if one.reason == line.reason), "")
        if line.task is not None:
            led_to = _led_to(line.url, [record.page for record in records if record.page is not None])
            return Found(line.task.depth, line.task, led_to, rule)
        if not decisions:
            return Found(None, Task(line.url, origin=Origin.LINK), rule=rule)
        parent = next((one.parent for one in decisions if one.parent is not None), None)
        if parent is None:
            return Found(0, Task(line.url), rule=rule)  # nobody named it but who began the crawl
        page = Url.trusted(parent)
        place = await self._place(page)
        if place is None:
            return Found(None, Task(line.url, origin=Origin.LINK, parent=page), rule=rule)
        if place.has_moved:
            return Found(place.depth, _task(line.url, place.depth, Origin.REDIRECT, page), rule=rule)
        origin = Origin.SITEMAP if place.origin == Origin.LISTING else Origin.LINK
        return Found(place.depth + 1, _task(line.url, place.depth + 1, origin, page), rule=rule)

    async def _place(self, page: Url) -> _Place | None:
        if page in self._places:
            return self._places[page]
        visits = [record.page for record in await self._records.find(page) if record.page is not None]
        own = [visit for visit in visits if visit.url == page] or visits
        place = None
        if own:
            data = own[-1].metadata
            place = _Place(data.depth, data.origin, data.status is PageStatus.MOVED)
        _remember(self._places, page, place, _MOST_PAGES)
        return place


def _task(url: Url, depth: int, origin: Origin, parent: Url) -> Task:
    """As admission has it: broad comes before deep."""
    return Task(url, depth, -depth, origin, parent)


def _led_to(url: Url, visits: Sequence[Page]) -> tuple[Url, ...]:
    """A visit that a rule ended on its way: it is the target of the redirect that was refused."""
    last = next((page for page in reversed(visits) if page.url == url), None)
    if last is None or last.metadata.status is not PageStatus.SKIPPED or last.metadata.final_url == url:
        return ()
    try:
        return (Url(last.metadata.final_url),)
    except InvalidUrl:  # somebody else wrote it
        return ()


def _remember(kept: OrderedDict[str, T], key: str, value: T, most: int) -> None:
    kept[key] = value
    if len(kept) > most:
        kept.popitem(last=False)
