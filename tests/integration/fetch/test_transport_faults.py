"""Every way in which a request can fail, by its exact type and attributes; and what failing must never cost."""

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from outrider.errors import (
    ConnectError,
    ConnectionLost,
    Phase,
    ProtocolError,
    TimedOut,
    TlsError,
    TlsFault,
    TransportError,
)
from outrider.fetch.limits import Limits
from outrider.fetch.transport import CurlTransport, Pin
from outrider.model.url import Url
from outrider.ports import Request

if TYPE_CHECKING:
    from tests.integration.fetch.conftest import Certificates, Get, Kit, Make, RawServer

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
SHORT = 0.2


async def test_a_closed_port_refuses(transport: CurlTransport, closed_port: int) -> None:
    with pytest.raises(ConnectError) as caught:
        await transport.request(Request(Url(f"http://site.test:{closed_port}/")))

    assert caught.value.refused


async def test_a_name_that_no_host_can_have_does_not_exist(transport: CurlTransport) -> None:
    with pytest.raises(TransportError) as caught:
        await transport.request(Request(Url("http://a,b.test/")))

    assert not getattr(caught.value, "exists", True)


async def test_a_port_that_drops_us_is_a_connect_timeout(make: "Make", black_hole: int) -> None:
    async with make(limits=Limits(connect=SHORT)) as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.request(Request(Url(f"http://site.test:{black_hole}/")))

    assert caught.value.phase is Phase.CONNECT


async def test_a_black_hole_leaves_time_for_the_next_address(make: "Make", black_hole: int) -> None:
    async def resolve(_url: Url) -> Pin:
        return Pin(("127.0.0.1", "127.0.0.7"))

    async with make(resolve=resolve, limits=Limits(connect=2 * SHORT)) as transport:
        with pytest.raises(ConnectError) as caught:
            await transport.request(Request(Url(f"http://site.test:{black_hole}/")))

    assert caught.value.refused


async def test_a_silent_handshake_is_a_tls_timeout(make: "Make", server: "RawServer") -> None:
    async with make(limits=Limits(tls=SHORT)) as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.request(Request(server.url("/x", scheme="https")))

    assert caught.value.phase is Phase.TLS


async def test_silence_after_the_request_is_a_first_byte_timeout(make: "Make", server: "RawServer") -> None:
    server.routes["/x"] = server.hang

    async with make(limits=Limits(first_byte=SHORT)) as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.request(Request(server.url("/x")))

    assert caught.value.phase is Phase.FIRST_BYTE


@pytest.mark.parametrize("start", [HEAD, HEAD + b"some", b"HTTP/1.1 200 OK\r\nA: b\r\n", b"HTTP/1.1 103 Wait\r\n\r\n"])
async def test_a_stall_is_an_idle_timeout(make: "Make", server: "RawServer", kit: "Kit", start: bytes) -> None:
    server.routes["/x"] = kit.stall(server, start)

    async with make(limits=Limits(idle=SHORT)) as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.request(Request(server.url("/x")))

    assert caught.value.phase is Phase.IDLE


async def test_a_dribble_is_ended_by_the_total(make: "Make", server: "RawServer") -> None:
    async def dribble(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD)
        while not server.closing.is_set():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(SHORT / 20)  # the fault itself: one byte at a time

    server.routes["/x"] = dribble

    async with make(limits=Limits(idle=2 * SHORT, total=3 * SHORT)) as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.request(Request(server.url("/x")))

    assert caught.value.phase is Phase.TOTAL


async def test_a_resolver_that_hangs_is_ended_by_the_total(make: "Make") -> None:
    async def hang(_url: Url) -> Pin:
        await asyncio.Event().wait()
        raise AssertionError

    async with make(resolve=hang, limits=Limits(total=SHORT)) as transport:
        with pytest.raises(TimedOut) as caught:
            await transport.request(Request(Url("http://site.test/")))

    assert caught.value.phase is Phase.DNS


@pytest.mark.parametrize(
    ("names", "expired", "trusted", "fault"),
    [
        (("site.test",), True, True, TlsFault.EXPIRED),
        (("other.test",), False, True, TlsFault.WRONG_NAME),
        (("site.test",), False, False, TlsFault.UNTRUSTED),
    ],
)
async def test_a_bad_certificate_says_what_is_bad_about_it(
    make: "Make",
    server: "RawServer",
    certificates: "Certificates",
    names: tuple[str, ...],
    expired: bool,  # noqa: FBT001 - a column of a table
    trusted: bool,  # noqa: FBT001 - a column of a table
    fault: TlsFault,
) -> None:
    """C34"""
    await server.stop()
    await server.start(certificates.context(*names, expired=expired))

    async with make(ca_file=certificates.ca_file if trusted else None) as transport:
        with pytest.raises(TlsError) as caught:
            await transport.request(Request(server.url("/x", scheme="https")))

    assert caught.value.fault is fault
    assert server.heads == []


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Plain\r\n\r\n", b"\x15\x03\x03\x00\x02\x02\x28", b""])
async def test_a_peer_that_speaks_no_tls_fails_the_handshake(
    transport: CurlTransport, greeting: bytes, kit: "Kit"
) -> None:
    listener = await asyncio.start_server(kit.cut_all(greeting), "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]

    with pytest.raises(TlsError) as caught:
        await transport.request(Request(Url(f"https://site.test:{port}/")))

    listener.close()
    assert caught.value.fault is TlsFault.HANDSHAKE


@pytest.mark.parametrize(
    "reply",
    [
        b"garbage\r\n\r\n",
        b"just text, as in HTTP/0.9",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99 Low\r\n\r\n",
        b"HTTP/1.1 000 Zero\r\n\r\n",
        b"HTTP/3.7 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: \0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: weird\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcdef\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nab",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * 400_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
        b"HTTP/1.1 103 Hint\r\nA: " + b"x" * 1_000 + b"\r\n\r\n" + b"HTTP/1.1 103 Hint\r\n\r\n" * 5_000,
    ],
    ids=lambda reply: reply[:40].decode("latin-1"),
)
async def test_a_broken_answer_is_a_protocol_error(get: "Get", kit: "Kit", reply: bytes) -> None:
    with pytest.raises(ProtocolError):
        await get(kit.cut(reply))


@pytest.mark.parametrize(
    "start",
    [
        HEAD + b"only a part",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        b"",
    ],
)
async def test_a_cut_is_a_lost_connection(get: "Get", kit: "Kit", start: bytes) -> None:
    with pytest.raises(ConnectionLost) as caught:
        await get(kit.cut(start))

    assert not caught.value.reused


@pytest.mark.parametrize("start", [b"", HEAD, HEAD + b"some", b"HTTP/1.1 200"])
async def test_a_reset_is_a_lost_connection_and_no_protocol_error(get: "Get", kit: "Kit", start: bytes) -> None:
    with pytest.raises(ConnectionLost) as caught:
        await get(kit.reset(start))

    assert not caught.value.reused


@pytest.mark.parametrize("way", ["cut", "reset"])
async def test_a_kept_connection_that_dies_is_told_and_the_request_is_not_sent_again(
    get: "Get", server: "RawServer", kit: "Kit", way: str
) -> None:
    await get(OK)

    with pytest.raises(ConnectionLost) as caught:
        await get(getattr(kit, way)(b""), path="/dies")

    assert caught.value.reused
    assert [head.split(b" ")[1] for head in server.heads] == [b"/x", b"/dies"]
    assert server.connections == 1


async def test_a_cut_within_an_answer_on_a_kept_connection_is_not_staleness(get: "Get", kit: "Kit") -> None:
    await get(OK)

    with pytest.raises(ConnectionLost) as caught:
        await get(kit.cut(HEAD + b"some"))

    assert not caught.value.reused


async def test_a_proxy_that_refuses_the_tunnel_is_no_connection(make: "Make", server: "RawServer", kit: "Kit") -> None:
    server.routes["far.test:443"] = kit.cut(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    async with make(proxy=f"http://127.0.0.1:{server.port}") as transport:
        with pytest.raises(ConnectError) as caught:
            await transport.request(Request(Url("https://far.test/")))

    assert not caught.value.refused


async def test_without_a_descriptor_left_nobody_is_blamed_but_us(
    transport: CurlTransport, server: "RawServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_socket(*_arguments: object) -> socket.socket:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("outrider.fetch.curl_loop._Lent", no_socket)

    with pytest.raises(ConnectError, match="Too many open files") as caught:
        await transport.request(Request(server.url("/x")))

    assert not caught.value.refused


async def test_a_failure_leaves_nothing_for_the_next_request(get: "Get", kit: "Kit", server: "RawServer") -> None:
    with pytest.raises(ConnectionLost):
        await get(kit.reset())

    with pytest.raises(ProtocolError):
        await get(kit.cut(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"))

    assert (await get(OK)).body == b"hello"
    assert len(server.heads) == 3


async def test_cancelling_ends_the_transfer_and_only_that(make: "Make", server: "RawServer") -> None:
    arrived = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        arrived.set()
        assert await reader.read() == b""
        gone.set()

    gone = asyncio.Event()
    server.routes |= {"/hangs": hang, "/x": OK}

    async with make() as transport:
        doomed = asyncio.create_task(transport.request(Request(server.url("/hangs"))))
        await arrived.wait()
        doomed.cancel()
        response = await transport.request(Request(server.url("/x")))
        await gone.wait()

    assert doomed.cancelled()
    assert response.body == b"hello"
