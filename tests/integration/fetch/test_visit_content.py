"""What a page is in: encodings, bombs, types, character sets, and sizes that are too much."""

from hashlib import sha256
from random import Random

import pytest
from tests.integration.fetch.visiting import fetched, reason_of, shop

from outrider.model.outcome import Failed
from outrider.model.reason import Reason
from outrider.testing.webfarm import (
    Behaviour,
    bomb,
    empty,
    encoded,
    endless_body,
    in_charset,
    mislabelled,
    page,
    server_sent_events,
    status,
    truncated,
)
from outrider.testing.webfarm.encodings import BombEncoding

TEXT = "<!doctype html><title>A page</title><p>Text, and more of the same text."
LONG = TEXT + Random(1).randbytes(140_000).hex()  # noqa: S311 - no secret
"""Too much, in any encoding, to be decoded while everybody waits."""


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("gzip", ("gzip",)),
        ("deflate", ("deflate",)),
        ("raw-deflate", ("deflate",)),
        ("br", ("br",)),
        ("zstd", ("zstd",)),
        ("gzip, br", ("gzip", "br")),
        ("zstd, gzip", ("zstd", "gzip")),
        ("gzip, gzip", ("gzip", "gzip")),
    ],
)
@pytest.mark.parametrize("body", [TEXT, LONG], ids=["small", "large"])
async def test_every_encoding_is_undone(encoding: str, told: tuple[str, ...], body: str) -> None:
    """C29, H4-10: length and hash are of the decoded bytes, whether a thread has decoded them or not."""
    async with shop({"/x": encoded(body, encoding)}) as scene:
        haul = await scene.visit("/x")

        assert scene.farm.log[-1].header("accept-encoding") == "gzip, deflate, br, zstd"
    found = fetched(haul).body
    assert haul.content == body.encode()
    assert (found.length, found.sha256) == (len(body), sha256(body.encode()).hexdigest())
    assert (found.encodings, found.truncated) == (told, False)
    assert haul.response is not None
    assert found.wire_length == len(haul.response.body)


@pytest.mark.parametrize("encoding", ["x-magic", "compress", "gzip, x-magic", "gzip, gzip, gzip"])
async def test_an_encoding_that_nobody_asked_for_is_undecodable(encoding: str) -> None:
    """S3-19, C28."""
    async with shop({"/x": encoded(TEXT, encoding)}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.UNDECODABLE
    assert (haul.content, haul.visit.requests) == (b"", 2)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw-deflate", "br", "zstd"])
async def test_a_body_that_is_not_what_it_claims_is_undecodable(encoding: str) -> None:
    """S3-19, C28."""
    async with shop({"/x": mislabelled(encoding)}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.UNDECODABLE


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw-deflate", "br", "zstd"])
async def test_a_stream_that_stops_half_way_is_cut_off_or_fails_by_setting(encoding: str) -> None:
    """S1-31: what there was is kept and called truncated."""
    async with shop({"/x": truncated(encoding, LONG)}) as scene:
        cut = await scene.visit("/x")
    async with shop({"/x": truncated(encoding, LONG)}, on_oversize="fail") as scene:
        failed = await scene.visit("/x")

    assert fetched(cut).body.truncated
    assert LONG.encode().startswith(cut.content)
    assert reason_of(failed) is Reason.UNDECODABLE


@pytest.mark.parametrize("encoding", ["br", "zstd"])
async def test_a_stream_that_stops_before_its_first_block_is_not_an_empty_page(encoding: str) -> None:
    async with shop({"/x": truncated(encoding)}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.UNDECODABLE


@pytest.mark.parametrize("on_oversize", ["truncate", "fail"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw-deflate", "br", "zstd"])
async def test_a_bomb_costs_a_few_megabytes_and_is_no_page(encoding: BombEncoding, on_oversize: str) -> None:
    """DESIGN 2.6, H2-11: a gigabyte of zeros fails, whatever is done about honest pages that are too large."""
    async with shop({"/x": bomb(encoding)}, on_oversize=on_oversize) as scene:
        haul = await scene.visit("/x")

    outcome = haul.visit.outcome
    assert isinstance(outcome, Failed)
    assert outcome.failure.reason is Reason.BODY_TOO_LARGE
    assert outcome.failure.detail.startswith("decompression bomb")
    assert haul.content == b""


@pytest.mark.parametrize("chunked", [True, False])
async def test_an_endless_page_is_cut_at_the_cap_or_fails_by_setting(chunked: bool) -> None:  # noqa: FBT001 - a column of the table
    """H2-11, S1-31."""
    paths = {"/x": endless_body(chunked=chunked)}
    async with shop(paths, max_body=300_000) as scene:
        cut = await scene.visit("/x")
    async with shop(paths, max_body=300_000, on_oversize="fail") as scene:
        failed = await scene.visit("/x")

    body = fetched(cut).body
    assert (body.length, body.wire_length, body.truncated) == (300_000, 300_000, True)
    assert reason_of(failed) is Reason.BODY_TOO_LARGE


async def test_a_page_over_the_decoded_cap_is_cut_or_fails_by_setting() -> None:
    async with shop({"/x": encoded(LONG, "gzip")}, max_decoded=100_000) as scene:
        cut = await scene.visit("/x")
    async with shop({"/x": encoded(LONG, "gzip")}, max_decoded=100_000, on_oversize="fail") as scene:
        failed = await scene.visit("/x")

    assert (fetched(cut).body.truncated, cut.content) == (True, LONG.encode()[:100_000])
    assert reason_of(failed) is Reason.BODY_TOO_LARGE


@pytest.mark.parametrize("behaviour", [empty(), encoded("", "gzip"), status(204), page(b"", content_type=None)])
async def test_nothing_is_not_a_page(behaviour: Behaviour) -> None:
    """S3-18, C28: never asked for again in this visit."""
    async with shop({"/x": behaviour}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.EMPTY_BODY
    assert haul.visit.requests == 2


@pytest.mark.parametrize(
    "content_type",
    ["application/pdf", "image/png", "text/plain", "application/octet-stream", "application/json", "text/htmlx"],
)
async def test_a_type_that_is_not_wanted_is_not_read(content_type: str) -> None:
    """S3-17, C28, H0-6, H2-11: the head is kept, the body never fetched."""
    async with shop({"/x": page("x" * 1_000_000, content_type=content_type)}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.UNSUPPORTED_CONTENT_TYPE
    assert haul.response is not None
    assert (haul.response.body, haul.response.complete) == (b"", False)
    assert haul.visit.hops[0].status == 200


async def test_an_endless_stream_of_events_is_not_waited_for() -> None:
    async with shop({"/x": server_sent_events(every=0.01)}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is Reason.UNSUPPORTED_CONTENT_TYPE


@pytest.mark.parametrize(
    "content_type",
    [
        "text/html",
        "TEXT/HTML; Charset=UTF-8",
        "text/html;charset=utf-8;charset=latin1",
        "text/html, text/html",
        "application/xhtml+xml",
        # From here on nobody can tell what is meant, so the bytes are asked.
        "text/html charset=utf-8",
        "*/*",
        "html",
        "",
        None,
    ],
)
async def test_a_page_is_known_by_its_type_or_by_its_bytes(content_type: str | None) -> None:
    """C28: the MIME Sniffing Standard, not the letter of a header that many servers get wrong."""
    async with shop({"/x": page(TEXT, content_type=content_type)}) as scene:
        haul = await scene.visit("/x")

    assert haul.content == TEXT.encode()
    assert fetched(haul).body.content_type in {"text/html", "application/xhtml+xml"}
    assert fetched(haul).body.charset == "utf-8"


@pytest.mark.parametrize("wanted", ["text/*", ["text/html", "application/pdf"], []])
async def test_wanted_types_may_be_many(wanted: object) -> None:
    async with shop({"/x": page(TEXT)}, content_types=wanted) as scene:
        assert (await scene.visit("/x")).content == TEXT.encode()


NOISE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 16


@pytest.mark.parametrize(
    ("content_type", "body", "reason"),
    [
        (None, NOISE, Reason.UNSUPPORTED_CONTENT_TYPE),
        (None, b"%PDF-1.7 and so on", Reason.UNSUPPORTED_CONTENT_TYPE),
        (None, b"just words", Reason.UNSUPPORTED_CONTENT_TYPE),
        ("text/html", NOISE, Reason.UNDECODABLE),
        ("text/html", b"%PDF-1.7 and so on", Reason.UNDECODABLE),
    ],
)
async def test_bytes_that_are_no_page_are_none(content_type: str | None, body: bytes, reason: Reason) -> None:
    """H0-6, H2-11: neither unlabelled nor mislabelled."""
    async with shop({"/x": page(body, content_type=content_type)}) as scene:
        haul = await scene.visit("/x")

    assert reason_of(haul) is reason
    assert haul.content == b""


WORDS = "Größe, café, naïve"


@pytest.mark.parametrize(
    ("actual", "said", "meta", "bom", "charset"),
    [
        ("utf-8", "utf-8", None, b"", "utf-8"),
        ("utf-8", None, None, b"", "utf-8"),
        ("utf-8", None, "utf-8", b"", "utf-8"),
        ("iso-8859-1", "iso-8859-1", None, b"", "windows-1252"),
        ("iso-8859-1", None, None, b"", "windows-1252"),
        ("iso-8859-1", None, "latin1", b"", "windows-1252"),
        ("iso-8859-15", "iso-8859-15", "utf-8", b"", "iso-8859-15"),
        ("utf-8", "iso-8859-1", None, b"\xef\xbb\xbf", "utf-8"),
        ("utf-8", "no-such-charset", None, b"", "utf-8"),
        ("utf-8", "no-such-charset", "utf-8", b"", "utf-8"),
        ("utf-16-le", "iso-8859-1", None, b"\xff\xfe", "utf-16le"),
        ("utf-16-be", None, None, b"\xfe\xff", "utf-16be"),
        ("utf-16-le", "utf-16", None, b"", "utf-16le"),
        ("utf-16-le", None, None, b"", "utf-16le"),
        ("utf-8", None, "utf-16", b"", "utf-8"),
        ("utf-8", "'utf-8'", None, b"", "utf-8"),
    ],
)
async def test_the_character_set_is_that_of_the_browsers(
    actual: str, said: str | None, meta: str | None, bom: bytes, charset: str
) -> None:
    """Byte order mark, header, meta element, a look: in this order; a label that nobody knows is not there."""
    async with shop({"/x": in_charset(WORDS, actual, said=said, meta=meta, bom=bom)}) as scene:
        haul = await scene.visit("/x")

    assert fetched(haul).body.charset == charset
    assert WORDS.encode(actual) in haul.content
