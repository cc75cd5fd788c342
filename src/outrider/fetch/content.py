"""What did this answer bring? A 2xx becomes a page with its content, or the reason why it is none.

Pure, so that a thread can do it where there is much to do. How bytes are decoded is `body`'s to know.
"""

import re
from typing import Final

from outrider.errors import BodyTooLarge, Undecodable
from outrider.extract.charset import looks_binary, sniff_charset
from outrider.fetch.body import BodyLimits, content_type, decode, describe, is_wanted, sniff_type
from outrider.model.outcome import Failed, Failure, Fetched, Validators
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import Response

_QUICK_PLAIN: Final = 1_048_576
_QUICK_ENCODED: Final = 65_536
"""Bytes as sent that take about a millisecond to decode, hash and look at: as long as the loop may stand still for one
page. More goes to a thread, where the libraries that do the work let go of the interpreter's lock.
"""

_WITHOUT_CONTENT: Final = frozenset({204, 205})
"""RFC 9110 15.3.5, 15.3.6: whatever type they claim."""

_NO_VALIDATORS: Final = Validators()
_VALIDATOR: Final = re.compile(r"[ -~\x80-\xff]{1,1024}")
"""What may be sent back as it came: one line, of a length that is worth keeping for every page."""


def is_heavy(response: Response) -> bool:
    """Would reading it keep the event loop from everybody else?"""
    size = len(response.body)
    return size > _QUICK_PLAIN or (size > _QUICK_ENCODED and response.header("content-encoding") is not None)


def read_page(
    url: Url, response: Response, limits: BodyLimits, wanted: frozenset[str]
) -> tuple[Fetched | Failed, bytes]:
    """The outcome of a 2xx, and the decoded content when it is a page."""
    status, declared = response.status, response.header("content-type")
    if status in _WITHOUT_CONTENT:
        return _unusable(Reason.EMPTY_BODY, status)
    # Before decoding: a body of an unwanted type was never read.
    essence, label = content_type(declared, b"")
    if not is_wanted(essence, wanted):
        return _unusable(Reason.UNSUPPORTED_CONTENT_TYPE, status, essence or "")
    encoding = _encoding(response)
    try:
        decoded = decode(response.body, encoding, complete=response.complete, limits=limits)
    except BodyTooLarge as error:
        return _unusable(Reason.BODY_TOO_LARGE, status, str(error))
    except Undecodable as error:
        return _unusable(Reason.UNDECODABLE, status, str(error))
    if not decoded.data:
        if response.body and decoded.truncated:
            return _unusable(Reason.UNDECODABLE, status, f"{encoding} that ends before it has begun")
        return _unusable(Reason.EMPTY_BODY, status)
    essence = essence or sniff_type(decoded.data)
    if not is_wanted(essence, wanted):
        return _unusable(Reason.UNSUPPORTED_CONTENT_TYPE, status, f"looks like {essence or 'no text'}")
    charset = None
    if _is_text(essence):
        if looks_binary(decoded.data):
            return _unusable(Reason.UNDECODABLE, status, "the content is not text")
        charset = sniff_charset(decoded.data, label).name
    body = describe(decoded, len(response.body), essence, charset)
    return Fetched(url, status, body, validators_of(response)), decoded.data


def validators_of(response: Response, sent: Validators | None = None) -> Validators:
    """Those of the answer; where a 304 does not repeat them, those that were `sent` still hold (C16, H0-10)."""
    etag, last_modified = response.header("etag"), response.header("last-modified")
    if not is_sendable(etag):
        etag = sent.etag if sent else None
    if not is_sendable(last_modified):
        last_modified = sent.last_modified if sent else None
    return Validators(etag, last_modified) if etag or last_modified else _NO_VALIDATORS


def is_sendable(validator: str | None) -> bool:
    return validator is not None and _VALIDATOR.fullmatch(validator) is not None


def _encoding(response: Response) -> str | None:
    """Several are one list (RFC 9110 5.3); most pages have one or none."""
    first = response.header("content-encoding")
    return first and ", ".join(value for name, value in response.headers if name.lower() == "content-encoding")


def _is_text(essence: str | None) -> bool:
    """Whoever wants images or PDF gets them as they are; what calls itself text has to be some."""
    return essence is None or essence.startswith("text/") or essence.endswith(("xml", "json", "javascript"))


def _unusable(reason: Reason, status: int, detail: str = "") -> tuple[Failed, bytes]:
    return Failed(Failure(reason, status=status, detail=detail)), b""
