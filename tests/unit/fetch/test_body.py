"""Bodies as sent become bodies as meant, whole or flagged, and never more of them than the limits allow."""

import gzip
import itertools
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import outrider
from outrider.errors import BodyTooLarge, Undecodable
from outrider.fetch.body import MIB, BodyLimits, Decoded, decode

TRUNCATE = BodyLimits()
FAIL = BodyLimits(on_oversize="fail")


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def zstd_of_unknown_size(data: bytes) -> bytes:
    """As servers that compress while they answer send it."""
    packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return packer.compress(data) + packer.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "brotli": ("br", lambda data: bytes(brotli.compress(data, quality=5))),
    "zstd": ("zstd", zstd),
    "zstd of unknown size": ("zstd", zstd_of_unknown_size),
}
SINGLES = [pytest.param(label, encode, id=name) for name, (label, encode) in ENCODERS.items()]
DISTINCT = {name: encoder for name, encoder in ENCODERS.items() if name != "x-gzip"}
PAIRS = [
    pytest.param(f"{inner}, {outer}", lambda data, pack=pack, wrap=wrap: wrap(pack(data)), id=f"{one} in {two}")
    for (one, (inner, pack)), (two, (outer, wrap)) in itertools.product(DISTINCT.items(), repeat=2)
]
PAGE = b"<!doctype html><title>A page</title>" + b"".join(
    b'<p>%d <a href="/%x">link</a>' % (n, n * n) for n in range(30)
)


def text(body: bytes, encoding: str | None, limits: BodyLimits = TRUNCATE) -> Decoded:
    return decode(body, encoding, complete=True, limits=limits)


# ── what goes in comes out ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("label", "encode"), SINGLES + PAIRS)
@given(data=st.binary(max_size=300).flatmap(lambda piece: st.integers(0, 30).map(lambda times: piece * times)))
def test_every_encoding_and_every_pair_is_undone(label: str, encode: Callable[[bytes], bytes], data: bytes) -> None:
    body = encode(data)

    decoded = text(body, label)

    assert decoded == Decoded(data, tuple(label.split(", ")))


@pytest.mark.parametrize(("label", "encode"), SINGLES + PAIRS)
def test_a_body_of_many_steps_is_whole(label: str, encode: Callable[[bytes], bytes]) -> None:
    luck = random.Random(7)  # noqa: S311 — the same bytes each time, not a secret
    data = luck.randbytes(700_000) + PAGE * 900 + luck.randbytes(100)

    decoded = text(encode(data), label, FAIL)

    assert decoded.data == data
    assert not decoded.truncated


@pytest.mark.parametrize(
    ("header", "encodings"),
    [
        (None, ()),
        ("", ()),
        (" , ", ()),
        ("identity", ()),
        ("Identity, identity, identity", ()),
        ("none", ()),
        ("UTF-8", ()),
        ("GZIP", ("gzip",)),
        (" gzip ,", ("gzip",)),
        ("identity, x-gzip", ("x-gzip",)),
    ],
)
def test_the_header_is_read_whatever_its_case_and_empty_parts(header: str | None, encodings: tuple[str, ...]) -> None:
    body = gzip.compress(PAGE) if encodings else PAGE

    decoded = text(body, header)

    assert decoded == Decoded(PAGE, encodings)


@pytest.mark.parametrize(
    "header", ["compress", "gzip, aws-chunked", "sdch", "gzip;q=1", "gzip gzip", "dcb", "gzip, gzip, gzip"]
)
def test_an_unknown_encoding_and_one_too_many_are_undecodable(header: str) -> None:
    with pytest.raises(Undecodable):
        text(gzip.compress(gzip.compress(gzip.compress(PAGE))), header)


@pytest.mark.parametrize("header", [None, "gzip", "deflate", "br", "zstd", "gzip, br"])
def test_an_empty_body_is_empty_in_any_encoding(header: str | None) -> None:
    decoded = text(b"", header, FAIL)

    assert decoded.data == b""
    assert not decoded.truncated


def test_gzip_members_and_zstd_frames_one_after_another_are_one_body() -> None:
    members = gzip.compress(PAGE) + gzip.compress(b"") + gzip.compress(b"the end")
    skippable = b"\x5a\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"any"
    frames = zstd(PAGE) + skippable + zstd_of_unknown_size(b"the end")

    assert text(members, "gzip", FAIL).data == PAGE + b"the end"
    assert text(frames, "zstd", FAIL).data == PAGE + b"the end"
    assert text(gzip.compress(frames), "zstd, gzip", FAIL).data == PAGE + b"the end"
    for first in (skippable, zstd(b""), zstd_of_unknown_size(b"")):
        assert text(first + frames, "zstd", FAIL).data == PAGE + b"the end"


@pytest.mark.parametrize("junk", [b"\n", b"\0" * 512, b"<!-- served in 3 ms -->", b"\x1f", b"x" * 200_000])
@pytest.mark.parametrize("name", ["gzip", "zlib", "raw deflate", "zstd", "zstd of unknown size"])
def test_what_follows_a_complete_stream_is_ignored_as_browsers_do(name: str, junk: bytes) -> None:
    label, encode = ENCODERS[name]

    decoded = text(encode(PAGE) + junk, label, FAIL)

    assert decoded == Decoded(PAGE, (label,))


def test_what_follows_a_brotli_stream_is_an_error_wherever_it_starts() -> None:
    body = brotli.compress(PAGE)

    for junk in (b"\n", b"x" * 200_000, b"\n" + b"x" * (16_384 - len(body) - 1)):
        with pytest.raises(Undecodable):
            text(body + junk, "br")


def test_more_streams_in_one_body_than_anybody_sends_are_undecodable() -> None:
    empty = gzip.compress(b"")

    assert text(empty * 4_096, "gzip").data == b""
    with pytest.raises(Undecodable, match="4096 streams"):
        text(empty * 4_097, "gzip")


# ── what is broken ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("label", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("limits", [TRUNCATE, FAIL])
def test_a_body_that_is_not_what_it_claims_is_undecodable_as_in_browsers(label: str, limits: BodyLimits) -> None:
    with pytest.raises(Undecodable):
        text(PAGE, label, limits)


def test_a_wrong_checksum_is_undecodable() -> None:
    body = bytearray(gzip.compress(PAGE))
    body[-6] ^= 1

    with pytest.raises(Undecodable):
        text(bytes(body), "gzip")


def test_a_zstd_window_above_that_of_rfc_9659_is_undecodable() -> None:
    def windowed(log: int) -> bytes:
        wanted = zstandard.ZstdCompressionParameters.from_level(3, window_log=log)
        packer = zstandard.ZstdCompressor(compression_params=wanted).compressobj()
        return packer.compress(PAGE) + packer.flush()

    assert text(windowed(23), "zstd").data == PAGE
    for second in (b"", gzip.compress(PAGE)):
        with pytest.raises(Undecodable):
            text(windowed(24) + second, "zstd")


def test_a_zstd_frame_that_claims_a_huge_content_is_not_believed() -> None:
    # Single segment, eight bytes of content size: 2**60, of which nothing follows.
    frame = b"\x28\xb5\x2f\xfd" + b"\xe0" + (2**60).to_bytes(8, "little") + b"\x01\x00\x00"

    with pytest.raises(Undecodable):
        text(frame, "zstd")


@pytest.mark.parametrize(("label", "encode"), SINGLES + PAIRS)
def test_every_prefix_is_flagged_or_fails_by_setting(label: str, encode: Callable[[bytes], bytes]) -> None:
    body = encode(PAGE[:400])

    for end in range(1, len(body)):
        decoded = text(body[:end], label)

        assert decoded.truncated, end
        assert PAGE.startswith(decoded.data)
        with pytest.raises(Undecodable):
            text(body[:end], label, FAIL)


@pytest.mark.parametrize(("label", "encode"), SINGLES)
def test_a_cut_stream_gives_what_came_before_the_cut(label: str, encode: Callable[[bytes], bytes]) -> None:
    data = random.Random(3).randbytes(500_000)  # noqa: S311 — the same bytes each time, not a secret
    body = encode(data)[:300_000]

    decoded = decode(body, label, complete=False, limits=TRUNCATE)

    assert decoded.truncated
    assert len(decoded.data) > 140_000
    assert data.startswith(decoded.data)


@pytest.mark.parametrize("header", [None, "gzip"])
def test_a_transfer_that_was_stopped_is_truncated_or_too_large_by_setting(header: str | None) -> None:
    body = gzip.compress(PAGE) if header else PAGE

    assert decode(body, header, complete=False, limits=TRUNCATE) == Decoded(PAGE, (header,) if header else (), True)
    with pytest.raises(BodyTooLarge):
        decode(body, header, complete=False, limits=FAIL)


@pytest.mark.parametrize("label", [*sorted({label for label, _ in ENCODERS.values()}), "gzip, br", "zstd, deflate"])
@given(data=st.binary(max_size=400), at=st.integers(0, 400))
def test_random_and_damaged_bytes_raise_nothing_but_the_two_errors(label: str, data: bytes, at: int) -> None:
    encode = next(encode for name, encode in ENCODERS.values() if name == label.rpartition(", ")[2])
    whole = encode(PAGE[:300])

    for body in (data, whole[:at] + data, whole[:at] + data + whole[at + len(data) :]):
        try:
            decoded = text(body, label)
        except (BodyTooLarge, Undecodable):
            continue
        assert len(decoded.data) <= TRUNCATE.decoded


# ── what is too much ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("label", "encode"), [pytest.param(None, bytes, id="identity"), *SINGLES, *PAIRS])
@pytest.mark.parametrize("excess", [-1, 0, 1, 70_000])
def test_the_cap_cuts_to_the_byte_or_fails_by_setting(
    label: str | None, encode: Callable[[bytes], bytes], excess: int
) -> None:
    data = (PAGE * 100)[:80_000]
    cap = len(data) - excess
    body = encode(data)

    decoded = text(body, label, BodyLimits(decoded=cap))

    assert decoded.data == data[:cap]
    # What lies between two encodings counts as well, and can be a little longer than what it holds.
    assert decoded.truncated == (excess > 0)
    if excess > 0:
        with pytest.raises(BodyTooLarge):
            text(body, label, BodyLimits(decoded=cap, on_oversize="fail"))


def test_a_ratio_counts_only_above_its_floor() -> None:
    limits = BodyLimits(ratio=200, ratio_floor=100_000)

    assert text(gzip.compress(bytes(100_000)), "gzip", limits).data == bytes(100_000)
    with pytest.raises(BodyTooLarge, match="bomb"):
        text(gzip.compress(bytes(100_001)), "gzip", limits)


@pytest.mark.parametrize(("label", "encode"), SINGLES)
def test_a_body_that_does_not_shrink_may_be_as_long_as_the_cap(label: str, encode: Callable[[bytes], bytes]) -> None:
    data = random.Random(5).randbytes(300_000)  # noqa: S311 — the same bytes each time, not a secret

    decoded = text(encode(data), label, BodyLimits(decoded=len(data), on_oversize="fail"))

    assert decoded.data == data


def test_padding_behind_a_bomb_does_not_hide_it() -> None:
    padding = random.Random(6).randbytes(MIB)  # noqa: S311 — the same bytes each time, not a secret
    body = gzip.compress(bytes(19 * MIB)) + gzip.compress(padding)

    with pytest.raises(BodyTooLarge, match="bomb"):
        text(body, "gzip")


def test_what_is_between_two_encodings_is_capped_although_nothing_comes_out_of_it() -> None:
    many_empty_members = gzip.compress(gzip.compress(b"") * 100_000)
    endless_header = gzip.compress(b"\x1f\x8b\x08\x08" + bytes(6) + b"n" * 30 * MIB)

    for body in (many_empty_members, endless_header):
        with pytest.raises((BodyTooLarge, Undecodable)):
            text(body, "gzip, gzip")


def gibibyte_of_deflate() -> bytes:
    """Zeros, each flushed block the same bytes as the last. It has no end: nobody gets there."""
    packer = zlib.compressobj(9, wbits=-15)
    packer.compress(bytes(MIB))
    packer.flush(zlib.Z_FULL_FLUSH)
    return (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)) * 1024


def gibibyte_of_gzip() -> bytes:
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + gibibyte_of_deflate()


def gibibyte_of_brotli() -> bytes:
    packer = brotli.Compressor(quality=1, lgwin=24)
    steps = [packer.process(bytes(4 * MIB)) + packer.flush() for _ in range(256)]
    return b"".join(steps) + bytes(packer.finish())


def gibibyte_of_zstd() -> bytes:
    """Blocks of four bytes: a header that says 128 KiB of one byte, and the byte. The window is the largest allowed."""
    return b"\x28\xb5\x2f\xfd\x00\x68" + ((131_072 << 3) | 0b010).to_bytes(3, "little").ljust(4, b"\0") * 8192


BOMBS: dict[str, Callable[[], bytes]] = {
    "deflate": gibibyte_of_deflate,
    "gzip": gibibyte_of_gzip,
    "br": gibibyte_of_brotli,
    "zstd": gibibyte_of_zstd,
    "gzip, gzip": lambda: gzip.compress(gibibyte_of_gzip()),
    "br, gzip": lambda: gzip.compress(gibibyte_of_brotli()),
    "zstd, zstd": lambda: zstd(gibibyte_of_zstd()),
    "gzip, zstd": lambda: zstd(gibibyte_of_gzip()),
}

# Runs in a process of its own, whose peak memory the kernel has counted since its start.
DEFUSE = """
import sys
from outrider.errors import BodyTooLarge
from outrider.fetch.body import MIB, BodyLimits, decode

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

body = sys.stdin.buffer.read()
decode(b"x", None, complete=True, limits=BodyLimits())
before = peak()
cut = decode(body, sys.argv[1], complete=True, limits=BodyLimits(ratio=1e9))
assert cut.truncated and len(cut.data) == cut.data.count(0) == 20 * MIB
del cut
for limits in (BodyLimits(), BodyLimits(ratio=1e9, on_oversize="fail")):
    try:
        decode(body, sys.argv[1], complete=True, limits=limits)
    except BodyTooLarge:
        continue
    raise AssertionError(limits)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read from /proc")
@pytest.mark.parametrize("label", BOMBS)
def test_a_bomb_of_a_gibibyte_costs_the_cap_and_a_window(label: str) -> None:
    body = BOMBS[label]()
    source = str(Path(outrider.__file__).parents[1])

    run = subprocess.run(
        [sys.executable, "-c", DEFUSE, label],
        input=body,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": source},
    )

    assert run.returncode == 0, run.stderr.decode()
    # The cap, brotli's largest window, and what the allocator keeps of windows that grew or were given back.
    assert int(run.stdout) < (20 + 16 + 32) * MIB
