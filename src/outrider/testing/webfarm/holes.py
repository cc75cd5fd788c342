"""Addresses where nobody answers: a closed port, a connect that never completes, a peer that never speaks.

Each is a context manager that gives `(address, port)` and holds the port, so that nothing else can answer there.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Final, cast

from outrider.testing.webfarm.doorman import bind

GREETING: Final = b"220 mail.test ESMTP\r\n"
TLS_ALERT: Final = b"\x15\x03\x03\x00\x02\x02\x28"
"""A fatal `handshake_failure` (RFC 8446 6.2), for a peer that speaks TLS and does not want to."""

_FILL: Final = 16


@contextmanager
def refused_port(address: str = "127.0.0.1") -> Iterator[tuple[str, int]]:
    """Bound but not listening: connecting is refused at once."""
    with bind(address) as closed:
        yield address, closed.getsockname()[1]


@contextmanager
def never_speaks(address: str = "127.0.0.1") -> Iterator[tuple[str, int]]:
    """The kernel completes the connection and nobody accepts it: no TLS handshake, no first byte, no close."""
    with bind(address) as listener:
        listener.listen(128)
        yield address, listener.getsockname()[1]


@contextmanager
def blackhole(address: str = "127.0.0.1") -> Iterator[tuple[str, int]]:
    """Connecting never completes: the queue of the listener is full, and Linux drops who knocks then."""
    with ExitStack() as held:
        listener = held.enter_context(bind(address))
        listener.listen(0)
        where: tuple[str, int] = (address, listener.getsockname()[1])
        for _ in range(_FILL):
            knocking = held.enter_context(socket.socket(listener.family))
            knocking.setblocking(False)
            if knocking.connect_ex(where) not in {0, errno.EINPROGRESS}:
                raise OSError(f"cannot fill the queue of {where}")
        yield where


class _Blurter(asyncio.Protocol):
    def __init__(self, data: bytes, crowd: set[asyncio.Transport]) -> None:
        self._data = data
        self._crowd = crowd

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._crowd.add(self._transport)
        self._transport.write(self._data)
        # Closing with the client's own words unread would be a reset, and could swallow ours.
        self._transport.write_eof()

    def data_received(self, data: bytes) -> None:  # noqa: ARG002  it does not listen
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  it does not care
        self._crowd.discard(self._transport)


@asynccontextmanager
async def blurts_out(data: bytes = GREETING, address: str = "127.0.0.1") -> AsyncIterator[tuple[str, int]]:
    """Another protocol lives here: it sends `data` to whoever connects and ends, so no TLS handshake succeeds."""
    crowd: set[asyncio.Transport] = set()
    server = await asyncio.get_running_loop().create_server(lambda: _Blurter(data, crowd), sock=bind(address))
    async with server:
        try:
            yield address, server.sockets[0].getsockname()[1]
        finally:
            for transport in crowd:
                transport.abort()
