"""A server that sends exactly the bytes it is told, and a transport that is pinned to it. Both loops run every test."""

import asyncio
import datetime as dt
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import trustme
import uvloop

from outrider.fetch.limits import Limits
from outrider.fetch.transport import CurlTransport, Pin
from outrider.model.url import Url
from outrider.ports import Request, Response
from outrider.testing.webfarm.holes import refused_port

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Reply = bytes | Handler


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class RawServer:
    """Answers each path with bytes, keeping the connection, or hands the connection to a function, which ends it."""

    def __init__(self) -> None:
        self.routes: dict[str, Reply] = {}
        self.heads: list[bytes] = []
        self.connections = 0
        self.closing = asyncio.Event()
        self._gone = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, host, port, ssl=tls, backlog=1_024)

    async def stop(self) -> None:
        assert self._server is not None
        self.closing.set()
        self._server.close()
        for writer in list(self._writers):
            with suppress(AttributeError):  # of TLS, in Python 3.11.2, when it is gone already
                writer.transport.abort()
        await self._server.wait_closed()

    async def forget(self) -> None:
        """Drop every connection and wait until each is gone."""
        self.closing.set()
        for writer in list(self._writers):
            with suppress(AttributeError):  # of TLS, in Python 3.11.2, when it is gone already
                writer.transport.abort()
        async with asyncio.timeout(10):
            while self._writers:
                await self._gone.wait()
                self._gone.clear()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    def url(self, path: str, host: str = "site.test", scheme: str = "http") -> Url:
        return Url(f"{scheme}://{host}:{self.port}{path}")

    async def hang(self, _reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await self.closing.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                reply = self.routes[head.split(b" ", 2)[1].decode()]
                if not isinstance(reply, bytes):
                    await reply(reader, writer)
                    return
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            return  # the client has gone: most of these tests end so
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):  # the client may have gone first
                await writer.wait_closed()
            self._writers.discard(writer)
            self._gone.set()


def cut(payload: bytes) -> Handler:
    """Send this and close."""

    async def handler(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(payload)
        await writer.drain()

    return handler


def reset(payload: bytes = b"") -> Handler:
    """Send this and close with a reset."""

    async def handler(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(payload)
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return handler


def stall(server: RawServer, payload: bytes) -> Handler:
    """Send this and then nothing more."""

    async def handler(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(payload)
        await writer.drain()
        await server.closing.wait()

    return handler


def cut_all(payload: bytes) -> Handler:
    """Send this to whatever comes, and close."""

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(payload)
        writer.close()

    return handler


class Kit:
    """The handlers, where test files can reach them."""

    cut = staticmethod(cut)
    cut_all = staticmethod(cut_all)
    reset = staticmethod(reset)
    stall = staticmethod(stall)


@pytest.fixture
def kit() -> type[Kit]:
    return Kit


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    server = RawServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def second_server(server: RawServer) -> AsyncIterator[RawServer]:
    """On the same port of another loopback address."""
    second = RawServer()
    await second.start(host="127.0.0.2", port=server.port)
    yield second
    await second.stop()


class Certificates:
    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.ca_file = str(folder / "ca.pem")
        self._ca.cert_pem.write_to_path(self.ca_file)

    def context(self, *names: str, expired: bool = False, alpn: str = "http/1.1") -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        past = dt.datetime.now(dt.UTC) - dt.timedelta(days=2)
        validity: dict[str, Any] = {"not_before": past, "not_after": past + dt.timedelta(days=1)} if expired else {}
        self._ca.issue_cert(*names, **validity).configure_cert(context)
        context.set_alpn_protocols([alpn])
        return context


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


async def pin_loopback(_url: Url) -> Pin:
    return Pin(("127.0.0.1",))


Make = Callable[..., CurlTransport]


@pytest.fixture
def make() -> Make:
    def build(**options: Any) -> CurlTransport:  # noqa: ANN401 - the options of the transport, passed through
        settings: dict[str, Any] = {
            "resolve": pin_loopback,
            "limits": Limits(),
            "user_agent": "Outrider-test/1",
            "check_address": lambda _address, _port: True,
        }
        return CurlTransport(**(settings | options))

    return build


@pytest.fixture
async def transport(make: Make) -> AsyncIterator[CurlTransport]:
    async with make() as transport:
        yield transport


Get = Callable[..., Awaitable[Response]]


@pytest.fixture
def get(transport: CurlTransport, server: RawServer) -> Get:
    """Ask the server's `path` with the usual transport, after it was told what to answer."""

    async def ask(reply: Reply, path: str = "/x", **fields: Any) -> Response:  # noqa: ANN401 - fields of a Request
        server.routes[path] = reply
        return await transport.request(Request(server.url(path), **fields))

    return ask


@pytest.fixture
def closed_port() -> Iterator[int]:
    with refused_port() as (_, port):
        yield port


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port whose queue is full: the kernel drops what would connect."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = int(listener.getsockname()[1])
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        yield port
