"""What are these bytes? The body as sent becomes the body as meant, and never more of it than the limits allow.

Decoding is a chain of generators, one for each Content-Encoding, each handing on small steps under the same caps: a
bomb costs the cap, the decoder's window (brotli: 16 MiB, zstd: 8) and a few steps, also when it is wrapped in a second
encoding or hides in what lies between the two. As browsers do, what follows a complete gzip, deflate or zstd stream is
ignored, and a body that is not what its Content-Encoding claims is refused rather than guessed at. Which character set
the text is in is not asked here: see `extract.charset`.
"""

import hashlib
import re
from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import lru_cache
from io import BytesIO
from itertools import chain
from typing import Final, Literal, TypeAlias, cast

import brotli
from isal import igzip_lib
from msgspec import Struct
from zstandard import CONTENTSIZE_UNKNOWN, ZstdDecompressor, ZstdError, get_frame_parameters

from outrider.errors import BodyTooLarge, Undecodable
from outrider.extract.charset import looks_binary
from outrider.model.outcome import Body

MIB: Final = 1_048_576


class BodyLimits(Struct, frozen=True):
    """`decoded` is a cap, and `on_oversize` says whether what exceeds it is cut off or fails the visit.

    More than `ratio` decoded bytes for each byte sent is a bomb, once there are `ratio_floor` of them: that always
    fails. `encodings` is how many may be wrapped in each other.
    """

    decoded: int = 20 * MIB
    ratio: float = 200.0
    ratio_floor: int = MIB
    encodings: int = 2
    on_oversize: Literal["truncate", "fail"] = "truncate"


class Decoded(Struct, frozen=True):
    """`truncated`: the cap cut it off, or the stream ended before its end; `data` is what there was until then."""

    data: bytes
    encodings: tuple[str, ...] = ()
    truncated: bool = False


class _OverCap(BodyTooLarge):
    """More than `limits.decoded`: by setting an error, or the end of the body."""


class _EndedEarly(Undecodable):
    """The input was used up inside a stream: by setting an error, or the end of the body."""


def decode(body: bytes, content_encoding: str | None, *, complete: bool, limits: BodyLimits) -> Decoded:
    """Undo the Content-Encoding (several header values joined by commas). Raises `BodyTooLarge` and `Undecodable` only.

    Not `complete` means that the transport stopped reading at its own cap. An empty body is empty in any encoding:
    servers put the header on answers that have no content.
    """
    encodings = _encodings(content_encoding, limits.encodings)
    oversize = not complete or (not encodings and len(body) > limits.decoded)
    if oversize and limits.on_oversize == "fail":
        raise BodyTooLarge(f"{len(body)} bytes were sent, or more")
    if not encodings or not body:
        return Decoded(body[: limits.decoded], encodings, oversize)
    if encodings == ("zstd",) and (page := _small_zstd(body, limits)) is not None:
        return Decoded(page, encodings, oversize)
    wire = _Wire(body)
    steps = wire.bites()
    for encoding in reversed(encodings):
        steps = _capped(_DECODERS[encoding](_cut(steps)), wire, limits)
    # Growing a BytesIO and taking its value copies nothing, where joining a list would hold the body twice.
    data = BytesIO()
    truncated = oversize
    try:
        data.writelines(steps)
    except (_OverCap, _EndedEarly):
        if limits.on_oversize == "fail":
            raise
        truncated = True
    except (_IsalError, brotli.error, ZstdError) as exc:
        raise Undecodable(f"not valid {', '.join(encodings)}: {exc}") from exc
    return Decoded(data.getvalue(), encodings, truncated)


def describe(decoded: Decoded, wire_length: int, content_type: str | None, charset: str | None) -> Body:
    """Hash and length are of the decoded bytes, never of re-encoded text (H4-10)."""
    return Body(
        length=len(decoded.data),
        sha256=hashlib.sha256(decoded.data).hexdigest(),
        wire_length=wire_length,
        content_type=content_type,
        charset=charset,
        encodings=decoded.encodings,
        truncated=decoded.truncated,
    )


# ── Content-Encoding ─────────────────────────────────────────────────────────────────────────────────────────────────

_STEP: Final = 262_144
"""What one call of a decoder may put out."""

_BITE: Final = 16_384
"""What one call of a decoder is given: what it leaves over is copied, and a bomb is known only after a whole one."""

_ZSTD_BITE: Final = 128
"""The zstd binding bounds no output. A block of four bytes can become 128 KiB, so this many become 4 MiB at most."""

_ZSTD_WINDOW: Final = 8 * MIB
"""RFC 9659 3: a zstd body may not ask for a larger window."""

_MEMBERS: Final = 4_096
"""Streams one after another in one body; empty ones cost time and count for no other limit."""

_MEANS_NOTHING: Final = frozenset({"", "identity", "none", "utf-8"})
"""The last two are no encodings, but servers that send them mean that there is none."""

_Steps: TypeAlias = Iterator[bytes]
_Stream: TypeAlias = Generator[bytes, None, bytes]
"""Yields what one stream decodes to; returns what was left over of the last step that it took."""

# The stub declares an instance where there is a class.
_IsalError: Final = cast("type[Exception]", igzip_lib.error)


def _encodings(header: str | None, most: int) -> tuple[str, ...]:
    """In the order they were applied."""
    if header is None:
        return ()
    named = tuple(name for part in header.split(",") if (name := part.strip().lower()) not in _MEANS_NOTHING)
    if len(named) > most:
        raise Undecodable(f"{len(named)} encodings in each other, at most {most} are undone")
    for name in named:
        if name not in _DECODERS:
            raise Undecodable(f"unknown content encoding {name[:40]!r}")
    return named


class _Wire:
    """The body as sent. A bomb is judged by what of it was `taken` so far, so that padding behind it does not help."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.taken = 0

    def bites(self) -> _Steps:
        for bite in _cut(iter((self._body,))):
            self.taken += len(bite)
            yield bite


def _cut(steps: _Steps) -> _Steps:
    for step in steps:
        if len(step) <= _BITE:
            yield step
        else:
            for start in range(0, len(step), _BITE):
                yield step[start : start + _BITE]


def _capped(steps: _Steps, wire: _Wire, limits: BodyLimits) -> _Steps:
    total = 0
    for step in steps:
        total += len(step)
        if total > limits.ratio_floor and total > limits.ratio * wire.taken:
            raise BodyTooLarge(f"decompression bomb: {wire.taken} bytes became {total}")
        if total > limits.decoded:
            yield step[: limits.decoded - total]
            raise _OverCap(f"more than {limits.decoded} bytes when decoded")
        yield step


def _stream(steps: _Steps, container: int) -> _Stream:
    inflater = igzip_lib.IgzipDecompressor(container)
    for step in steps:
        yield inflater.decompress(step, _STEP)
        while not (inflater.eof or inflater.needs_input):
            yield inflater.decompress(b"", _STEP)
        if inflater.eof:
            return inflater.unused_data
    raise _EndedEarly("the deflate stream ends early")


def _gzip(steps: _Steps) -> _Steps:
    return _concatenated(steps, lambda rest: _stream(rest, igzip_lib.DECOMP_GZIP), re.compile(rb"\x1f\x8b"))


def _deflate(steps: _Steps) -> _Steps:
    """RFC 9110 8.4.1.2 means the zlib format; servers that send it bare are as old as the name."""
    head = _at_least(2, b"", steps)
    # CM 8 in the low bits would open a bare stream with a stored block whose padding is not zero: nobody writes that.
    wrapped = len(head) > 0 and head[0] & 0x0F == 8 and (len(head) < 2 or int.from_bytes(head[:2]) % 31 == 0)
    yield from _stream(chain((head,), steps), igzip_lib.DECOMP_ZLIB if wrapped else igzip_lib.DECOMP_DEFLATE)
    _drain(steps)


def _brotli(steps: _Steps) -> _Steps:
    """The library takes bytes after the end for an error and gives nothing of the last step, so they are one here."""
    decoder = brotli.Decompressor()
    for step in steps:
        made = decoder.process(step, output_buffer_limit=_STEP)
        # It may say that it takes more input while it still holds output: only an empty answer means that it is dry.
        while made:
            yield made
            made = decoder.process(b"", output_buffer_limit=_STEP)
    if not decoder.is_finished():
        raise _EndedEarly("the brotli stream ends early")


def _zstd(steps: _Steps) -> _Steps:
    # RFC 8878 3.1: a frame, or a skippable frame, may follow.
    return _concatenated(steps, _zstd_frame, re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"))


def _small_zstd(body: bytes, limits: BodyLimits) -> bytes | None:
    """Most pages are one frame below every cap: at once, in half the time. None: it must go the long way."""
    most = min(_STEP, limits.decoded, limits.ratio_floor)
    try:
        size = get_frame_parameters(body).content_size
        # The binding allocates what a frame claims to hold, and looks no further when it claims to hold nothing.
        if size != CONTENTSIZE_UNKNOWN and not 0 < size <= most:
            return None
        decoder = ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        return decoder.decompress(body, max_output_size=most, allow_extra_data=False)
    except ZstdError:
        return None


def _zstd_frame(steps: _Steps) -> _Stream:
    decoder = ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
    for step in steps:
        for start in range(0, len(step), _ZSTD_BITE):
            end = start + _ZSTD_BITE
            yield decoder.decompress(step[start:end])
            if decoder.eof:
                return decoder.unused_data + step[end:]
    raise _EndedEarly("the zstd frame ends early")


def _concatenated(steps: _Steps, one: Callable[[_Steps], _Stream], magic: re.Pattern[bytes]) -> _Steps:
    """Streams one after another are one body; what does not start like a stream is not part of it."""
    rest = b""
    for _ in range(_MEMBERS):
        rest = yield from one(chain((rest,), steps))
        rest = _at_least(4, rest, steps)
        if not magic.match(rest):
            _drain(steps)
            return
    raise Undecodable(f"more than {_MEMBERS} streams in one body")


def _drain(steps: _Steps) -> None:
    """What is ignored is decoded all the same: an outer stream that is cut off or broken must not go unnoticed."""
    deque(steps, maxlen=0)


def _at_least(size: int, start: bytes, steps: _Steps) -> bytes:
    """`start` and as many further steps as it takes, or as there are."""
    while len(start) < size and (step := next(steps, None)) is not None:
        start += step
    return start


_DECODERS: Final[dict[str, Callable[[_Steps], _Steps]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}


# ── Content-Type ─────────────────────────────────────────────────────────────────────────────────────────────────────

_VALUE: Final = re.compile(r'(?:[^",]|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
_ESSENCE: Final = re.compile(r"[ \t\r\n]*([!#$%&'*+\-.^_`|~\w]+/[!#$%&'*+\-.^_`|~\w]+)[ \t\r\n]*(?:;|$)", re.ASCII)
_PARAMETER: Final = re.compile(r';([^;=]*)(?:=[ \t\r\n]*(?:"((?:[^"\\]|\\.)*)"?[^;]*|([^;]*)))?', re.DOTALL)
_HTML: Final = re.compile(
    rb"<!--|<!doctype html"
    rb"|<(?:html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link)[\t\n\f\r >/]",
    re.IGNORECASE,
)


def content_type(header: str | None, body: bytes) -> tuple[str | None, str | None]:
    """Essence (`text/html`) and charset label, both in lower case, by the rules of the MIME Sniffing Standard.

    Without a header that can be understood the bytes are asked. A type that is declared is believed.
    """
    # No honest header is longer, and the parsed ones are kept.
    essence, charset = _parse_type(header[:1024]) if header else (None, None)
    return (essence, charset) if essence else (sniff_type(body), None)


def is_wanted(essence: str | None, wanted: frozenset[str]) -> bool:
    """Is a body of this type worth reading? Nothing wanted means everything; nothing declared must be read to know."""
    if not wanted or essence is None:
        return True
    return essence in wanted or f"{essence.partition('/')[0]}/*" in wanted


def sniff_type(body: bytes) -> str | None:
    """What a body without a Content-Type looks like; None when there is nothing to look at."""
    start = body[:1024].removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\f\r ")
    if not start:
        return None
    if _HTML.match(start):
        return "text/html"
    if start.startswith(b"<?xml"):
        return "text/xml"
    if start.startswith(b"%PDF-"):
        return "application/pdf"
    return "application/octet-stream" if looks_binary(body) else "text/plain"


@lru_cache(maxsize=1024)
def _parse_type(header: str) -> tuple[str | None, str | None]:
    """Of several values the last that is one counts; it inherits the charset of an earlier one of the same type."""
    essence, charset = None, None
    for value in _VALUE.findall(header):
        found = _ESSENCE.match(value)
        if found is None or found[1] == "*/*":
            continue
        if found[1].lower() != essence:
            essence, charset = found[1].lower(), None
        charset = _charset(value) or charset
    return essence, charset


def _charset(value: str) -> str | None:
    for name, quoted, plain in _PARAMETER.findall(value):
        # Some write single quotes, or a space before the equals sign: neither can be anything else.
        label = re.sub(r"\\(.)", r"\1", quoted).strip() or plain.strip(" \t\r\n'\"")
        if name.strip().lower() == "charset" and label:
            return label.lower()
    return None
