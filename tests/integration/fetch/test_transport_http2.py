"""HTTP/2 against a server of a few frames (RFC 9113): enough to answer, to reset a stream and to refuse one."""

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from outrider.errors import ConnectionLost, ProtocolError, TransportError
from outrider.model.url import Url
from outrider.ports import Request

if TYPE_CHECKING:
    from tests.integration.fetch.conftest import Certificates, Make

DATA, HEADERS, RST_STREAM, SETTINGS = 0, 1, 3, 4
ACK = END_STREAM = 1
END_HEADERS = 4
STATUS_200 = b"\x88"
INTERNAL_ERROR, REFUSED_STREAM = 2, 7
PREFACE = 24


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def hello(stream: int) -> bytes:
    head = STATUS_200 + literal(b"content-type", b"text/html") + literal(b"x", b"1") + literal(b"x", b"2")
    return frame(HEADERS, END_HEADERS, stream, head) + frame(DATA, END_STREAM, stream, b"hello")


Answers = Callable[[int], bytes]


class Streams:
    """Answers every stream alike and counts them."""

    def __init__(self, answers: Answers) -> None:
        self.seen = 0
        self._answers = answers

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readexactly(PREFACE)
            writer.write(frame(SETTINGS, 0, 0))
            while True:
                length, kind, flags, stream = struct.unpack(">IBBI", b"\0" + await reader.readexactly(9))
                await reader.readexactly(length)
                if kind == SETTINGS and not flags & ACK:
                    writer.write(frame(SETTINGS, ACK, 0))
                elif kind == HEADERS:
                    self.seen += 1
                    writer.write(self._answers(stream))
        except (asyncio.IncompleteReadError, ConnectionError):
            return  # the client has gone
        finally:
            writer.close()


Serve = Callable[[Streams], Awaitable[Url]]


@asynccontextmanager
async def serving(streams: Streams, certificates: "Certificates") -> AsyncIterator[Url]:
    context = certificates.context("site.test", alpn="h2")
    server = await asyncio.start_server(streams, "127.0.0.1", 0, ssl=context)
    try:
        yield Url(f"https://site.test:{server.sockets[0].getsockname()[1]}/x")
    finally:
        server.close()


async def test_http2_is_spoken_where_the_server_speaks_it(make: "Make", certificates: "Certificates") -> None:
    async with (
        serving(Streams(hello), certificates) as url,
        make(ca_file=certificates.ca_file) as transport,
    ):
        first = await transport.request(Request(url))
        second = await transport.request(Request(url))

    assert (first.status, first.body, first.http_version, first.reused) == (200, b"hello", "2", False)
    assert first.headers == (("content-type", "text/html"), ("x", "1"), ("x", "2"))
    assert (second.body, second.reused) == (b"hello", True)


async def test_http2_can_be_switched_off(make: "Make", certificates: "Certificates") -> None:
    async with (
        serving(Streams(hello), certificates) as url,
        make(ca_file=certificates.ca_file, http2=False) as transport,
    ):
        with pytest.raises(TransportError):
            await transport.request(Request(url))


async def test_a_cap_ends_a_stream_and_not_the_connection(make: "Make", certificates: "Certificates") -> None:
    async with (
        serving(Streams(hello), certificates) as url,
        make(ca_file=certificates.ca_file) as transport,
    ):
        short = await transport.request(Request(url, body_cap=2))
        whole = await transport.request(Request(url))

    assert (short.body, short.complete) == (b"he", False)
    assert (whole.body, whole.complete) == (b"hello", True)


async def test_a_stream_that_is_reset_is_a_protocol_error(make: "Make", certificates: "Certificates") -> None:
    def broken(stream: int) -> bytes:
        return frame(RST_STREAM, 0, stream, struct.pack(">I", INTERNAL_ERROR))

    async with (
        serving(Streams(broken), certificates) as url,
        make(ca_file=certificates.ca_file) as transport,
    ):
        with pytest.raises(ProtocolError):
            await transport.request(Request(url))


async def test_a_refused_stream_is_not_asked_for_again_behind_our_back(
    make: "Make", certificates: "Certificates"
) -> None:
    def refused(stream: int) -> bytes:
        return frame(RST_STREAM, 0, stream, struct.pack(">I", REFUSED_STREAM))

    streams = Streams(refused)

    async with (
        serving(streams, certificates) as url,
        make(ca_file=certificates.ca_file) as transport,
    ):
        with pytest.raises(ConnectionLost):
            await transport.request(Request(url))

    assert streams.seen == 1
