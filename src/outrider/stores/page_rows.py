"""A page as one flat row, alike in every store: its columns, its evidence, and what it is looked for by.

`host` and `port` are those of the URL that was asked for. URLs are found by a 64-bit hash, because an index of their
texts would be as large as the pages; the text decides in the end, so a collision costs a look and no more.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.json import Decoder, decode
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from outrider.model.codec import to_json
from outrider.model.record import (
    Confidence,
    Evidence,
    EvidenceContent,
    Page,
    PageFilter,
    PageMetadata,
    PageStatus,
    Record,
)
from outrider.model.url import Url

T = TypeVar("T")
Row: TypeAlias = tuple[Any, ...]

COLUMNS: Final = (*Page.__struct_fields__[:-1], *PageMetadata.__struct_fields__)
"""Of a row, in order: the page's own, then those of its metadata."""

_HALF: Final = 0xFFFFFFFF
_HIGHEST: Final = (1 << 63) - 1
_WITH_PORT: Final = re.compile(r"([^:]*|\[[^]]*\]):([0-9]{1,5})")
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_HALVES: Final = re.compile("[\ud800-\udfff]")
_LATEST: Final = "9999-12-31T23:59:59.999Z"


def row_of(page: Page) -> Row:
    """Plain texts and numbers: drivers are slow at anything else."""
    data = page.metadata
    return (
        page.fetch_id,
        page.scan_id,
        page.url,
        page.status_code,
        page.load_time,
        data.status.value,
        data.final_url,
        data.content_type,
        data.content_length,
        data.redirect_count,
        1 if data.robots_blocked else 0,
        data.confidence.value,
        1 if data.skip_content_extraction else 0,
        data.fetched_at,
        data.error,
        None if data.reason is None else str(data.reason),
        data.content_hash,
        data.attempts,
        data.retries,
        1 if data.truncated else 0,
        data.wire_length,
        data.content_key,
        data.depth,
        str(data.origin),
        data.parent,
        data.title,
        data.canonical,
        to_json(data.directives).decode() if data.directives else None,
        data.links,
    )


def page_of(row: Sequence[Any]) -> Page:
    fetch_id, scan_id, url, status_code, load_time, status, final_url, content_type, *row = row
    length, redirects, blocked, confidence, skip, fetched_at, error, reason, content_hash, *row = row
    attempts, retries, truncated, wire_length, key, depth, origin, parent, title, canonical, directives, links = row
    data = PageMetadata(
        PageStatus(status),
        final_url,
        content_type,
        length,
        redirects,
        bool(blocked),
        Confidence(confidence),
        bool(skip),
        fetched_at,
        error,
        reason,
        content_hash,
        attempts,
        retries,
        bool(truncated),
        wire_length,
        key,
        depth,
        origin,
        parent,
        title,
        canonical,
        () if directives is None else decode(directives, type=tuple[str, ...]),
        links,
    )
    return Page(fetch_id, scan_id, url, status_code, load_time, data)


class Proof(Struct, frozen=True, omit_defaults=True):
    """A piece of evidence beside its page: the fetch id is the page's, and so is the URL unless there is one."""

    content: EvidenceContent
    metadata: dict[str, str | int | float | bool | None]
    url: str | None = None


def to_proof(page: Page, evidence: Sequence[Evidence]) -> str:
    """All of it as one JSON list."""
    url = page.url
    return to_json([Proof(one.content, one.metadata, None if one.url == url else one.url) for one in evidence]).decode()


def record_of(row: Sequence[Any]) -> Record:
    """A page's columns, and then its evidence."""
    *columns, proof = row
    page = page_of(columns)
    evidence = [
        Evidence(page.fetch_id, page.url if one.url is None else one.url, one.content, one.metadata)
        for one in _proofs.decode(proof)
    ]
    return Record(page, tuple(evidence))


_proofs: Final = Decoder(list[Proof])


def url_hash(url: str) -> int:
    """Host first, so that the pages of one site lie together. Signed: every store can keep it in eight bytes."""
    data = url.encode()
    host = data[: data.find(b"/", 8)]
    value: int = (xxh3_64_intdigest(host) & _HALF) << 32 | xxh3_64_intdigest(data) & _HALF
    return value - (1 << 64) if value >> 63 else value


def hashes_of(page: Page) -> set[int]:
    """What it is found by: the URL that was asked for and, if it is another, the one where the visit ended."""
    asked, final = page.url, page.metadata.final_url
    return {url_hash(asked)} if asked == final else {url_hash(asked), url_hash(final)}


def host_and_port(url: str) -> tuple[str, int]:
    known = Url.trusted(url)
    return known.host.rstrip("."), known.port


def check(records: Sequence[Record]) -> None:
    """Evidence belongs to the page it is written with, one of each kind. Anything else is a bug of the caller's."""
    for record in records:
        owner = record.page.fetch_id if record.page else None
        if any(one.fetch_id != owner for one in record.evidence):
            raise ValueError(f"evidence of another visit than {owner}")
        if len({type(one.content) for one in record.evidence}) < len(record.evidence):
            raise ValueError(f"two pieces of evidence of one kind for {owner}")


def mended(value: T) -> T:
    """The same with U+FFFD for each half of a character, in all its texts.

    The web cannot send one: headers are Latin-1, and the rest is decoded with replacements. But a folder's name or an
    argument that is not UTF-8 comes as such (PEP 383). Neither UTF-8 nor JSON can hold it, so `UnicodeEncodeError`
    tells when this is called for: looking beforehand would cost every batch what none has ever needed.
    """
    whole: Any = value
    match value:
        case str() if not value.isascii():
            whole = _HALVES.sub("\ufffd", value)
        case Struct():
            whole = replace(value, **{name: mended(getattr(value, name)) for name in value.__struct_fields__})
        case tuple() | list():
            whole = type(value)(map(mended, value))
        case dict():
            whole = {mended(key): mended(one) for key, one in value.items()}
    return whole if whole != value else value


class SiteWanted(Struct, frozen=True):
    """A host, or a domain with all its hosts; with a port where one was named (`127.0.0.1:8080`)."""

    host: str
    port: int | None = None

    def has(self, url: str) -> bool:
        host, port = host_and_port(url)
        return (host == self.host or host.endswith(f".{self.host}")) and self.port in {None, port}


def site_wanted(text: str) -> SiteWanted:
    text = text.lower()
    if text.count(":") > 1 and "[" not in text:
        return SiteWanted(f"[{text}]")
    found = _WITH_PORT.fullmatch(text)
    return SiteWanted(found[1].rstrip("."), int(found[2])) if found else SiteWanted(text.rstrip("."))


def can_match(wanted: PageFilter) -> bool:
    """No page has a number that does not fit eight bytes, or a name with the character 0 or half a character."""
    if wanted.status_code is not None and abs(wanted.status_code) > _HIGHEST:
        return False
    return not any(_UNSTORABLE.search(text) for text in (wanted.site, wanted.reason, wanted.text) if text)


def as_fetched_at(moment: float) -> str:
    """In the form of `fetched_at`, which is in UTC and so long that it sorts as text."""
    try:
        return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return _LATEST if moment > 0 else ""


def matches(page: Page, wanted: PageFilter) -> bool:
    data = page.metadata
    return (
        can_match(wanted)
        and wanted.status in {None, data.status}
        and wanted.reason in {None, data.reason}
        and wanted.status_code in {None, page.status_code}
        and (wanted.site is None or site_wanted(wanted.site).has(page.url))
        and (wanted.since is None or data.fetched_at >= as_fetched_at(wanted.since))
        and (wanted.text is None or wanted.text in page.url)
    )
