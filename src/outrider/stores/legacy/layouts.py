"""The two S2 layouts, read domain by domain: `url|depth` lines in files with offsets in Redis, or in Redis lists.

Both keep a Redis hash `domain:{domain}`. A file `{domain}.frontier` is read from the byte in its `frontier_offset`,
oldest line first. A list `frontier:{domain}` is pushed at its head and popped at its tail, so its tail is the oldest.
"""

from collections.abc import AsyncIterator, Awaitable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol, cast

from msgspec import Struct
from redis.asyncio import Redis
from redis.exceptions import RedisError

from outrider.errors import ConfigError, StoreUnavailable
from outrider.stores.place import Place
from outrider.stores.redis.link import translated

FILE_FIELDS: Final = (b"file_path", b"frontier_offset", b"frontier_size")
_SCAN: Final = 1_000
_LIST: Final = b"frontier:"
_STATE: Final = b"domain:"
_LINE: Final = 100
"""About how many bytes a line has."""


class Domain(Struct, frozen=True):
    """One domain's queue: its name as Redis spells it, what Redis says of it, and its file if it has one."""

    key: bytes
    state: Mapping[bytes, bytes]
    file: Path | None = None

    @property
    def name(self) -> str:
        return self.key.decode("utf-8", "replace")


class Layout(Protocol):
    def domains(self) -> AsyncIterator[Domain]: ...

    def lines(self, domain: Domain, batch: int) -> AsyncIterator[list[str]]:
        """From the oldest on. Raises `OSError` and `ValueError` for what cannot be read."""
        ...

    async def clean(self, domain: Domain) -> None:
        """Drop what only the old layout needs, once a domain has been moved (S2-12)."""

    async def sweep(self, kept: Collection[bytes]) -> None:
        """At the end, drop what was left of domains that have no queue any more, except those `kept`."""


@asynccontextmanager
async def open_layout(url: str) -> AsyncIterator[Layout]:
    """`s2+files:///folder?redis=localhost:6379/0` or `s2+redis://localhost:6379/0`."""
    place = Place(url)
    if place.scheme == "s2+files":
        server = Place(f"redis://{place.text('redis', 'localhost:6379/0')}")
        place.end()
        client = _client(server)
        layout: Layout = FilesLayout(_folder(place), client)
    else:
        server = place
        place.end()
        client = _client(server)
        layout = ListsLayout(client)
    try:
        with translated(server):
            await client.ping()
        yield layout
    except RedisError as error:
        raise StoreUnavailable(f"{server}: the server does not answer: {error}") from error
    finally:
        await client.aclose()


class FilesLayout:
    def __init__(self, folder: Path, client: "Redis") -> None:
        self._folder = folder
        self._redis = client

    async def domains(self) -> AsyncIterator[Domain]:
        for file in sorted(self._folder.rglob("*.frontier")):
            key = file.stem.encode("utf-8", "surrogateescape")
            yield Domain(key, await _state(self._redis, key), file)

    async def lines(self, domain: Domain, batch: int) -> AsyncIterator[list[str]]:
        if domain.file is None:
            return
        saved = domain.state.get(b"frontier_offset", b"") or b"0"
        if not saved.isdigit():
            raise ValueError(f"its frontier_offset is {saved!r}, which is no number of bytes")
        with domain.file.open("rb") as file:
            file.seek(int(saved))
            while chunk := file.readlines(batch * _LINE):
                yield [_text(line) for line in chunk]

    async def clean(self, domain: Domain) -> None:
        await self._redis.hdel(_name(_STATE + domain.key), *FILE_FIELDS)

    async def sweep(self, kept: Collection[bytes]) -> None:
        async for key in self._redis.scan_iter(match="domain:*", count=_SCAN, _type="hash"):
            if key.removeprefix(_STATE) not in kept:
                await self._redis.hdel(key, *FILE_FIELDS)


class ListsLayout:
    def __init__(self, client: "Redis") -> None:
        self._redis = client

    async def domains(self) -> AsyncIterator[Domain]:
        async for key in self._redis.scan_iter(match="frontier:*", count=_SCAN, _type="list"):
            name = key.removeprefix(_LIST)
            yield Domain(name, await _state(self._redis, name))

    async def lines(self, domain: Domain, batch: int) -> AsyncIterator[list[str]]:
        key = _name(_LIST + domain.key)
        left = await self._redis.llen(key)
        while left > 0:
            start = max(0, left - batch)
            found = await cast("Awaitable[list[bytes]]", self._redis.lrange(key, start, left - 1))
            yield [_text(line) for line in reversed(found)]
            left = start

    async def clean(self, domain: Domain) -> None:
        await self._redis.delete(_LIST + domain.key)

    async def sweep(self, kept: Collection[bytes]) -> None:
        """A list that is gone leaves nothing behind."""


def _folder(place: Place) -> Path:
    folder = Path(place.path)
    if place.host or not folder.is_dir():
        raise ConfigError(f"{place}: there is no such folder; expected s2+files:///path/to/folder")
    return folder


def _client(place: Place) -> "Redis":
    number = place.path.strip("/") or "0"
    if not number.isascii() or not number.isdigit():
        raise ConfigError(f"{place}: {place.path!r} is not a database; expected a number, such as /0")
    return Redis(
        host=place.host or "localhost",
        port=place.port or 6379,
        db=int(number),
        username=place.user or None,
        password=place.password or None,
    )


async def _state(client: "Redis", domain: bytes) -> Mapping[bytes, bytes]:
    return await cast("Awaitable[dict[bytes, bytes]]", client.hgetall(_name(_STATE + domain)))


def _name(key: bytes) -> str:
    """The driver takes any bytes for a key; only its types want text."""
    return cast("str", key)


def _text(line: bytes) -> str:
    """A byte that is no UTF-8 is written as a URL would have it."""
    line = line.strip()
    try:
        return line.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in line)
