"""What comes back when the web behaves, or nearly: bytes on the wire in, a `Response` out."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from outrider.errors import (
    ConfigError,
    ConnectionLost,
    TlsError,
)
from outrider.fetch.answer import OTHER_CAP
from outrider.fetch.limits import Limits
from outrider.fetch.transport import CurlTransport, Pin
from outrider.model.url import Url
from outrider.ports import Request, Transport

if TYPE_CHECKING:
    from tests.integration.fetch.conftest import Certificates, Get, Kit, Make, RawServer

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"


def page(length: int, status: bytes = b"200 OK", content_type: bytes = b"text/html") -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, content_type, length)
    return head + b"x" * length


async def test_a_page_comes_back_with_its_evidence(get: "Get") -> None:
    response = await get(OK)

    assert (response.status, response.body, response.complete) == (200, b"hello", True)
    assert response.headers == (("Content-Type", "text/html"), ("Content-Length", "5"))
    assert (response.address, response.http_version, response.reused) == ("127.0.0.1", "1.1", False)


async def test_phases_end_one_after_the_other_and_are_counted_from_our_start(make: "Make", server: "RawServer") -> None:
    async def slowly(_url: Url) -> Pin:
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        return Pin(("127.0.0.1",))

    server.routes["/x"] = OK

    async with make(resolve=slowly) as transport:
        timing = (await transport.request(Request(server.url("/x")))).timing

    assert 0 < timing.dns < timing.connect < timing.first_byte <= timing.total
    assert timing.tls == 0


async def test_a_second_request_uses_the_kept_connection(get: "Get", server: "RawServer") -> None:
    await get(OK)

    response = await get(OK)

    assert response.reused
    assert server.connections == 1
    assert (response.timing.connect, response.timing.tls) == (0, 0)


async def test_headers_keep_their_order_their_repeats_and_their_bytes(get: "Get") -> None:
    response = await get(b"HTTP/1.1 200 OK\r\nB: 1\r\nA:\t 2 \t\r\nb: \xe9\r\nC:\r\nContent-Length: 0\r\n\r\n")

    assert response.headers == (("B", "1"), ("A", "2"), ("b", "é"), ("C", ""), ("Content-Length", "0"))


async def test_a_folded_header_is_one_value(get: "Get") -> None:
    response = await get(b"HTTP/1.1 200 OK\r\nA: one\r\n   two\r\n\tthree\r\nContent-Length: 0\r\n\r\n")

    assert response.header("a") == "one two three"


async def test_early_hints_are_not_the_answer(get: "Get") -> None:
    response = await get(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK)

    assert response.status == 200
    assert response.header("Link") is None


async def test_a_status_needs_no_reason_phrase(get: "Get") -> None:
    response = await get(b"HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno")

    assert (response.status, response.body) == (404, b"no")


async def test_a_body_of_http_1_0_ends_with_the_connection(get: "Get", kit: "Kit") -> None:
    response = await get(kit.cut(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end"))

    assert (response.body, response.http_version, response.complete) == (b"until the end", "1.0", True)


async def test_chunks_are_joined_and_trailers_dropped(get: "Get") -> None:
    response = await get(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nLate: yes\r\n\r\n"
    )

    assert response.body == b"abcde"
    assert response.headers == (("Transfer-Encoding", "chunked"),)


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
async def test_a_status_without_a_body_is_whole(get: "Get", status: bytes) -> None:
    response = await get(b"HTTP/1.1 " + status + b"\r\nETag: x\r\nContent-Length: 50\r\n\r\n")

    assert (response.body, response.complete) == (b"", True)


async def test_head_brings_headers_only_and_keeps_the_connection(get: "Get", server: "RawServer") -> None:
    only_head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 500\r\n\r\n"

    head = await get(only_head, method="HEAD", wanted_types=frozenset({"text/html"}))
    after = await get(OK)

    assert (head.status, head.body, head.complete, head.header("content-length")) == (200, b"", True, "500")
    assert server.heads[0].startswith(b"HEAD /x ")
    assert (after.body, after.reused) == (b"hello", True)


async def test_the_body_is_as_sent_even_when_it_is_encoded(get: "Get") -> None:
    response = await get(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\0\0")

    assert response.body == b"\x1f\x8b\0\0"


@pytest.mark.parametrize(("length", "kept", "complete"), [(99, 99, True), (100, 100, True), (101, 100, False)])
async def test_a_body_is_cut_at_its_cap_and_says_so(get: "Get", length: int, kept: int, complete: bool) -> None:  # noqa: FBT001 - a column of a table
    response = await get(page(length), body_cap=100)

    assert (len(response.body), response.complete) == (kept, complete)


@pytest.mark.parametrize("status", [b"302 Found", b"404 Not Found", b"500 Oops"])
async def test_what_is_no_page_is_read_up_to_a_small_cap(get: "Get", status: bytes) -> None:
    small = await get(page(OTHER_CAP, status))
    large = await get(page(OTHER_CAP + 1, status))

    assert (len(small.body), small.complete) == (OTHER_CAP, True)
    assert (len(large.body), large.complete) == (OTHER_CAP, False)


async def test_a_redirect_is_not_followed(get: "Get", server: "RawServer") -> None:
    response = await get(b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n")

    assert (response.status, response.header("location"), len(server.heads)) == (302, "/y", 1)


@pytest.mark.parametrize(
    ("content_type", "status", "is_read"),
    [
        (b"text/html", b"200 OK", True),
        (b"Text/HTML; charset=x", b"200 OK", True),
        (b"", b"200 OK", True),
        (b"image/png", b"200 OK", False),
        (b"image/png", b"404 Not Found", True),
    ],
)
async def test_an_unwanted_type_is_not_read(get: "Get", content_type: bytes, status: bytes, is_read: bool) -> None:  # noqa: FBT001 - a column of a table
    """H2-11"""
    response = await get(page(9, status, content_type), wanted_types=frozenset({"text/html"}))

    assert (response.body, response.complete) == ((b"x" * 9, True) if is_read else (b"", False))


async def test_a_type_is_refused_before_any_body_has_come(get: "Get", server: "RawServer", kit: "Kit") -> None:
    only_head = kit.stall(server, b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 9000000\r\n\r\n")

    response = await get(only_head, wanted_types=frozenset({"text/html"}))

    assert (response.status, response.body, response.complete) == (200, b"", False)


async def test_our_name_and_encodings_are_sent_with_the_headers_given(get: "Get", server: "RawServer") -> None:
    await get(OK, headers={"If-None-Match": '"a"', "X-Empty": ""})

    head = server.heads[0].decode()
    lines = head.split("\r\n")
    assert lines[0] == "GET /x HTTP/1.1"
    assert f"Host: site.test:{server.port}" in lines
    assert "User-Agent: Outrider-test/1" in lines
    assert "Accept-Encoding: gzip, deflate, br, zstd" in lines
    assert 'If-None-Match: "a"' in lines
    assert "X-Empty:" in lines
    assert "Cookie" not in head
    assert "Expect" not in head


async def test_headers_given_replace_ours_and_do_not_stay(get: "Get", server: "RawServer") -> None:
    await get(OK, headers={"user-agent": "Other/2", "ACCEPT-ENCODING": "identity", "X-Once": "1"})
    await get(OK)

    first, second = (head.decode() for head in server.heads)
    assert "user-agent: Other/2" in first
    assert "ACCEPT-ENCODING: identity" in first
    assert "Outrider-test" not in first
    assert "X-Once" not in second


@pytest.mark.parametrize(
    "headers", [{"X": "a\r\nEvil: 1"}, {"X": "a\nb"}, {"X\r\nEvil": "1"}, {"X;": "1"}, {"X": "a\0"}, {"X": "…"}]
)
async def test_a_header_cannot_break_out_of_its_line(get: "Get", server: "RawServer", headers: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        await get(OK, headers=headers)

    assert server.heads == []


async def test_only_get_and_head_are_asked(get: "Get") -> None:
    with pytest.raises(ConfigError, match="method is 'POST'"):
        await get(OK, method="POST")


async def test_the_path_goes_out_as_it_is(get: "Get", server: "RawServer") -> None:
    await get(OK, path="/a%2F..%2f/B//c;d?q=%7e|&e=")

    assert server.heads[0].startswith(b"GET /a%2F..%2f/B//c;d?q=%7e|&e= HTTP/1.1\r\n")


async def test_the_environment_chooses_no_proxy(
    make: "Make", server: "RawServer", monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port}")
    server.routes["/x"] = OK

    async with make() as transport:
        response = await transport.request(Request(server.url("/x")))

    assert response.status == 200


async def test_a_proxy_is_asked_in_place_of_the_site(make: "Make", server: "RawServer") -> None:
    server.routes["http://far.test/x"] = OK

    async with make(proxy=f"http://127.0.0.1:{server.port}", check_address=lambda _address, _port: False) as transport:
        response = await transport.request(Request(Url("http://far.test/x")))

    assert response.body == b"hello"


async def test_a_verified_certificate_gives_an_encrypted_page(
    make: "Make", server: "RawServer", certificates: "Certificates"
) -> None:
    await server.stop()
    await server.start(certificates.context("site.test"))
    server.routes["/x"] = OK

    async with make(ca_file=certificates.ca_file) as transport:
        first = await transport.request(Request(server.url("/x", scheme="https")))
        second = await transport.request(Request(server.url("/x", scheme="https")))

    assert (first.body, first.http_version, first.reused) == (b"hello", "1.1", False)
    assert first.timing.connect < first.timing.tls < first.timing.first_byte
    assert (second.reused, second.timing.tls) == (True, 0)


async def test_verification_can_be_switched_off_for_one_host(
    make: "Make", server: "RawServer", certificates: "Certificates"
) -> None:
    """C34"""
    await server.stop()
    await server.start(certificates.context("unrelated.test"))
    server.routes["/x"] = OK

    async with make(ca_file=certificates.ca_file, verify=lambda url: url.host != "lax.test") as transport:
        lax = await transport.request(Request(server.url("/x", "lax.test", "https")))
        with pytest.raises(TlsError):
            await transport.request(Request(server.url("/x", "site.test", "https")))

    assert lax.status == 200


def test_a_broken_ca_file_is_found_at_the_start(make: "Make") -> None:
    with pytest.raises(ConfigError, match="ca_file"):
        make(ca_file=__file__)


def test_limits_must_leave_some_time() -> None:
    with pytest.raises(ConfigError, match="connect is 0"):
        Limits(connect=0)


async def test_a_closed_transport_asks_nothing(make: "Make", server: "RawServer") -> None:
    async with make() as transport:
        pass

    with pytest.raises(ConnectionLost):
        await transport.request(Request(server.url("/x")))


async def test_closing_ends_what_is_in_flight(make: "Make", server: "RawServer") -> None:
    arrived = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        arrived.set()
        await server.hang(reader, writer)

    server.routes["/x"] = hang

    async with make() as transport:
        waiting = asyncio.create_task(transport.request(Request(server.url("/x"))))
        await arrived.wait()

    with pytest.raises(ConnectionLost, match="closed"):
        await waiting


def test_the_transport_is_a_transport(make: "Make") -> None:
    port: Transport = make()

    assert isinstance(port, CurlTransport)
