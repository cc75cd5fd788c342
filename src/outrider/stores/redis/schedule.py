"""Feed a Redis list on a clock: a source's turn is taken, its entries are given and its turn remembered in one step.

So two schedulers never feed the same turn, a kill at any moment neither loses nor repeats an entry, and the list is
never longer than it may be. What is remembered is in the hash `{queue}:schedule`; the clock is the server's.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import accumulate
from typing import Final, Self

from msgspec import DecodeError
from msgspec.structs import replace

from outrider.errors import StoreError
from outrider.model.codec import from_json, to_json
from outrider.model.url import Url
from outrider.policy.schedule import Fed, Kind, Look, Source, Step, Turn
from outrider.stores.place import Place
from outrider.stores.redis.link import Link, Script
from outrider.stores.redis.queue import list_name

_AT_ONCE: Final = 1_000
_BYTES_AT_ONCE: Final = 1_048_576
"""A longer call would keep everybody else waiting."""
_STALE: Final = -1

_LOOK: Final = Script.of("list", "queue", "queue_look")
_FEED: Final = Script.of("list", "queue", "queue_feed")


class RedisSchedule:
    """The queue as a schedule sees it: `most` entries may wait in it, those that are lent included."""

    def __init__(self, link: Link, queue: str, most: int) -> None:
        self.most = most
        self._link = link
        self._queue = queue
        # As they were read: a later version may remember more of a turn than this one knows.
        self._texts: dict[str, bytes] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, queue: str, most: int) -> AsyncIterator[Self]:
        async with Link.open(place) as link:
            yield cls(link, list_name(place, queue), most)

    async def look(self, sources: Sequence[Source] = ()) -> Look:
        """Costs one call when no source is asked for."""
        now, waiting = await self._link.run(_LOOK, self._queue)
        turns: dict[str, Turn] = {}
        for start in range(0, len(sources), _AT_ONCE):
            names = [source.name for source in sources[start : start + _AT_ONCE]]
            texts: list[bytes | None] = await self._link.command("HMGET", self._turns, *names)
            for name, text in zip(names, texts, strict=True):
                self._texts[name] = text or b""
                if text:
                    turns[name] = self._turn(name, text)
        return Look(float(now), waiting, turns)

    async def feed(self, step: Step) -> Fed:
        """As many as there is room for; nothing when the turn is not as it was when this was last looked at."""
        name, turn = step.source.name, step.turn
        text = to_json(replace(turn, given=0))
        expected = self._texts.get(name, b"") if step.before is not None else b""
        entries = _at_once(entries_of(step.source, step.urls))
        given, waiting = await self._link.run(_FEED, self._queue, self.most, name, expected, turn.given, text, *entries)
        if given == _STALE:
            return Fed(None, waiting)
        if given:
            self._texts[name] = b"%d %s" % (turn.given + given, text)
        return Fed(given, waiting)

    @property
    def _turns(self) -> str:
        return f"{{{self._queue}}}:schedule"

    def _turn(self, name: str, text: bytes) -> Turn:
        given, _, rest = text.partition(b" ")
        try:
            return replace(from_json(rest, Turn), given=int(given))
        except (DecodeError, ValueError) as error:
            where = f"{self._link.place}: {self._turns}"
            raise StoreError(f"{where}: what is remembered of {name} cannot be read: {error}") from error


def _at_once(entries: list[bytes]) -> list[bytes]:
    """Those from the front that one script should take; at least one."""
    sizes = accumulate(map(len, entries))
    return entries[: max(sum(size <= _BYTES_AT_ONCE for size in sizes), 1)]


def entries_of(source: Source, urls: Sequence[Url]) -> list[bytes]:
    """As the worker reads them: a bare URL, or an object where there is more to say."""
    if source.kind in {Kind.SITEMAP, Kind.FEED}:
        more: dict[str, object] = {"priority": source.priority, "listing": True}
    elif source.priority:
        more = {"priority": source.priority}
    else:
        return [url.encode() for url in urls]
    return [to_json({"url": str(url), **more}) for url in urls]
