"""A Redis list of dead letters, each once: told again after a crash, a letter of the same evidence is left out.

All that a batch of events has to tell is one script; a batch without failures is no call at all. The keys are in
`letters.lua`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from typing import Final, Self

from outrider.model.codec import to_json
from outrider.model.event import Event, PageFailed, UrlDied
from outrider.model.letter import DeadLetter
from outrider.ports import Clock
from outrider.stores.letters import about_failures, letter_of, moment, told_as
from outrider.stores.page_rows import mended
from outrider.stores.place import Place
from outrider.stores.redis.link import Argument, Link, Script
from outrider.stores.redis.queue import list_name

_AT_ONCE: Final = 500
"""Letters and failures a script call."""
_TELL: Final = Script.of("list", "letters")
_FIRST_AT: Final = b'"first_at":"'
"""In JSON a quote inside a text is escaped, so this can only be the field."""


class RedisDeadLetters:
    def __init__(self, link: Link, name: str, clock: Clock | None) -> None:
        self._link = link
        self._name = name
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, name: str, clock: Clock | None) -> AsyncIterator[Self]:
        """With `clock` the server's own is not asked: that is for tests."""
        async with Link.open(place) as link:
            letters = cls(link, list_name(place, name), clock)
            # Whoever cannot write there says so now, not when the first URL dies.
            await letters._tell([()])
            yield letters

    async def put(self, letters: Sequence[DeadLetter]) -> int:
        return await self._tell([_letter(letter) for letter in letters])

    async def publish(self, events: Sequence[Event]) -> None:
        await self._tell([_about(event) for event in about_failures(events)])

    async def size(self) -> int:
        letters: int = await self._link.command("LLEN", self._name)
        return letters

    async def _tell(self, words: Sequence[Sequence[Argument]]) -> int:
        now: Argument = "" if self._clock is None else self._clock.now()
        new = 0
        for first in range(0, len(words), _AT_ONCE):
            part = chain.from_iterable(words[first : first + _AT_ONCE])
            new += await self._link.run(_TELL, self._name, now, *part)
        return new


def _about(event: PageFailed | UrlDied) -> Sequence[Argument]:
    name = event.url.sha256
    if isinstance(event, PageFailed):
        return "failed", name, moment(event.at)
    letter = letter_of(event, None)
    # Dead at the first failure: what may be remembered is of an earlier trouble that it got over.
    return _letter(letter, name) if event.visits > 1 else ("forget", name, *_letter(letter))


def _letter(letter: DeadLetter, url: str = "") -> Sequence[Argument]:
    try:
        text = to_json(letter)
    except UnicodeEncodeError:
        letter = mended(letter)
        text = to_json(letter)
    if not url:
        return "letter", told_as(letter), "", text, "", ""
    head, mark, rest = text.partition(_FIRST_AT)
    return "letter", told_as(letter), url, head + mark, letter.first_at, rest.removeprefix(letter.first_at.encode())
