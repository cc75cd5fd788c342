"""The two S2 layouts, read domain by domain: `url|depth` lines in files with offsets in Redis, or in Redis lists.

Both keep a Redis hash `domain:{domain}`. A file `{domain}.frontier` is read from the byte in its `frontier_offset`,
oldest line first. A list `frontier:{domain}` is pushed at its head and popped at its tail, so its tail is the oldest.
"""

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol, cast

from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import RedisError

from outrider.errors import ConfigError, StoreUnavailable
from outrider.stores.place import Place

SCHEMES: Final = ("s2+files", "s2+redis")
FILE_FIELDS: Final = (b"file_path", b"frontier_offset", b"frontier_size")
_SCAN: Final = 1_000


class Domain(Struct, frozen=True):
    """One domain's queue: its name, what Redis says of it, and where its lines are."""

    name: str
    state: Mapping[bytes, bytes]
    file: Path | None = None


class Layout(Protocol):
    def domains(self) -> AsyncIterator[Domain]: ...

    def lines(self, domain: Domain, batch: int) -> AsyncIterator[list[str]]: ...

    async def clean(self, domain: Domain) -> None:
        """Drop what only the old layout needs, once a domain has been moved (S2-12)."""


@asynccontextmanager
async def open_layout(url: str) -> AsyncIterator[Layout]:
    """`s2+files:///folder?redis=localhost:6379/0` or `s2+redis://localhost:6379/0`."""
    place = Place(url)
    if place.scheme == "s2+files":
        folder = _folder(place)
        client = Redis.from_url(f"redis://{place.text('redis', 'localhost:6379/0')}")
        layout: Layout = FilesLayout(folder, client)
    else:
        client = Redis.from_url(url.replace("s2+redis", "redis", 1))
        layout = ListsLayout(client)
    place.end()
    try:
        await client.ping()
        yield layout
    except RedisError as error:
        raise StoreUnavailable(f"{place}: Redis does not answer: {error}") from error
    finally:
        await client.aclose()


class FilesLayout:
    def __init__(self, folder: Path, client: "Redis") -> None:
        self._folder = folder
        self._redis = client

    async def domains(self) -> AsyncIterator[Domain]:
        for file in sorted(self._folder.rglob("*.frontier")):
            yield Domain(file.stem, await _state(self._redis, file.stem), file)

    async def lines(self, domain: Domain, batch: int) -> AsyncIterator[list[str]]:
        if domain.file is None:
            return
        offset = int(domain.state.get(b"frontier_offset", b"0") or b"0")
        with domain.file.open("rb") as file:
            file.seek(offset)
            while chunk := file.readlines(batch * 100):
                yield [line.decode("utf-8", "replace").strip() for line in chunk]

    async def clean(self, domain: Domain) -> None:
        await self._redis.hdel(f"domain:{domain.name}", *FILE_FIELDS)


class ListsLayout:
    def __init__(self, client: "Redis") -> None:
        self._redis = client

    async def domains(self) -> AsyncIterator[Domain]:
        async for key in self._redis.scan_iter(match="frontier:*", count=_SCAN, _type="list"):
            name = key.removeprefix(b"frontier:").decode("utf-8", "replace")
            yield Domain(name, await _state(self._redis, name))

    async def lines(self, domain: Domain, batch: int) -> AsyncIterator[list[str]]:
        key = f"frontier:{domain.name}"
        left = await self._redis.llen(key)
        while left > 0:
            start = max(0, left - batch)
            found = await cast("Awaitable[list[bytes]]", self._redis.lrange(key, start, left - 1))
            yield [line.decode("utf-8", "replace").strip() for line in reversed(found)]
            left = start

    async def clean(self, domain: Domain) -> None:
        await self._redis.delete(f"frontier:{domain.name}")


def _folder(place: Place) -> Path:
    folder = Path(place.path)
    if not folder.is_dir():
        raise ConfigError(f"{place}: {folder} is not a folder")
    return folder


async def _state(client: "Redis", domain: str) -> Mapping[bytes, bytes]:
    return await cast("Awaitable[dict[bytes, bytes]]", client.hgetall(f"domain:{domain}"))
