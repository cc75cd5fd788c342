"""A Redis list that other programs push to, taken from by lending: whoever dies with a batch has lost nothing (H4-8).

Each act is one script, by the server's clock. What the keys are is in `queue.lua`.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self
from uuid import uuid4

from outrider.errors import ConfigError
from outrider.ports import Batch, Clock
from outrider.stores.place import Place
from outrider.stores.redis.link import Argument, Link, Script

_AT_ONCE: Final = 4_000
"""Entries a script call: a longer one would keep everybody else waiting."""
_BYTES_AT_ONCE: Final = 1_048_576

_TAKE: Final = Script.of("list", "queue", "queue_take")
_DONE: Final = Script.of("list", "queue", "queue_done")
_PUSH: Final = Script.of("list", "queue", "queue_push")
_SIZE: Final = Script.of("list", "queue", "queue_size")


class RedisQueue:
    def __init__(self, link: Link, name: str, clock: Clock | None) -> None:
        self._link = link
        self._name = name
        self._clock = clock

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, name: str, clock: Clock | None) -> AsyncIterator[Self]:
        """With `clock` the server's own is not asked: that is for tests."""
        async with Link.open(place) as link:
            queue = cls(link, list_name(place, name), clock)
            # Whoever cannot use it says so now, not when the first URL comes.
            await queue.size()
            yield queue

    async def take(self, most: int, seconds: float) -> Batch | None:
        now: Argument = "" if self._clock is None else self._clock.now()
        id = uuid4().hex  # noqa: A001 - as the batch calls it
        entries = await self._link.run(_TAKE, self._name, now, seconds, min(most, _AT_ONCE), id)
        return Batch(id, tuple(entries)) if entries else None

    async def done(self, batch: Batch) -> None:
        await self._link.run(_DONE, self._name, batch.id)

    async def push(self, entries: Sequence[bytes], most: int | None = None) -> int:
        limit: Argument = "" if most is None else most
        added = 0
        for part in _parts(entries):
            pushed: int = await self._link.run(_PUSH, self._name, limit, *part)
            added += pushed
            if pushed < len(part):
                break
        return added

    async def size(self) -> int:
        entries: int = await self._link.run(_SIZE, self._name)
        return entries


def list_name(place: Place, name: str) -> str:
    """The name of a list beside which other keys lie: in the same slot, since theirs put it in braces."""
    if not name or set(name) & set("{}"):
        raise ConfigError(f"{place}: {name!r} is no name for a list; expected one without braces")
    return name


def _parts(entries: Sequence[bytes]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for entry in entries:
        if part and (len(part) >= _AT_ONCE or size + len(entry) > _BYTES_AT_ONCE):
            yield part
            part, size = [], 0
        part.append(entry)
        size += len(entry)
    if part:
        yield part
