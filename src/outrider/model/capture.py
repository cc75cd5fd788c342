"""One answer as it came, for whoever keeps contents: the bytes as sent, and what is needed to tell their story."""

from enum import StrEnum

from msgspec import Struct

from outrider.model.outcome import Headers, Hop
from outrider.model.url import Url


class Unchanged(StrEnum):
    """How we know that the content is the one that we had: the server said so, or the bytes are the same."""

    NOT_MODIFIED = "not_modified"
    SAME_CONTENT = "same_content"


class Capture(Struct, frozen=True):
    """`body` is as sent, still encoded; `request` is the head that was sent, `payload_sha256` of `body` where known.

    `chain` are the hops that led here, oldest first, without this one. With `unchanged`, `earlier_at` is when the
    content was last seen, so that it need not be kept twice. `asked` is the URL that the visit was for, where it is not
    `url`; `content` is the decoded body, only where a store wants it.
    """

    fetch_id: str
    url: Url
    at: float
    status: int
    headers: Headers
    body: bytes
    request: bytes = b""
    http_version: str | None = None
    address: str | None = None
    payload_sha256: str | None = None
    truncated: bool = False
    chain: tuple[Hop, ...] = ()
    unchanged: Unchanged | None = None
    earlier_at: float | None = None
    asked: Url | None = None
    content: bytes | None = None
