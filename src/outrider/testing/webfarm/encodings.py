"""Bodies in their encodings: right, nested, unknown, cut short, mislabelled, and bombs made at no cost.

A bomb is one compressed block sent over and over, so that neither time nor memory grows with its size.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from importlib import import_module
from itertools import repeat
from types import ModuleType
from typing import Final, Literal, TypeAlias

from outrider.testing.webfarm.behaviours import HELLO, HTML, page
from outrider.testing.webfarm.faults import Script, Send, Stream
from outrider.testing.webfarm.kinds import Instant
from outrider.testing.webfarm.wire import chunk, head

BombEncoding: TypeAlias = Literal["gzip", "deflate", "raw-deflate", "br", "zstd"]

_MIB: Final = 1_048_576
_ZEROS: Final = bytes(_MIB)
_AT_ONCE: Final = 64
_ON_THE_WIRE: Final = {"raw-deflate": "deflate"}
"""What the header says: there is one name for both kinds of deflate, which is why clients must try both."""


def encode(body: bytes, encodings: str) -> bytes:
    """Apply each encoding of a comma-separated list, in order; one that nobody knows leaves the bytes alone."""
    for name in encodings.split(","):
        body = _ENCODERS.get(name.strip(), _as_it_is)(body)
    return body


def encoded(body: str | bytes, encodings: str, *, content_type: str = HTML) -> Instant:
    """A page in `gzip`, `deflate`, `raw-deflate`, `br`, `zstd`, several of them, or an invented one."""
    plain = body if isinstance(body, bytes) else body.encode()
    return page(encode(plain, encodings), content_type=content_type, headers={"Content-Encoding": _said(encodings)})


def truncated(encoding: str, body: str | bytes = HELLO * 200) -> Instant:
    """The compressed stream stops half way, in an answer whose length is right."""
    whole = encode(body if isinstance(body, bytes) else body.encode(), encoding)
    return page(whole[: len(whole) // 2], headers={"Content-Encoding": _said(encoding)})


def mislabelled(encoding: str = "gzip", body: str | bytes = HELLO) -> Instant:
    """The header says compressed; the body is not."""
    return page(body, headers={"Content-Encoding": _said(encoding)})


def bomb(encoding: BombEncoding, size: int = 1024 * _MIB) -> Script:
    """A valid stream that inflates to `size` zeros, sent in chunks and made while it is sent."""
    top = head(200, {"Content-Type": "text/html", "Content-Encoding": _said(encoding), "Transfer-Encoding": "chunked"})
    return Script(top, (Stream(partial(_chunked, encoding, size)), Send(chunk(b""))))


def bomb_pieces(encoding: BombEncoding, size: int) -> Iterator[bytes]:
    """The compressed stream itself, in pieces of some kilobytes."""
    return _BOMBS[encoding](size)


def _chunked(encoding: BombEncoding, size: int) -> Iterator[bytes]:
    return (chunk(piece) for piece in bomb_pieces(encoding, size) if piece)


def _said(encodings: str) -> str:
    return ", ".join(_ON_THE_WIRE.get(name.strip(), name.strip()) for name in encodings.split(","))


# One body.


def _as_it_is(body: bytes) -> bytes:
    return body


def _zlib(wbits: int, body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=wbits)
    return compressor.compress(body) + compressor.flush()


def _brotli_module() -> ModuleType:
    """Imported for whoever asks for it; by name, because it carries no types."""
    return import_module("brotli")


def _brotli(body: bytes) -> bytes:
    compressed: bytes = _brotli_module().compress(body)
    return compressed


def _zstd(body: bytes) -> bytes:
    import zstandard  # noqa: PLC0415  only who asks for it needs it

    return zstandard.ZstdCompressor().compress(body)


_ENCODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "gzip": partial(_zlib, 31),
    "deflate": partial(_zlib, 15),
    "raw-deflate": partial(_zlib, -15),
    "br": _brotli,
    "zstd": _zstd,
}


# Bombs.


def _repeated(block: bytes, times: int) -> Iterator[bytes]:
    """`block` again and again, many at once, because a piece is a chunk and a turn of the loop."""
    yield from repeat(block * _AT_ONCE, times // _AT_ONCE)
    yield block * (times % _AT_ONCE)


def _raw_deflate_bomb(size: int) -> Iterator[bytes]:
    # A full flush forgets what came before and ends on a whole byte: such blocks may follow each other freely.
    opening = zlib.compressobj(9, wbits=-15)
    yield from _repeated(opening.compress(_ZEROS) + opening.flush(zlib.Z_FULL_FLUSH), size // _MIB)
    closing = zlib.compressobj(9, wbits=-15)
    yield closing.compress(_ZEROS[: size % _MIB]) + closing.flush()


def _deflate_bomb(size: int) -> Iterator[bytes]:
    yield b"\x78\xda"
    yield from _raw_deflate_bomb(size)
    # Adler-32 of zeros: the sum of bytes stays 1, the sum of sums counts them (RFC 1950 8.2).
    yield (((size % 65_521) << 16) | 1).to_bytes(4, "big")


def _gzip_bomb(size: int) -> Iterator[bytes]:
    yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    yield from _raw_deflate_bomb(size)
    yield _crc_of_zeros(size).to_bytes(4, "little") + (size % 2**32).to_bytes(4, "little")


def _crc_of_zeros(size: int) -> int:
    """CRC-32 without touching the bytes: a zero byte multiplies the register by x^8 modulo the polynomial."""
    register, power, left = 0xFFFFFFFF, 1 << 23, size
    while left:
        if left & 1:
            register = _times_modulo(register, power)
        power = _times_modulo(power, power)
        left >>= 1
    return register ^ 0xFFFFFFFF


def _times_modulo(left: int, right: int) -> int:
    """The product of two polynomials over GF(2), modulo that of CRC-32; bit 31 is x^0, as the register has it."""
    product = 0
    for bit in range(31, -1, -1):
        if left >> bit & 1:
            product ^= right
        right = right >> 1 ^ (0xEDB88320 if right & 1 else 0)
    return product


@lru_cache(maxsize=1)
def _brotli_opening() -> tuple[bytes, bytes]:
    """The first megabytes, and the block that each further one is: by then the encoder's state repeats itself."""
    compressor = _brotli_module().Compressor(quality=5)
    blocks = [compressor.process(_ZEROS) + compressor.flush() for _ in range(4)]
    if blocks[2] != blocks[3]:
        raise RuntimeError("this brotli does not repeat itself; bombs must be made another way")
    return b"".join(blocks[:3]), blocks[3]


def _brotli_bomb(size: int) -> Iterator[bytes]:
    brotli = _brotli_module()
    times, rest = divmod(size, _MIB)
    if times < 4:
        yield brotli.compress(bytes(size))
        return
    opening, block = _brotli_opening()
    yield opening
    yield from _repeated(block, times - 3)
    # The end must come from a compressor in the state that the repeated block leaves behind.
    ending = brotli.Compressor(quality=5)
    for _ in range(4):
        ending.process(_ZEROS)
        ending.flush()
    yield ending.process(_ZEROS[:rest]) + ending.finish()


def _zstd_bomb(size: int) -> Iterator[bytes]:
    # RFC 8878 3.1.1: a frame without length or checksum and a window of 1 MiB, then run-length blocks of 128 KiB each,
    # four bytes for every one of them; no library is needed, and none compresses better.
    yield b"\x28\xb5\x2f\xfd\x00\x50"
    yield from _repeated(_zstd_run(131_072, last=False), size // 131_072)
    yield _zstd_run(size % 131_072, last=True)


def _zstd_run(length: int, *, last: bool) -> bytes:
    return (length << 3 | 1 << 1 | last).to_bytes(3, "little") + b"\x00"


_BOMBS: Final[Mapping[BombEncoding, Callable[[int], Iterator[bytes]]]] = {
    "gzip": _gzip_bomb,
    "deflate": _deflate_bomb,
    "raw-deflate": _raw_deflate_bomb,
    "br": _brotli_bomb,
    "zstd": _zstd_bomb,
}
