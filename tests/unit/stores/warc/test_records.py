"""Captures as WARC 1.1, byte by byte, and back."""

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from isal import isal_zlib
from msgspec.structs import replace

from outrider.model.capture import Capture, Unchanged
from outrider.model.outcome import Headers, Hop
from outrider.model.url import Url
from outrider.stores.warc.reading import Member, Torn, capture_of, read_record
from outrider.stores.warc.records import capture_records, date, packed, payload_digest, record_id, warcinfo_record

PAGE = Capture(
    fetch_id="f1",
    url=Url("http://example.com/a?b=c"),
    at=1_700_000_000.25,
    status=200,
    headers=(("Content-Type", "text/html"), ("Transfer-Encoding", "chunked")),
    body=b"<p>",
    request=b"GET /a?b=c HTTP/1.1\r\nHost: example.com\r\n\r\n",
    http_version="2",
    address="127.0.0.1",
)


def records(capture: Capture) -> list[bytes]:
    return capture_records(capture, payload_digest(capture))


def parsed(capture: Capture) -> list[Member]:
    return [read_record(0, len(record), record) for record in records(capture)]


def test_a_page_is_a_response_its_request_and_its_metadata() -> None:
    response, request, metadata = records(PAGE)

    assert response.decode() == (
        "WARC/1.1\r\n"
        "WARC-Type: response\r\n"
        f"WARC-Record-ID: {record_id('response', 'f1')}\r\n"
        "WARC-Date: 2023-11-14T22:13:20.250000Z\r\n"
        "WARC-Target-URI: http://example.com/a?b=c\r\n"
        "WARC-IP-Address: 127.0.0.1\r\n"
        "WARC-Protocol: h2\r\n"
        f"WARC-Payload-Digest: sha256:{sha256(b'<p>').hexdigest()}\r\n"
        "Content-Type: application/http;msgtype=response\r\n"
        "Content-Length: 85\r\n"
        "\r\n"
        "HTTP/1.1 200 OK\r\n"
        "Content-Type: text/html\r\n"
        "X-Crawler-Transfer-Encoding: chunked\r\n"
        "\r\n"
        "<p>"
        "\r\n\r\n"
    )
    assert f"WARC-Concurrent-To: {record_id('response', 'f1')}\r\n".encode() in request
    assert request.endswith(b"\r\n\r\nGET /a?b=c HTTP/1.1\r\nHost: example.com\r\n\r\n\r\n\r\n")
    assert f"WARC-Concurrent-To: {record_id('response', 'f1')}\r\n".encode() in metadata
    assert metadata.endswith(b"\r\n\r\nfetchId: f1\r\n\r\n\r\n")


def test_a_request_that_is_not_known_is_not_made_up() -> None:
    kinds = [member.kind for member in parsed(replace(PAGE, request=b""))]

    assert kinds == ["response", "metadata"]


def test_redirects_are_told_one_line_each() -> None:
    hop = Hop(Url("http://example.com/old"), 301, location="/a", at=5.0, address="127.0.0.1")

    *_, metadata = records(replace(PAGE, chain=(hop, hop)))

    lines = metadata.split(b"\r\n\r\n")[1].split(b"\r\n")
    assert len(lines) == 3
    assert lines[1].startswith(b'hop: {"url":"http://example.com/old","status":301,')
    assert b'"location":"/a","at":5.0,' in lines[1]


@pytest.mark.parametrize(
    ("unchanged", "profile"),
    [
        (Unchanged.NOT_MODIFIED, "http://netpreserve.org/warc/1.1/revisit/server-not-modified"),
        (Unchanged.SAME_CONTENT, "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"),
    ],
)
def test_unchanged_content_is_a_revisit_of_the_earlier_one(unchanged: Unchanged, profile: str) -> None:
    revisit, *_ = parsed(replace(PAGE, unchanged=unchanged, earlier_at=1_600_000_000.0))

    assert revisit.kind == "revisit"
    assert revisit.fields["WARC-Profile"] == profile
    assert revisit.fields["WARC-Refers-To-Target-URI"] == "http://example.com/a?b=c"
    assert revisit.fields["WARC-Refers-To-Date"] == "2020-09-13T12:26:40.000000Z"
    assert revisit.block.endswith(b"chunked\r\n\r\n"), "the head is kept, the body is not"


def test_a_cut_body_says_so() -> None:
    response, *_ = parsed(replace(PAGE, truncated=True))

    assert response.fields["WARC-Truncated"] == "length"


def test_a_repeated_visit_is_named_the_same_and_each_record_differently() -> None:
    ids = [member.fields["WARC-Record-ID"] for member in parsed(PAGE)]

    assert ids == [member.fields["WARC-Record-ID"] for member in parsed(PAGE)]
    assert len(set(ids)) == 3
    assert ids[0] != record_id("response", "f2")


@pytest.mark.parametrize("nasty", ["a\r\nX-Forged: 1", "a\nb", "a\rb", "a\0b"])
def test_nothing_breaks_out_of_its_line(nasty: str) -> None:
    put = replace(PAGE, headers=(("A", nasty), (nasty, "b")), address=nasty, http_version=nasty, fetch_id=nasty)

    response, _, metadata = parsed(put)

    assert response.block.count(b"\r\n") == 4
    assert b"\0" not in response.block
    assert not any(name.startswith("X-Forged") for name in response.fields)
    assert metadata.block.count(b"\n") == 1


def test_the_first_record_says_who_wrote_the_file_and_how() -> None:
    record = warcinfo_record("x.warc.gz", 0.0, (("software", "Outrider"), ("operator", "me\r\nforged: 1")))

    member = read_record(0, 0, record)

    assert member.kind == "warcinfo"
    assert member.fields["WARC-Filename"] == "x.warc.gz"
    assert member.block == b"software: Outrider\r\noperator: me  forged: 1\r\n"


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record[:-1],
        lambda record: record + b"x",
        lambda record: b"WARC/9" + record[6:],
        lambda record: record.replace(b"Content-Length", b"Content-Width"),
        lambda _: b"",
    ],
    ids=["short", "long", "another version", "no length", "empty"],
)
def test_a_record_that_is_not_ours_is_torn(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises(Torn):
        read_record(0, 0, damage(records(PAGE)[0]))


TEXT = st.text(st.characters(codec="latin-1", exclude_categories=["Cc"], exclude_characters=":\x85"), max_size=30)
HEADERS: st.SearchStrategy[Headers] = st.lists(
    st.tuples(TEXT | st.sampled_from(["Transfer-Encoding", "x-crawler-transfer-encoding"]), TEXT), max_size=8
).map(tuple)
CAPTURES = st.builds(
    Capture,
    fetch_id=st.text("0123456789abcdef-", min_size=1, max_size=36),
    url=st.sampled_from([Url("http://example.com/"), Url("https://[::1]:8080/a?b"), Url("http://example.com/%C3%A9")]),
    at=st.integers(0, 4 * 10**15).map(lambda instant: instant / 10**6),
    status=st.integers(100, 999),
    headers=HEADERS,
    body=st.binary(max_size=2_000),
    request=st.just(b"") | st.binary(max_size=100),
    http_version=st.sampled_from([None, "1.0", "1.1", "2", "3"]),
    address=st.sampled_from([None, "127.0.0.1", "::1"]),
    payload_sha256=st.none(),
    truncated=st.booleans(),
    unchanged=st.sampled_from([None, *Unchanged]),
    earlier_at=st.none(),
    chain=st.lists(st.builds(Hop, st.just(Url("http://example.com/")), st.integers(300, 399), HEADERS, TEXT)).map(
        tuple
    ),
)


@given(CAPTURES)
def test_any_capture_comes_back_as_it_was(put: Capture) -> None:
    members = [packed(record) for record in records(put)]

    unpacked = [read_record(0, 0, isal_zlib.decompress(member, 31)) for member in members]

    expected = replace(put, request=b"", payload_sha256=payload_digest(put))
    if put.unchanged is not None:
        expected = replace(expected, body=b"")
    assert capture_of(unpacked[0], unpacked[-1]) == expected


@given(st.floats(0, 4e9))
@example(1_700_000_000.999_999_7)
@example(1_700_000_000.25)
@example(1.001)
def test_a_moment_is_written_as_the_calendar_has_it(at: float) -> None:
    assert date(at) == f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
