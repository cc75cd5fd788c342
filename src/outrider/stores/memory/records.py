"""The records in this process: the shortest true ones, and those that the others are compared with."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from secrets import randbits
from typing import Self

from msgspec.msgpack import Decoder

from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.codec import to_json
from outrider.model.record import Decision, Page, PageFilter, PageSlice, PageStatus, Record, Tally
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.bookmark import Bookmarks
from outrider.stores.page_query import MOST_VISITS
from outrider.stores.page_rows import check, matches, mended
from outrider.stores.place import Place

_BATCH = 1_000


class MemoryRecords:
    def __init__(self) -> None:
        self._visits: dict[str, Record] = {}
        self._decisions: dict[tuple[str, str, str, str], Decision] = {}
        self._requests: dict[tuple[float, str, int], Asked] = {}
        self._robots: dict[tuple[str, float, str], RobotsAnswer] = {}
        self._manners: dict[str, Manners] = {}
        self._bookmarks = Bookmarks("memory pages", Decoder(int), randbits(63))

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _: Clock | None, *, create: bool = True) -> AsyncIterator[Self]:
        del create  # there is never anything to be made
        place.end()
        yield cls()

    async def write(self, records: Sequence[Record]) -> None:
        check(records)
        try:
            to_json(records)
        except UnicodeEncodeError:
            records = mended(list(records))
        for record in records:
            if record.page is not None:
                self._visits[record.page.fetch_id] = Record(record.page, record.evidence)
            for one in record.decisions:
                self._decisions.setdefault((one.url, one.by, one.reason, one.rule), one)
            for asked in record.requests:
                self._requests.setdefault((asked.at, asked.visit, asked.turn), asked)
            for heard in record.robots:
                self._robots.setdefault((heard.site, heard.file.fetched_at, heard.file.origin), heard)
            self._manners.update({manners.name: manners for manners in record.manners})

    async def find(self, url: Url) -> list[Record]:
        found = [record for record in self._visits.values() if record.page and url in _urls(record.page)]
        found.sort(key=lambda record: record.page.metadata.fetched_at if record.page else "")
        decided = sorted((one for one in self._decisions.values() if one.url == url), key=lambda one: one.at)
        return [*found, Record(decisions=tuple(decided))] if decided else found

    async def pages(self, wanted: PageFilter) -> AsyncIterator[list[Page]]:
        pages = [record.page for record in self._visits.values() if record.page and matches(record.page, wanted)]
        if wanted.limit is not None:
            pages = pages[: max(wanted.limit, 0)]
        for start in range(0, len(pages), _BATCH):
            yield pages[start : start + _BATCH]

    async def visits(self, wanted: PageFilter) -> AsyncIterator[list[Record]]:
        async for pages in self.pages(wanted):
            for start in range(0, len(pages), MOST_VISITS):
                yield [self._visits[page.fetch_id] for page in pages[start : start + MOST_VISITS]]

    async def decisions(self) -> AsyncIterator[list[Decision]]:
        decided = list(self._decisions.values())
        for start in range(0, len(decided), _BATCH):
            yield decided[start : start + _BATCH]

    async def browse_pages(
        self, wanted: PageFilter, before: str | None = None, *, most: int = 100, look: int = 100_000
    ) -> PageSlice:
        """A place is how many were written before it: none is ever taken away."""
        end = len(self._visits) if before is None else self._bookmarks.read(before)
        first = len(self._visits) - end
        pages: list[Page] = []
        looked = 0
        for record in islice(reversed(self._visits.values()), first, first + max(look, 1)):
            looked += 1
            if record.page is not None and matches(record.page, wanted):
                pages.append(record.page)
                if len(pages) >= most:
                    break
        left = end - looked
        return PageSlice(tuple(pages), self._bookmarks.write(left) if left > 0 else None, looked)

    async def tally(self) -> Tally:
        pages = [record.page.metadata for record in self._visits.values() if record.page]
        by_status: Counter[PageStatus] = Counter(page.status for page in pages)
        return Tally(dict(by_status), sum(page.wire_length for page in pages))

    async def requests(self) -> AsyncIterator[list[Asked]]:
        if self._requests:
            yield list(self._requests.values())

    async def robots(self) -> AsyncIterator[list[RobotsAnswer]]:
        if self._robots:
            yield [self._robots[key] for key in sorted(self._robots)]

    async def manners(self) -> dict[str, Manners]:
        return dict(self._manners)


def _urls(page: Page) -> tuple[str, str]:
    return page.url, page.metadata.final_url
