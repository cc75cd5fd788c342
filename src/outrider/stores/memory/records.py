"""The records in this process: the shortest true ones, and those that the others are compared with."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from msgspec.structs import replace

from outrider.model.codec import to_json
from outrider.model.record import Decision, Page, PageFilter, PageStatus, Record, Tally
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.page_rows import check, matches, mended
from outrider.stores.place import Place

_BATCH = 1_000


class MemoryRecords:
    def __init__(self) -> None:
        self._visits: dict[str, Record] = {}
        self._decisions: dict[tuple[str, str, str, str], Decision] = {}

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
                self._visits[record.page.fetch_id] = replace(record, decisions=())
            for one in record.decisions:
                self._decisions.setdefault((one.url, one.by, one.reason, one.rule), one)

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

    async def tally(self) -> Tally:
        pages = [record.page.metadata for record in self._visits.values() if record.page]
        by_status: Counter[PageStatus] = Counter(page.status for page in pages)
        return Tally(dict(by_status), sum(page.wire_length for page in pages))


def _urls(page: Page) -> tuple[str, str]:
    return page.url, page.metadata.final_url
