"""Requests, robots.txt files and manners as rows, alike in every store.

The requests of a batch are one row, a JSON list of lists: a row for each took three times as long to write. What is
written again is known by its hash.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from msgspec.json import Decoder, decode
from xxhash import xxh3_64_intdigest

from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.codec import to_json
from outrider.model.record import Record
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.stores.page_rows import Row

COLUMNS: Final = Asked.__struct_fields__
ROBOTS: Final = ("site", "fetched_at", "origin", "expires_at", "status", "http_status", "detail", "digest")
FEW: Final = 16
"""Files of half a megabyte, or batches of requests, that are read at once."""

_requests: Final = Decoder(list[Asked])


def batch_of(records: Sequence[Record]) -> tuple[int, str] | None:
    """All requests as one row: its hash, signed, and the text; None when there are none."""
    requests = [one for record in records for one in record.requests]
    if not requests:
        return None
    text = to_json(requests)
    key = xxh3_64_intdigest(text)
    return key - (1 << 64) if key >> 63 else key, text.decode()


def requests_of(text: str) -> list[Asked]:
    return _requests.decode(text)


def robots_row(one: RobotsAnswer) -> Row:
    file = one.file
    return (
        one.site,
        file.fetched_at,
        file.origin,
        file.expires_at,
        file.status.value,
        file.http_status,
        file.detail,
        None if file.body is None else digest_of(file.body),
    )


def bodies_of(answers: Sequence[RobotsAnswer]) -> dict[str, bytes]:
    return {digest_of(one.file.body): one.file.body for one in answers if one.file.body is not None}


def robots_of(row: Sequence[Any]) -> RobotsAnswer:
    """In the order of `ROBOTS`, and then the body."""
    site, fetched_at, origin, expires_at, status, http_status, detail, _, body = row
    file = RobotsFile(origin, RobotsStatus(status), fetched_at, expires_at, body, http_status, detail)
    return RobotsAnswer(site, file)


def digest_of(body: bytes) -> str:
    """As `policy.robots` names a file that was read whole."""
    return hashlib.sha256(body).hexdigest()


def manners_row(one: Manners) -> Row:
    return one.name, to_json(one).decode()


def manners_of(text: str) -> Manners:
    return decode(text, type=Manners)
