"""What do the bytes say? Members of a file, one at a time, and the capture that two of them make.

The writer is ours, so what does not look like it is torn or damaged: `Torn`, for the caller to judge.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from typing import Final, cast

from isal import isal_zlib
from msgspec import DecodeError, Struct

from outrider.model.capture import Capture
from outrider.model.codec import from_json
from outrider.model.outcome import Headers, Hop
from outrider.model.url import Url
from outrider.stores.warc.records import PROFILES, PROTOCOLS, unmasked

_FIRST: Final = 16_384
"""Most members are smaller, and a scan reads no more than it needs."""
_NEXT: Final = 262_144
_GZIP: Final = 31

_IsalError: Final = cast("type[Exception]", isal_zlib.error)
"""Its stub says that it is an instance."""

_UNCHANGED: Final = {profile: unchanged for unchanged, profile in PROFILES.items()}
_VERSIONS: Final = {protocol: version for version, protocol in PROTOCOLS.items()}


class Torn(Exception):
    """No whole record begins here."""


class Member(Struct, frozen=True):
    """One record, and where its gzip member begins and ends in the file."""

    start: int
    end: int
    kind: str
    fields: dict[str, str]
    block: bytes


def member_at(file: int, start: int) -> Member:
    """Raises `Torn`, at the end of the file as well."""
    inflate = isal_zlib.decompressobj(wbits=_GZIP)
    pieces: list[bytes] = []
    position = start
    while not inflate.eof:
        chunk = os.pread(file, _FIRST if position == start else _NEXT, position)
        if not chunk:
            raise Torn(f"the member at {start} has no end")
        position += len(chunk)
        try:
            pieces.append(inflate.decompress(chunk))
        except _IsalError as error:
            raise Torn(f"the member at {start} is damaged: {error}") from error
    return read_record(start, position - len(inflate.unused_data), b"".join(pieces))


def members(file: int, start: int) -> Iterator[Member]:
    """From `start` on, as far as they are whole."""
    while True:
        try:
            member = member_at(file, start)
        except Torn:
            return
        yield member
        start = member.end


def read_record(start: int, end: int, record: bytes) -> Member:
    """What an unpacked member says."""
    head, _, rest = record.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        fields[name] = value
    kind = fields.get("WARC-Type")
    length = fields.get("Content-Length", "")
    if version != "WARC/1.1" or kind is None or not length.isdigit():
        raise Torn(f"the member at {start} is no WARC record")
    block = rest[: int(length)]
    if len(block) != int(length) or rest[len(block) :] != b"\r\n\r\n":
        raise Torn(f"the record at {start} has not the length that it claims")
    return Member(start, end, kind, fields, block)


def capture_of(answer: Member, metadata: Member) -> Capture:
    """The capture as it was put, without its request. Raises `Torn` for records that our writer cannot have made."""
    fields = answer.fields
    unchanged = _UNCHANGED.get(fields.get("WARC-Profile", ""))
    head, _, body = answer.block.partition(b"\r\n\r\n")
    status_line, headers = _headers(head)
    fetch_id, chain = _story(metadata)
    digest = fields.get("WARC-Payload-Digest")
    earlier = fields.get("WARC-Refers-To-Date")
    try:
        return Capture(
            fetch_id=fetch_id,
            url=Url.trusted(fields["WARC-Target-URI"]),
            at=_instant(fields["WARC-Date"]),
            status=int(status_line.split(" ")[1]),
            headers=headers,
            body=body,
            http_version=_version(fields.get("WARC-Protocol")),
            address=fields.get("WARC-IP-Address"),
            payload_sha256=digest and digest.removeprefix("sha256:"),
            truncated="WARC-Truncated" in fields,
            chain=chain,
            unchanged=unchanged,
            earlier_at=None if earlier is None else _instant(earlier),
        )
    except (KeyError, IndexError, ValueError) as error:
        raise Torn(f"the record at {answer.start} is not one of ours: {error!r}") from error


def is_answer(member: Member) -> bool:
    return member.kind in {"response", "revisit"}


def _headers(head: bytes) -> tuple[str, Headers]:
    status_line, *lines = head.decode("latin-1").split("\r\n")
    pairs = []
    for line in lines:
        name, _, value = line.partition(":")
        pairs.append((name, value[1:]))
    return status_line, unmasked(tuple(pairs))


def _story(metadata: Member) -> tuple[str, tuple[Hop, ...]]:
    fetch_id = ""
    chain = []
    for line in metadata.block.decode().split("\r\n"):
        name, _, value = line.partition(": ")
        if name == "fetchId":
            fetch_id = value
        elif name == "hop":
            try:
                chain.append(from_json(value, Hop))
            except DecodeError as error:
                raise Torn(f"the metadata at {metadata.start} has a hop that cannot be read: {error}") from error
    return fetch_id, tuple(chain)


def _version(protocol: str | None) -> str | None:
    return None if protocol is None else _VERSIONS.get(protocol) or protocol.removeprefix("http/")


def _instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
