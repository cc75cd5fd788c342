"""Events in memory: for tests, and for whoever runs a crawl inside a program and asks afterwards.

`memory:`; its option `most` bounds how many are kept: of more, the oldest go.
"""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from outrider.errors import StoreError
from outrider.model.event import Event
from outrider.ports import Clock
from outrider.stores.place import Place


class MemoryEvents:
    def __init__(self, most: int = 1_000_000) -> None:
        self.events: deque[Event] = deque(maxlen=most)
        self._closed = False

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, clock: Clock | None = None) -> AsyncIterator[Self]:
        """The clock is not needed: events bring their time."""
        del clock
        sink = cls(place.number("most", 1_000_000))
        place.end()
        try:
            yield sink
        finally:
            sink._closed = True

    async def publish(self, events: Sequence[Event]) -> None:
        if self._closed:
            raise StoreError("memory: the event sink is closed")
        self.events.extend(events)
