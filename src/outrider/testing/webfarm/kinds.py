"""What can a path do? One of three kinds of frozen value; everything in the catalogue is one, and so can yours be.

`Instant` knows its whole answer at once. `Scripted` acts on the wire over time: waits, lies, cuts. `Choice` picks
another behaviour. None holds state: how often a path was asked is the farm's to count, so values can be shared.
"""

import asyncio
from typing import Protocol, TypeAlias

from msgspec import Struct

from outrider.testing.webfarm.wire import Asked, Reply

Until: TypeAlias = float | asyncio.Event
"""How long to wait: seconds, or until a test says so."""


class Place(Struct, frozen=True):
    """Where a farm is: behaviours are made before its ports are known, so they are told when they answer."""

    addresses: tuple[str, ...]
    port: int
    tls_port: int | None = None

    def url(self, host: str, path: str = "/", *, tls: bool = False) -> str:
        if not tls:
            return f"http://{host}:{self.port}{path}"
        if self.tls_port is None:
            raise ValueError("this farm has no certificates, so no https")
        return f"https://{host}:{self.tls_port}{path}"


class Behaviour(Struct, frozen=True):
    """Be one of the three kinds below."""


class Wire(Protocol):
    """One connection, for the time of one answer. Whatever waits here ends when the client or the farm goes."""

    @property
    def asked(self) -> Asked: ...

    @property
    def place(self) -> Place: ...

    async def send(self, data: bytes) -> None:
        """Returns when the kernel has every byte, so that a reset afterwards takes none of them back."""

    async def wait(self, until: Until) -> None: ...

    async def play(self, behaviour: Behaviour) -> None:
        """Let another behaviour go on from here."""

    def close(self) -> None: ...

    def reset(self) -> None:
        """An RST instead of a farewell."""

    def go_stale(self, *, reset: bool) -> None:
        """Keep the connection, and cut it without a word when the next request comes."""


class Instant(Behaviour, frozen=True):
    def reply(self, asked: Asked, place: Place) -> Reply:
        raise NotImplementedError


class Scripted(Behaviour, frozen=True):
    async def play(self, wire: Wire) -> None:
        """Returning with the connection open keeps it for the next request."""
        raise NotImplementedError


class Choice(Behaviour, frozen=True):
    def choose(self, asked: Asked, nth: int) -> Behaviour:
        """`nth` counts the requests for this host and path, from 0."""
        raise NotImplementedError


class Site(Protocol):
    """Path → behaviour: any dict will do, and so does an object that makes its pages up."""

    def get(self, target: str, /) -> Behaviour | None: ...
