"""A dead letter as other programs read it: one JSON object, once for each URL that was given up."""

from typing import ClassVar

from msgspec import Struct


class DeadLetter(Struct, frozen=True, kw_only=True):
    """`url` is the entry itself where that is none. Moments are ISO 8601 with their zone.

    `attempts` are visits that counted against the URL, the first of them at `first_at`. `evidence_id` names the records
    of the last one.
    """

    version: ClassVar[int] = 1
    url: str
    reason: str
    attempts: int
    last_error: str
    first_at: str
    last_at: str
    evidence_id: str
    site: str = ""
    status_code: int | None = None
