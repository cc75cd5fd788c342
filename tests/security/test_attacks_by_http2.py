"""A peer that speaks HTTP/2 has more ways to send much and say nothing (RFC 9113 10.5). All of them end.

Most frames are refused by nghttp2 below us; what it lets pass must meet our own caps and clocks.
"""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import trustme
from tests.integration.fetch.test_transport_http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
    STATUS_200,
    frame,
    hello,
    literal,
)
from tests.security.attackers import OUTSIDE

from outrider.errors import TransportError
from outrider.fetch.transport import CurlTransport, Limits, Pin
from outrider.model.url import Url
from outrider.ports import Request, Response

PRIORITY, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION, ALTSVC, ORIGIN = 2, 5, 6, 7, 8, 9, 10, 12
PADDED = 8
HEAD = STATUS_200 + literal(b"content-type", b"text/html")
INDEXED = b"\xbe"
"""The newest entry of the dynamic table (RFC 7541 6.1): one octet that becomes a whole header."""

Say = Callable[[int], bytes]


def nothing(_stream: int) -> bytes:
    return b""


def opening(stream: int) -> bytes:
    return frame(HEADERS, END_HEADERS, stream, HEAD)


def closed(extra: bytes) -> Say:
    return lambda stream: frame(HEADERS, END_HEADERS | END_STREAM, stream, HEAD + extra)


def _a_bomb(stream: int) -> bytes:
    value = b"y" * 4_000
    entry = b"\x40" + bytes([1]) + b"x" + b"\x7f" + bytes([(len(value) - 127) % 128 | 128, (len(value) - 127) // 128])
    return frame(HEADERS, END_HEADERS, stream, STATUS_200 + entry + value + INDEXED * 12_000)


FLOODS: dict[str, tuple[Say, Say]] = {
    "empty data": (opening, lambda stream: frame(DATA, 0, stream) * 1_000),
    "padding": (opening, lambda stream: frame(DATA, PADDED, stream, b"\xff" + bytes(255)) * 100),
    "pings": (nothing, lambda _: frame(PING, 0, 0, bytes(8)) * 1_000),
    "settings": (nothing, lambda _: frame(SETTINGS, 0, 0) * 1_000),
    "window updates": (nothing, lambda _: frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1") * 1_000),
    "priorities": (nothing, lambda stream: frame(PRIORITY, 0, stream, b"\0\0\0\0\1") * 1_000),
    "frames of no kind": (nothing, lambda _: frame(0xBB, 0, 0, bytes(100)) * 1_000),
    "continuations": (lambda s: frame(HEADERS, 0, s, HEAD), lambda s: frame(CONTINUATION, 0, s) * 1_000),
    "early hints": (nothing, lambda s: frame(HEADERS, END_HEADERS, s, b"\x08\x03103" + literal(b"a", b"b")) * 1_000),
    "a header bomb": (_a_bomb, nothing),
    "a push": (lambda s: frame(PUSH_PROMISE, END_HEADERS, s, b"\0\0\0\2" + HEAD), nothing),
    "a farewell": (lambda _: frame(GOAWAY, 0, 0, bytes(8)), nothing),
    "noise": (lambda _: b"\xff" * 1_000, nothing),
    "a frame of 16 MB": (lambda _: b"\xff\xff\xff\0\0\0\0\0\1", lambda _: bytes(1_000)),
    "no status": (lambda s: frame(HEADERS, END_HEADERS | END_STREAM, s, literal(b"x", b"y")), nothing),
    "an upper-case name": (closed(literal(b"X", b"y")), nothing),
    "a header of HTTP/1": (closed(literal(b"connection", b"close")), nothing),
    "a length that lies": (
        lambda s: frame(HEADERS, END_HEADERS, s, HEAD + literal(b"content-length", b"3")) + frame(DATA, 1, s, b"hello"),
        nothing,
    ),
}


class Site:
    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca_file = str(folder / "ca.pem")
        authority.cert_pem.write_to_path(self.ca_file)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("evil.test").configure_cert(self._tls)
        self._tls.set_alpn_protocols(["h2"])

    @asynccontextmanager
    async def saying(self, first: Say, forever: Say) -> AsyncIterator[Url]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
                await reader.readexactly(PREFACE)
                writer.write(frame(SETTINGS, 0, 0))
                while True:
                    length, kind, flags, stream = struct.unpack(">IBBI", b"\0" + await reader.readexactly(9))
                    await reader.readexactly(length)
                    if kind == SETTINGS and not flags & ACK:
                        writer.write(frame(SETTINGS, ACK, 0))
                    elif kind == HEADERS:
                        writer.write(first(stream))
                        while (block := forever(stream)) and not writer.is_closing():
                            writer.write(block)
                            await writer.drain()
                            await asyncio.sleep(0)  # drain alone does not let the client have its turn
            writer.close()

        async with await asyncio.start_server(serve, OUTSIDE, 0, ssl=self._tls) as server:
            yield Url(f"https://evil.test:{server.sockets[0].getsockname()[1]}/")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(tmp_path_factory.mktemp("authority"))


async def asked(site: Site, first: Say, forever: Say = nothing, body_cap: int = 100_000) -> Response:
    async def resolve(_url: Url) -> Pin:
        return Pin((OUTSIDE,))

    limits = Limits(first_byte=0.4, idle=0.4, total=5.0)
    async with (
        site.saying(first, forever) as url,
        CurlTransport(
            resolve, limits, user_agent="a/1", check_address=lambda address, _: address == OUTSIDE, ca_file=site.ca_file
        ) as transport,
    ):
        return await transport.request(Request(url, body_cap=body_cap))


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_of_frames_ends_as_a_failure(site: Site, name: str) -> None:
    with pytest.raises(TransportError):
        await asked(site, *FLOODS[name])


async def test_a_body_in_crumbs_is_cut_at_its_cap(site: Site) -> None:
    response = await asked(site, opening, lambda stream: frame(DATA, 0, stream, b"ab") * 1_000)

    assert (len(response.body), response.complete) == (100_000, False)


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b=c", b"a\nb", b"a\0b"])
async def test_a_line_break_in_a_header_is_no_second_header(site: Site, value: bytes) -> None:
    response = await asked(site, closed(literal(b"x", value)))

    assert response.headers == (("content-type", "text/html"),)


@pytest.mark.parametrize(
    "said",
    [
        frame(ALTSVC, 0, 0, b"\0\x11https://evil.test" + b'h2="127.0.0.2:1"; ma=99999'),
        frame(ORIGIN, 0, 0, b"\0\x12https://other.test"),
    ],
)
async def test_frames_that_speak_for_other_origins_are_not_heard(site: Site, said: bytes) -> None:
    response = await asked(site, lambda stream: said + hello(stream))

    assert (response.status, response.address) == (200, OUTSIDE)
