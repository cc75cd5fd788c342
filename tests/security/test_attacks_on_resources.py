"""Whatever a site sends, an answer costs a bounded number of bytes and ends: as a value, never as an exception.

Most floods here have no end: a test that passes has hung up. Nothing is measured in seconds.
"""

import asyncio
import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from tests.security.attackers import HOLE, HTML, OUTSIDE, Handler, Hostile, a_client, flood, page

from outrider import Fetch
from outrider.model.outcome import Failed, Fetched
from outrider.model.reason import Reason

CHUNKED = HTML + b"Transfer-Encoding: chunked\r\n\r\n"
MANY = 4_000
QUICK: dict[str, object] = {"first_byte_timeout": 0.4, "idle_timeout": 0.4, "timeout": 1}
"""For what no cap ends, because none of it is ours to count: then time does."""


async def fetched(reply: bytes | Handler, path: str = "/", /, **keys: object) -> Fetch:
    async with (
        Hostile({path: reply}) as site,
        a_client({"*": [OUTSIDE]}, allow_private=HOLE, **keys) as client,
    ):
        return await client.fetch(site.url())


def reason(fetch: Fetch) -> Reason | None:
    return fetch.outcome.failure.reason if isinstance(fetch.outcome, Failed) else None


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(flood(HTML + b"X: ", b"y" * 65_536), id="one header without end"),
        pytest.param(page(extra=b"X: " + b"y" * 10_000_000 + b"\r\n"), id="one header of 10 MB"),
        pytest.param(page(extra=b"a:b\r\n" * 100_000), id="100,000 tiny headers"),
        pytest.param(flood(HTML, b"a:b\r\n" * MANY), id="headers without end"),
        pytest.param(flood(HTML + b"X: a\r\n", b" folded\r\n" * MANY), id="folded lines without end"),
        pytest.param(flood(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * MANY), id="103 without end"),
        pytest.param(flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * MANY), id="100 without end"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", id="an upgrade unasked"),
        pytest.param(flood(b"", b"\r\n" * MANY), id="empty lines without end"),
        pytest.param(flood(b"HTTP/1.1 200 ", b"y" * 65_536), id="a status line without end"),
        pytest.param(flood(b"", b"\x00\xff" * 32_768), id="noise without end"),
        pytest.param(flood(CHUNKED, b"0" * 65_536), id="a chunk size without end"),
        pytest.param(CHUNKED + b"fffffffffffffffff\r\n", id="a chunk size beyond all numbers"),
        pytest.param(CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", id="a negative chunk size"),
        pytest.param(flood(CHUNKED + b"1\r\na\r\n0\r\n", b"X: y\r\n" * MANY), id="trailers without end"),
        pytest.param(flood(CHUNKED + b"1\r\na\r\n0\r\nX: ", b"y" * 65_536), id="one trailer without end"),
    ],
)
async def test_an_answer_that_is_all_framing_is_a_protocol_error(attack: bytes | Handler) -> None:
    answer = await fetched(attack)

    assert reason(answer) is Reason.PROTOCOL_ERROR
    assert answer.content == b""


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(flood(CHUNKED + b"5;", b"x" * 65_536), id="a chunk extension without end"),
        pytest.param(flood(CHUNKED, (b"1;" + b"x" * 16_000 + b"\r\na\r\n") * 4), id="chunk extensions without end"),
        pytest.param(page()[:-8], id="a body that does not come"),
        pytest.param(HTML + b"Content-Length: 99999999999999999999999\r\n\r\n<p>", id="a length beyond all numbers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nConte", id="headers that stop"),
        pytest.param(CHUNKED + b"5\r\nhel", id="a chunk that stops"),
    ],
)
async def test_an_answer_that_does_not_arrive_is_ended_by_time(attack: bytes | Handler) -> None:
    assert reason(await fetched(attack, **QUICK)) is Reason.READ_TIMEOUT


async def test_a_head_that_comes_letter_by_letter_is_ended_by_time() -> None:
    """A slow loris, turned around. The letters come quicker than any silence is noticed."""

    async def letters(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not writer.is_closing():
            writer.write(b"y")
            await writer.drain()
            await asyncio.sleep(0.05)  # the attack itself: not a wait for anything

    assert reason(await fetched(letters, **QUICK)) is Reason.READ_TIMEOUT


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (b"Content-Length: -8\r\n", b"<p>hello"),
        (b"Content-Length: +8\r\n", b"<p>hello"),
        (b"Content-Length: 8\r\nContent-Length: 3\r\n", b"<p>hello"),
        (b"Content-Length: 3\r\nContent-Length: 8\r\n", b"<p>hello"),
        (b"Content-Length: 3, 8\r\n", b"<p>hello"),
        (b"Content-Length: 0x8\r\n", b"<p>hello"),
        (b"Content-Length: 8\r\nTransfer-Encoding: gzip, chunked\r\n", b"8\r\n<p>hello\r\n0\r\n\r\n"),
        (b"Content-Length: 8\r\nTransfer-Encoding: xchunked\r\n", b"<p>hello"),
        (b"Content-Length\r\n", b"<p>hello"),
        (b"X: a\0b\r\nContent-Length: 8\r\n", b"<p>hello"),
        (b"X: a\rContent-Length: 3\r\nContent-Length: 8\r\n", b"<p>hello"),
    ],
)
async def test_a_length_that_contradicts_itself_is_refused(headers: bytes, body: bytes) -> None:
    answer = await fetched(HTML + headers + b"\r\n" + body)

    assert reason(answer) is Reason.PROTOCOL_ERROR


@pytest.mark.parametrize(
    "order",
    [b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"],
)
async def test_chunks_win_over_a_length(order: bytes) -> None:
    """RFC 9112 6.3: whoever read the three bytes would take the rest for the next answer."""
    chunked = HTML + order + b"\r\n8\r\n<p>hello\r\n0\r\n\r\n"
    async with (
        Hostile({"/": chunked, "/next": page(b"<p>next")}) as site,
        a_client({"*": [OUTSIDE]}, allow_private=HOLE) as client,
    ):
        first = await client.fetch(site.url())
        following = await client.fetch(site.url("/next"))

    assert (first.content, following.content) == (b"<p>hello", b"<p>next")


@pytest.mark.parametrize("status", [b"HTTP/1.1 999 Odd", b"HTTP/1.1 600", b"HTTP/1.0 299 Odd", b"HTTP/1.1 226 IM Used"])
async def test_an_unheard_of_status_is_a_value(status: bytes) -> None:
    answer = await fetched(status + b"\r\nContent-Type: text/html\r\nContent-Length: 8\r\n\r\n<p>hello")

    assert answer.status == int(status[9:12])
    assert answer.ok is (answer.status < 300)


def _zeros(size: int) -> bytes:
    return bytes(size)


BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(_zeros(50_000_000), 9),
    "deflate": lambda: zlib.compress(_zeros(50_000_000), 9),
    "br": lambda: brotli.compress(_zeros(50_000_000), quality=5),
    "zstd": lambda: zstandard.compress(_zeros(50_000_000)),
    "gzip, gzip": lambda: gzip.compress(gzip.compress(_zeros(50_000_000))),
    "br, gzip": lambda: gzip.compress(brotli.compress(_zeros(50_000_000), quality=5)),
    "zstd, br": lambda: brotli.compress(zstandard.compress(_zeros(50_000_000)), quality=5),
}


@pytest.mark.parametrize("encoding", BOMBS)
async def test_a_bomb_is_told_from_a_page(encoding: str) -> None:
    answer = await fetched(page(BOMBS[encoding](), b"Content-Encoding: " + encoding.encode() + b"\r\n"))

    assert reason(answer) is Reason.BODY_TOO_LARGE
    assert answer.content == b""


# A gzip stream whose content is itself would be decoded for ever by whoever peels until nothing is left to peel.
NESTED = b"Content-Encoding: " + b", ".join([b"gzip"] * 1_000) + b"\r\n"
DICTIONARY = zstandard.ZstdCompressionDict(bytes(range(256)) * 32, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param(NESTED, gzip.compress(b"<p>hello"), id="a thousand encodings in one header"),
        pytest.param(b"Content-Encoding: gzip\r\n" * 1_000, gzip.compress(b"<p>hello"), id="a thousand headers"),
        pytest.param(b"Content-Encoding: dcb\r\n", b"\xff\x44\x43\x42" + bytes(64), id="a brotli dictionary"),
        pytest.param(b"Content-Encoding: dcz\r\n", b"\x5e\x2a\x4d\x18" + bytes(64), id="a zstd dictionary"),
        pytest.param(b"Content-Encoding: compress\r\n", b"\x1f\x9d\x90" + bytes(64), id="an encoding not asked for"),
        pytest.param(b"Content-Encoding: " + b"x" * 60_000 + b"\r\n", b"<p>hello", id="an encoding of 60 KB"),
        pytest.param(b"Content-Encoding: gzip\r\n", gzip.compress(b"") * 5_000, id="members without content"),
        pytest.param(b"Content-Encoding: zstd\r\n", b"\x50\x2a\x4d\x18\0\0\0\0" * 5_000, id="frames to skip"),
        pytest.param(
            b"Content-Encoding: zstd\r\n",
            zstandard.ZstdCompressor(dict_data=DICTIONARY).compress(bytes(range(256)) * 32),
            id="a frame that needs a dictionary",
        ),
        pytest.param(b"Content-Encoding: br\r\n", b"\x11" + bytes([0x3E]) + bytes(64), id="a large brotli window"),
    ],
)
async def test_an_encoding_that_is_an_attack_is_undecodable(headers: bytes, body: bytes) -> None:
    answer = await fetched(page(body, headers))

    assert reason(answer) in {Reason.UNDECODABLE, Reason.EMPTY_BODY}


async def test_a_body_without_end_costs_its_cap() -> None:
    answer = await fetched(flood(HTML + b"\r\n", b"<p>more" * 8_000), max_body=300_000)

    assert isinstance(answer.outcome, Fetched)
    assert (len(answer.content), answer.outcome.body.truncated) == (300_000, True)


@pytest.mark.parametrize("status", [b"302 Found\r\nLocation: /", b"404 Not Found", b"500 Broken"])
async def test_a_body_without_end_of_what_is_no_page_is_left_alone(status: bytes) -> None:
    answer = await fetched(flood(b"HTTP/1.1 " + status + b"\r\n\r\n", b"<p>more" * 8_000))

    assert not answer.ok
    assert answer.content == b""


async def test_a_robots_txt_without_end_is_read_to_its_limit_and_obeyed() -> None:
    """RFC 9309 2.5: what is within the limit counts. 100 MB would be as many bytes as nobody reads."""
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\nUser-agent: *\nDisallow: /\n"

    answer = await fetched(flood(start, b"Allow: /" + b"a" * 4_000 + b"\n"), "/robots.txt")

    assert answer.page is not None
    assert answer.page.metadata.reason == Reason.ROBOTS_DISALLOWED


async def test_a_robots_txt_that_is_a_bomb_is_read_to_its_limit() -> None:
    bomb = gzip.compress(b"User-agent: *\nDisallow: /\n" + b"#\n" * 20_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)

    answer = await fetched(head + bomb, "/robots.txt")

    assert answer.page is not None
    assert answer.page.metadata.reason == Reason.ROBOTS_DISALLOWED


@pytest.mark.parametrize(
    "label",
    [
        b"utf-7",
        b"iso-2022-kr",
        b"hz-gb-2312",
        b"x" * 10_000,
        b"idna",
        b"punycode",
        b"rot13",
        b"zlib",
        b"\x00\xff",
        b'"',
    ],
)
async def test_a_charset_that_is_no_charset_of_the_web_is_not_believed(label: bytes) -> None:
    body = b"<p>+ADw-script+AD4-~{ \x0e\x1b$)C hello"

    answer = await fetched(HTML[:-2] + b"; charset=" + label.replace(b"\0", b"%00") + b"\r\n" + page(body)[len(HTML) :])

    assert "<script" not in answer.text
    assert "hello" in answer.text


async def test_a_content_type_of_sixty_kilobytes_is_a_content_type() -> None:
    answer = await fetched(HTML[:-2] + b";a=b" * 15_000 + b"\r\n" + page()[len(HTML) :])

    assert answer.content == b"<p>hello"


@pytest.mark.parametrize("value", [b"9" * 60_000, b"-1", b"1e99", b"Mon, 99 Foo 99999 99:99:99 GMT", b"\xff" * 60_000])
async def test_a_retry_after_that_is_an_attack_is_a_value(value: bytes) -> None:
    answer = await fetched(b"HTTP/1.1 503 Down\r\nRetry-After: " + value + b"\r\nContent-Length: 0\r\n\r\n")

    assert answer.status == 503
