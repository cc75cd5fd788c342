"""The two sides of an attack: a hostile site that sends any bytes it likes, and the inside that must stay untouched.

No packet leaves loopback: 127.0.0.1 plays the public web through the one hole of `a_client`, and all the rest of
loopback is the inside.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Final, Self

from outrider import Client
from outrider.settings import settings_of
from outrider.testing.webfarm.doorman import bind, bind_all

OUTSIDE: Final = "127.0.0.1"
INSIDE: Final = "127.0.0.2"
INSIDE_6: Final = "::1"
HOLE: Final = (f"{OUTSIDE}/32",)
HTML: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
NO_ROBOTS: Final = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def page(body: bytes = b"<p>hello", extra: bytes = b"") -> bytes:
    """`extra` are whole header lines."""
    return HTML + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body


def flood(start: bytes, block: bytes) -> Handler:
    """Send `start`, then `block` for as long as somebody reads."""

    async def handler(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(block)
            await writer.drain()

    return handler


def a_client(hosts: Mapping[str, Sequence[str]], ca_file: str | None = None, /, **keys: object) -> Client:
    """One that asks once and at once, so that what a test counts is what one visit does. `keys` are settings."""
    quick: dict[str, object] = {"delay": 0, "max_retries": 0, "contact": "https://owner.example/"}
    return Client(settings=settings_of(**(quick | keys)), hosts=hosts, ca_file=ca_file)


class Inside:
    """What must never be reached: it counts who comes, on every address that it has."""

    def __init__(self, addresses: Iterable[str] = (INSIDE, INSIDE_6)) -> None:
        self.connections = 0
        self.port = 0
        self._addresses = tuple(addresses)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for listener in bind_all(self._addresses, 0):
            self.port = listener.getsockname()[1]
            await self._stack.enter_async_context(await asyncio.start_server(self._count, sock=listener))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _count(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.read(1)
        writer.write(page(b"<p>the secret of the inside"))
        writer.close()


class Hostile:
    """A server that answers each path with exactly the bytes it is told, and keeps every head with its connection."""

    def __init__(
        self,
        routes: Mapping[str, bytes | Handler],
        *,
        address: str = OUTSIDE,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.routes: dict[str, bytes | Handler] = {"/robots.txt": NO_ROBOTS, **routes}
        self.heads: list[tuple[int, bytes]] = []
        self.connections = 0
        self.port = 0
        self._wanted = address, port, tls
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        address, port, tls = self._wanted
        listener = bind(address, port)
        self.port = listener.getsockname()[1]
        self._server = await asyncio.start_server(self._begin, sock=listener, ssl=tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._writers):
            with suppress(AttributeError):  # of TLS, in Python 3.11.2, when it is gone already
                writer.transport.abort()
        await asyncio.gather(*self._tasks)
        await self._server.wait_closed()

    def url(self, path: str = "/", host: str = "evil.test", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def asked(self, path: str) -> list[bytes]:
        return [head for _, head in self.heads if head.split(b" ", 2)[1] == path.encode()]

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(self._serve(self.connections, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        # Whoever is attacked hangs up: that is how most of these end.
        with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append((connection, head))
                reply = self.routes.get(head.split(b" ", 2)[1].decode("latin-1"), NO_ROBOTS)
                if not isinstance(reply, bytes):
                    await reply(reader, writer)
                    break
                writer.write(reply)
                await writer.drain()
        writer.close()
        with suppress(ConnectionError, ssl.SSLError):
            await writer.wait_closed()
        self._writers.discard(writer)
