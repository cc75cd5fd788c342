"""The protocols between the engine and the world: at most seven methods each, every method one atomic act."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from outrider.model.outcome import Headers, Timing
from outrider.model.url import Url


class Clock(Protocol):
    """Seconds since the epoch. Whoever waits, waits here, so that tests can move time."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Request(Struct, frozen=True):
    """`body_cap` bounds the bytes as sent. With `wanted_types`, a 2xx of another type is not read at all."""

    url: Url
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body_cap: int = 10_485_760
    wanted_types: frozenset[str] = frozenset()


class Response(Struct, frozen=True):
    """One answer, body as sent (still encoded). `complete` is False when the cap or the type stopped the reading."""

    status: int
    headers: Headers
    body: bytes
    complete: bool = True
    timing: Timing = Timing()
    address: str | None = None
    http_version: str | None = None
    reused: bool = False

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever its case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Transport(Protocol):
    """One request, one response; no redirects, no retries, no cookies. Raises `TransportError` and nothing else."""

    async def request(self, request: Request) -> Response: ...
