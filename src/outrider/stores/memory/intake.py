"""The input queue in this process: the shortest true one, and the one that the others are compared with."""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self
from uuid import uuid4

from outrider.clock import SystemClock
from outrider.ports import Batch, Clock
from outrider.stores.place import Place


class MemoryQueue:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[bytes] = deque()
        self._lent: dict[str, tuple[float, Batch]] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _name: str, clock: Clock | None) -> AsyncIterator[Self]:
        """Its name makes no difference: nobody else can reach it."""
        place.end()
        yield cls(clock or SystemClock())

    async def take(self, most: int, seconds: float) -> Batch | None:
        now = self._clock.now()
        entries = self._overdue(now) or tuple(self._waiting.popleft() for _ in range(min(most, len(self._waiting))))
        if not entries:
            return None
        batch = Batch(uuid4().hex, entries)
        self._lent[batch.id] = now + seconds, batch
        return batch

    def _overdue(self, now: float) -> tuple[bytes, ...]:
        """Lent again under a new id, so that a late word about the old one meets nothing."""
        until, batch = min(self._lent.values(), key=lambda lent: lent[0], default=(now + 1, None))
        return self._lent.pop(batch.id)[1].entries if batch is not None and until <= now else ()

    async def done(self, batch: Batch) -> None:
        self._lent.pop(batch.id, None)

    async def push(self, entries: Sequence[bytes], most: int | None = None) -> int:
        room = len(entries) if most is None else max(most - await self.size(), 0)
        self._waiting += entries[:room]
        return min(room, len(entries))

    async def size(self) -> int:
        return len(self._waiting) + sum(len(batch.entries) for _, batch in self._lent.values())
