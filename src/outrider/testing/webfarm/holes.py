"""Addresses where nobody answers: a closed port, a connect that never completes, a peer that never speaks.

Each is a context manager that gives `(address, port)` and holds the port, so that nothing else can answer there.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager

from outrider.testing.webfarm.doorman import bind

_FILL = 16


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


@asynccontextmanager
async def blurts_out(
    data: bytes = b"220 mail.test ESMTP\r\n", address: str = "127.0.0.1"
) -> AsyncIterator[tuple[str, int]]:
    """Another protocol lives here: it sends `data` to whoever connects and closes, so no TLS handshake succeeds."""

    async def blurt(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        writer.close()

    server = await asyncio.start_server(blurt, sock=bind(address))
    async with server:
        yield address, server.sockets[0].getsockname()[1]
