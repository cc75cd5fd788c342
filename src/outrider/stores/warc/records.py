"""How is a capture said in WARC 1.1? Values in, bytes out; each record is framed, and a gzip member of its own.

Where the wire and the archive differ, and why:

- Bodies come to us without their chunks. A `Transfer-Encoding` that is no longer true would make readers look for
  chunks, so the header is kept under the name that Common Crawl's writers use, `X-Crawler-Transfer-Encoding`.
- HTTP/2 has no status line, and readers know only HTTP/1: the head is written as HTTP/1.1, and `WARC-Protocol` says
  what was spoken. The reason phrase is the standard's, for nobody keeps the server's.
- A record has no block digest: it would take 18 µs for 30 KB. The payload has one, and the member has its checksum.

Record ids are made from the fetch id, so that a visit that is written again says the same.
"""

import re
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from math import floor
from typing import Final

from isal.isal_zlib import compress

from outrider.model.capture import Capture, Unchanged
from outrider.model.codec import to_json
from outrider.model.outcome import Headers
from outrider.model.status import PHRASES

MASK: Final = "X-Crawler-"
MASKED: Final = re.compile(r"(?:x-crawler-)*transfer-encoding", re.IGNORECASE)
"""A server may send the masked name itself: it gets another mask, so that one can always be taken off again."""

PROFILES: Final = {
    Unchanged.NOT_MODIFIED: "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
    Unchanged.SAME_CONTENT: "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
}
PROTOCOLS: Final = {"1.0": "http/1.0", "1.1": "http/1.1", "2": "h2", "3": "h3"}

_LEVEL: Final = 1
_GZIP: Final = 31
"""zlib's way of asking for a gzip header and a window of 32 KB."""

_BREAKS: Final = re.compile(r"[\r\n\0]")
_HTTP_RESPONSE: Final = "application/http;msgtype=response"
_HTTP_REQUEST: Final = "application/http;msgtype=request"
_FIELDS: Final = "application/warc-fields"


def packed(record: bytes) -> bytes:
    """One gzip member; without a time, so that the same record is the same bytes."""
    return compress(record, _LEVEL, _GZIP)


def payload_digest(capture: Capture) -> str | None:
    """SHA-256 in hex. None for a 304 that names none: its own body is not the page's."""
    if capture.payload_sha256 is not None or capture.unchanged is Unchanged.NOT_MODIFIED:
        return capture.payload_sha256
    return sha256(capture.body).hexdigest()


def capture_records(capture: Capture, digest: str | None) -> list[bytes]:
    """The answer first, the metadata last."""
    kind = "response" if capture.unchanged is None else "revisit"
    answer_id = record_id(kind, capture.fetch_id)
    about = f"WARC-Date: {date(capture.at)}\r\nWARC-Target-URI: {one_line(capture.url)}\r\n"
    beside = f"{about}WARC-Concurrent-To: {answer_id}\r\n"
    # A revisit stands for content that is elsewhere: its head is what is new.
    body = capture.body if capture.unchanged is None else b""
    records = [_record(kind, answer_id, about + _answer_fields(capture, digest), _HTTP_RESPONSE, _head(capture), body)]
    if capture.request:
        request_id = record_id("request", capture.fetch_id)
        records.append(_record("request", request_id, beside, _HTTP_REQUEST, capture.request))
    metadata_id = record_id("metadata", capture.fetch_id)
    records.append(_record("metadata", metadata_id, beside, _FIELDS, _metadata(capture)))
    return records


def warcinfo_record(name: str, at: float, fields: tuple[tuple[str, str], ...]) -> bytes:
    about = f"WARC-Date: {date(at)}\r\nWARC-Filename: {name}\r\n"
    block = "".join(f"{key}: {one_line(value)}\r\n" for key, value in fields)
    return _record("warcinfo", record_id("warcinfo", name), about, _FIELDS, block.encode())


def record_id(kind: str, fetch_id: str) -> str:
    """RFC 9562 5.8: version 8, which is any hash of one's own."""
    digits = sha256(f"outrider:{kind}:{fetch_id}".encode()).hexdigest()
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-8{digits[13:16]}-a{digits[17:20]}-{digits[20:32]}>"


def date(at: float) -> str:
    """To the microsecond: WARC 1.1 allows nine digits, but readers stumble over more than six."""
    second, microsecond = parted(at)
    return f"{_second(second)}.{microsecond:06}Z"


def parted(at: float) -> tuple[int, int]:
    """Seconds and microseconds, rounded as `datetime` does; the difference is exact, a product would not be."""
    second = floor(at)
    microsecond = round((at - second) * 1_000_000)
    return (second, microsecond) if microsecond < 1_000_000 else (second + 1, 0)


@lru_cache(maxsize=64)
def _second(at: int) -> str:
    """Thousands of captures share a second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def one_line(text: str) -> str:
    """Nothing can break out of its line."""
    return text if text.isprintable() else _BREAKS.sub(" ", text)


def _answer_fields(capture: Capture, digest: str | None) -> str:
    fields = ""
    if capture.address is not None:
        fields += f"WARC-IP-Address: {one_line(capture.address)}\r\n"
    if capture.http_version is not None:
        protocol = PROTOCOLS.get(capture.http_version) or f"http/{one_line(capture.http_version)}"
        fields += f"WARC-Protocol: {protocol}\r\n"
    if digest is not None:
        fields += f"WARC-Payload-Digest: sha256:{digest}\r\n"
    if capture.truncated:
        fields += "WARC-Truncated: length\r\n"
    if capture.unchanged is not None:
        fields += (
            f"WARC-Profile: {PROFILES[capture.unchanged]}\r\nWARC-Refers-To-Target-URI: {one_line(capture.url)}\r\n"
        )
        if capture.earlier_at is not None:
            fields += f"WARC-Refers-To-Date: {date(capture.earlier_at)}\r\n"
    return fields


def _head(capture: Capture) -> bytes:
    version = "1.0" if capture.http_version == "1.0" else "1.1"
    lines = [f"HTTP/{version} {capture.status} {PHRASES.get(capture.status, '')}\r\n"]
    lines += [
        f"{MASK}{name}: {value}\r\n" if _is_masked(name) else f"{name}: {value}\r\n" for name, value in capture.headers
    ]
    text = "".join(lines)
    if text.count("\r") != len(lines) or text.count("\n") != len(lines) or "\0" in text:
        text = "".join(one_line(line[:-2]) + "\r\n" for line in lines)
    return (text + "\r\n").encode("latin-1", "xmlcharrefreplace")


def _is_masked(name: str) -> bool:
    # Most names are told apart by their last letter.
    return name[-1:] in {"g", "G"} and MASKED.fullmatch(name) is not None


def unmasked(headers: Headers) -> Headers:
    return tuple((name[len(MASK) :] if _is_masked(name) else name, value) for name, value in headers)


def _metadata(capture: Capture) -> bytes:
    fields = f"fetchId: {one_line(capture.fetch_id)}\r\n".encode()
    for hop in capture.chain:
        fields += b"hop: " + to_json(hop) + b"\r\n"
    return fields


def _record(kind: str, own_id: str, fields: str, content_type: str, *block: bytes) -> bytes:
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {own_id}\r\n{fields}"
        f"Content-Type: {content_type}\r\nContent-Length: {sum(map(len, block))}\r\n\r\n"
    )
    return b"".join((head.encode(), *block, b"\r\n\r\n"))
