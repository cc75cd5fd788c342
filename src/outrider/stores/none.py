"""`none:` keeps nothing: for a service that only publishes, and whose consumers keep what they want."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from outrider.errors import ConfigError
from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.capture import Capture
from outrider.model.record import Decision, Page, PageFilter, PageSlice, Record, Tally
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.place import Place


class NoContents:
    """Every key is empty."""

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _clock: Clock | None) -> AsyncIterator[Self]:
        place.end()
        yield cls()

    async def put(self, captures: Sequence[Capture]) -> list[str]:
        return [""] * len(captures)

    async def confirm(self, keys: Sequence[str]) -> None:
        pass

    async def get(self, _key: str) -> Capture | None:
        return None


class NoRecords:
    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _clock: Clock | None, *, create: bool = True) -> AsyncIterator[Self]:
        del create  # there is never anything to be made
        place.end()
        yield cls()

    async def write(self, records: Sequence[Record]) -> None:
        pass

    async def find(self, _url: Url) -> list[Record]:
        return []

    async def pages(self, _wanted: PageFilter) -> AsyncIterator[list[Page]]:
        nothing: list[list[Page]] = []
        for pages in nothing:
            yield pages

    async def visits(self, _wanted: PageFilter) -> AsyncIterator[list[Record]]:
        nothing: list[list[Record]] = []
        for records in nothing:
            yield records

    async def decisions(self) -> AsyncIterator[list[Decision]]:
        nothing: list[list[Decision]] = []
        for decided in nothing:
            yield decided

    async def browse_pages(
        self, _wanted: PageFilter, before: str | None = None, *, most: int = 100, look: int = 100_000
    ) -> PageSlice:
        del most, look  # there is never anything to be looked at
        if before is not None:
            raise ConfigError("there are no records here, so no page of them ended anywhere")
        return PageSlice(())

    async def tally(self) -> Tally:
        return Tally()

    async def requests(self) -> AsyncIterator[list[Asked]]:
        nothing: list[list[Asked]] = []
        for requests in nothing:
            yield requests

    async def robots(self) -> AsyncIterator[list[RobotsAnswer]]:
        nothing: list[list[RobotsAnswer]] = []
        for robots in nothing:
            yield robots

    async def manners(self) -> dict[str, Manners]:
        return {}
