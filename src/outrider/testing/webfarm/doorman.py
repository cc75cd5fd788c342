"""Who is let in? Accepts every client and owns each until its protocol does, so that closing leaves nobody behind."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Sequence

from outrider.testing.webfarm.connection import Connection, Host

_BACKLOG = 4096
_PORT_TRIES = 50


class Doorman:
    """Accepts from one listener, with TLS when there is a context."""

    def __init__(self, farm: Host, listener: socket.socket, context: ssl.SSLContext | None = None) -> None:
        self._farm = farm
        self._listener = listener
        self._context = context
        self._greetings: dict[asyncio.Task[None], socket.socket] = {}
        self._work = asyncio.get_running_loop().create_task(self._let_in())

    async def close(self) -> None:
        self._work.cancel()
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await self._work
        finally:
            self._listener.close()
            # Cancelling a handshake that has not begun leaves it running: end it from below instead.
            for client in self._greetings.values():
                with contextlib.suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            await asyncio.gather(*self._greetings)

    async def _let_in(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, peer = await loop.sock_accept(self._listener)
            self._welcome(client, peer)
            # Whoever else stands at the door comes in without another turn of the loop.
            for _ in range(_BACKLOG):
                try:
                    client, peer = self._listener.accept()
                except (BlockingIOError, ConnectionAbortedError):
                    break
                client.setblocking(False)
                self._welcome(client, peer)

    def _welcome(self, client: socket.socket, peer: tuple[str, int]) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = f"[{peer[0]}]:{peer[1]}" if ":" in peer[0] else f"{peer[0]}:{peer[1]}"
        greeting = asyncio.get_running_loop().create_task(self._greet(client, name))
        self._greetings[greeting] = client
        greeting.add_done_callback(self._greetings.pop)

    async def _greet(self, client: socket.socket, peer: str) -> None:
        referee = self._farm.referee
        connection = Connection(self._farm, referee.arrived(), peer, tls=self._context is not None)
        loop = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(lambda: connection, client, ssl=self._context)
        except OSError:
            # A client that does not like our certificate is what the test wanted; the referee counts it.
            referee.failed_handshake()
            referee.left(connection.id)


def bind_all(addresses: Sequence[str], port: int) -> list[socket.socket]:
    """Listeners on one port of every address; when 0, on a port that is free on all of them."""
    for _ in range(_PORT_TRIES):
        with contextlib.ExitStack() as undo:
            try:
                listeners: list[socket.socket] = []
                for address in addresses:
                    wanted = listeners[0].getsockname()[1] if listeners else port
                    listeners.append(undo.enter_context(bind(address, wanted)))
            except OSError as taken:
                if port or taken.errno != errno.EADDRINUSE:
                    raise
                continue
            undo.pop_all()
            for listener in listeners:
                listener.listen(_BACKLOG)
            return listeners
    raise OSError(errno.EADDRINUSE, f"found no port that is free on all of {', '.join(addresses)}")


def bind(address: str, port: int = 0) -> socket.socket:
    """A bound socket that does not listen yet. Only loopback: nothing here may be seen from outside."""
    if not (address.startswith("127.") or address == "::1"):
        raise ValueError(f"{address} is not a loopback address")
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listener.setblocking(False)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
    except OSError:
        listener.close()
        raise
    return listener
