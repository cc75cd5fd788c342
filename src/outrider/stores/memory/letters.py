"""Dead letters in this process: the shortest true ones, and those that the others are compared with."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from outrider.clock import SystemClock
from outrider.model.event import Event, UrlDied
from outrider.model.letter import DeadLetter
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.letters import about_failures, letter_of, moment, told_as
from outrider.stores.place import Place

_A_DAY: Final = 86_400.0
_A_WEEK: Final = 7 * _A_DAY


class MemoryDeadLetters:
    """`letters` are all there are, the oldest first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.letters: list[DeadLetter] = []
        self._told: dict[str, float] = {}
        self._first: dict[Url, tuple[float, str]] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _name: str, clock: Clock | None) -> AsyncIterator[Self]:
        """Their name makes no difference: nobody else can reach them."""
        place.end()
        yield cls(clock or SystemClock())

    async def put(self, letters: Sequence[DeadLetter]) -> int:
        now = self._clock.now()
        self._told = {name: at for name, at in self._told.items() if at > now - _A_DAY}
        before = len(self.letters)
        for letter in letters:
            if told_as(letter) not in self._told:
                self._told[told_as(letter)] = now
                self.letters.append(letter)
        return len(self.letters) - before

    async def publish(self, events: Sequence[Event]) -> None:
        now = self._clock.now()
        self._first = {url: first for url, first in self._first.items() if first[0] > now - _A_WEEK}
        letters = []
        for event in about_failures(events):
            if isinstance(event, UrlDied):
                _, first_at = self._first.pop(event.url, (0.0, None))
                letters.append(letter_of(event, first_at))
            else:
                self._first.setdefault(event.url, (now, moment(event.at)))
        await self.put(letters)

    async def size(self) -> int:
        return len(self.letters)
