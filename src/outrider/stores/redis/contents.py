"""Pages for other programs: the decoded content under `webpage:{sha256(url)}`, for a while (S4-2, S4-12, S4-33).

A plain string that any client can GET, not compressed (S4-7). The URL is the one that the visit was for, wherever the
redirects led (C10). Only pages are kept: of an answer that is none, such as a 404, there is nothing and its key is
empty. The server may throw pages away before their time when its memory is short; `volatile-ttl` is meant for that.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Self

from outrider.errors import ConfigError
from outrider.model.capture import Capture, Unchanged
from outrider.model.url import Url
from outrider.ports import Clock
from outrider.stores.place import Place
from outrider.stores.redis.link import Arguments, Link

_BYTES_AT_ONCE: Final = 8_388_608
"""In one go to the server: more would only wait in memory, here and there."""
_KEYS_AT_ONCE: Final = 1_000
_NO_PAGE: Final = 300
"""From this status on an answer is no page."""


class RedisContents:
    """What is confirmed makes no difference: a page that is fetched again takes the place of the one before."""

    decodes: Final = True
    """Captures should bring their `content`."""

    def __init__(self, link: Link, prefix: str, ttl: int) -> None:
        self._link = link
        self._prefix = f"{prefix}:"
        self._ttl = ttl

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, _clock: Clock | None) -> AsyncIterator[Self]:
        """The clock is the server's: it is the server that forgets."""
        prefix = place.text("prefix", "webpage")
        ttl = place.number("ttl", 3_600)
        if not prefix:
            raise ConfigError(f"{place}: prefix=''; expected a name")
        async with Link.open(place) as link:
            await link.command("EXISTS", f"{prefix}:")
            yield cls(link, prefix, ttl)

    async def put(self, captures: Sequence[Capture]) -> list[str]:
        """Of a page that has not changed, what is there stays for longer; the key is empty when it is gone."""
        keys = [""] * len(captures)
        places: list[int] = []
        commands: list[Arguments] = []
        size = 0
        for place, capture in enumerate(captures):
            content = _page(capture)
            if content is None:
                continue
            if size + len(content) > _BYTES_AT_ONCE or len(commands) >= _KEYS_AT_ONCE:
                await self._send(commands, places, keys)
                commands, places, size = [], [], 0
            key = self._prefix + (capture.asked or capture.url).sha256
            if capture.unchanged is Unchanged.NOT_MODIFIED:
                commands.append(("EXPIRE", key, self._ttl))
            else:
                commands.append(("SET", key, content, "EX", self._ttl))
            places.append(place)
            size += len(content)
        await self._send(commands, places, keys)
        return keys

    async def _send(self, commands: Sequence[Arguments], places: Sequence[int], keys: list[str]) -> None:
        replies: list[Any] = await self._link.many(commands)
        for place, words, reply in zip(places, commands, replies, strict=True):
            keys[place] = str(words[1]) if reply else ""

    async def confirm(self, keys: Sequence[str]) -> None:
        pass

    async def get(self, key: str) -> Capture | None:
        """All that is known is the content: `body` and `content` are that, and the rest is empty."""
        [content] = await self.get_many([key])
        if content is None:
            return None
        return Capture("", Url.trusted(""), 0.0, 200, (), content, content=content)

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """The content under each key, None where there is none (any more). Keys of others are not looked at."""
        found: list[bytes | None] = [None] * len(keys)
        ours = [place for place, key in enumerate(keys) if key.startswith(self._prefix)]
        for first in range(0, len(ours), _KEYS_AT_ONCE):
            some = ours[first : first + _KEYS_AT_ONCE]
            for place, content in zip(some, await self._link.many([("GET", keys[p]) for p in some]), strict=True):
                found[place] = content
        return found


def _page(capture: Capture) -> bytes | None:
    """The content of a page, empty when it is the one that we had; None for an answer that is no page."""
    if capture.unchanged is Unchanged.NOT_MODIFIED:
        return b""
    content = capture.body if capture.content is None else capture.content
    # A visit that found no page (of another type, undecodable, empty) brings no content, whatever the status.
    return content if content and capture.status < _NO_PAGE else None
