"""Encoded bodies, right and wrong, and bombs that cost the farm nothing."""

import tracemalloc
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Final, get_args

import pytest

from outrider.testing.webfarm import WebFarm, bomb, encoded, mislabelled, truncated
from outrider.testing.webfarm.caller import ask, call
from outrider.testing.webfarm.encodings import BombEncoding, bomb_pieces

MIB: Final = 1_048_576
BODY: Final = b"<p>plain</p>" * 50


def unzstd(data: bytes) -> bytes:
    return bytes(import_module("zstandard").ZstdDecompressor().decompressobj().decompress(data))


def unbrotli(data: bytes) -> bytes:
    return bytes(import_module("brotli").decompress(data))


DECODE: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gzip": lambda data: zlib.decompress(data, 31),
    "deflate": zlib.decompress,
    "raw-deflate": lambda data: zlib.decompress(data, -15),
    "br": unbrotli,
    "zstd": unzstd,
}


@pytest.mark.parametrize(
    ("encodings", "said"),
    [
        ("gzip", b"gzip"),
        ("deflate", b"deflate"),
        ("raw-deflate", b"deflate"),
        ("br", b"br"),
        ("zstd", b"zstd"),
        ("gzip, br", b"gzip, br"),
        ("gzip,gzip,gzip", b"gzip, gzip, gzip"),
    ],
)
async def test_a_body_is_encoded_as_the_header_says(encodings: str, said: bytes) -> None:
    async with WebFarm({"a.test": {"/": encoded(BODY, encodings)}}) as farm:
        head, _, body = (await ask(farm.port, "a.test")).partition(b"\r\n\r\n")

    for name in reversed(encodings.split(",")):
        body = DECODE[name.strip()](body)
    assert b"\r\nContent-Encoding: " + said + b"\r\n" in head
    assert body == BODY


async def test_an_unknown_encoding_and_a_mislabelled_body_are_plain() -> None:
    async with WebFarm({"a.test": {"/x": encoded(BODY, "x-mystery"), "/m": mislabelled("br", BODY)}}) as farm:
        unknown = await ask(farm.port, "a.test", "/x")
        mislabelled_ = await ask(farm.port, "a.test", "/m")

    assert b"\r\nContent-Encoding: x-mystery\r\n" in unknown
    assert unknown.endswith(BODY)
    assert b"\r\nContent-Encoding: br\r\n" in mislabelled_
    assert mislabelled_.endswith(BODY)


async def test_a_compressed_stream_may_stop_half_way() -> None:
    async with WebFarm({"a.test": {"/": truncated("gzip")}}) as farm:
        head, _, body = (await ask(farm.port, "a.test")).partition(b"\r\n\r\n")
    inflater = zlib.decompressobj(31)

    some = inflater.decompress(body)

    assert f"\r\nContent-Length: {len(body)}".encode() in head
    assert some
    assert not inflater.eof


@pytest.mark.parametrize("encoding", get_args(BombEncoding))
@pytest.mark.parametrize("size", [0, 1, MIB - 1, 4 * MIB, 70 * MIB + 12_345])
def test_a_bomb_is_a_valid_stream_of_exactly_its_size(encoding: BombEncoding, size: int) -> None:
    sent = b"".join(bomb_pieces(encoding, size))

    inflated = DECODE[encoding](sent)

    assert len(inflated) == size
    assert not inflated.strip(b"\0")


@pytest.mark.parametrize("encoding", get_args(BombEncoding))
async def test_a_bomb_is_sent_in_chunks_and_keeps_the_connection(encoding: BombEncoding) -> None:
    async with WebFarm({"a.test": {"/": bomb(encoding, 20 * MIB)}}) as farm, call(farm.port) as caller:
        for _ in range(2):
            await caller.ask("a.test")
            head, body = await caller.answer()

            assert b"\r\nContent-Encoding: " + encoding.removeprefix("raw-").encode() + b"\r\n" in head
            assert len(DECODE[encoding](body)) == 20 * MIB
            assert len(body) < 100_000


@pytest.mark.parametrize("encoding", get_args(BombEncoding))
def test_a_bomb_of_a_terabyte_needs_no_memory_to_begin_with(encoding: BombEncoding) -> None:
    next(iter(bomb_pieces(encoding, MIB)))
    tracemalloc.start()

    pieces = bomb_pieces(encoding, 1 << 40)
    begun = [next(pieces) for _ in range(20)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert all(begun)
    assert peak < 16 * MIB
