"""Event → message, and back: which topic, which key, which bytes. Both directions are written here and nowhere else.

The key is the SHA-256 of the URL as its 32 raw bytes (S4-14): all events of a URL are in one partition, in order. In
hexadecimal it is what the cache key `webpage:{sha256(url)}` ends with.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, get_args

from msgspec import MsgspecError

from outrider.errors import InvalidUrl
from outrider.model.codec import from_json
from outrider.model.event import (
    EntryRefused,
    Event,
    PageFailed,
    PageFetched,
    PageMoved,
    PageSkipped,
    PageUnchanged,
    UrlDied,
    UrlRefused,
)
from outrider.model.url import Url
from outrider.stores.files.events import event_line

_FAILURES: Final = (PageFailed, PageSkipped, PageMoved, PageUnchanged, UrlDied, UrlRefused, EntryRefused)
"""How a URL may end, or a visit, without a page."""


def routes(pages: str, failures: str, rest: str) -> Mapping[type, str]:
    """Which topic takes which kind of event; a kind that none takes is not there."""
    found = dict.fromkeys(get_args(Event), rest) | dict.fromkeys(_FAILURES, failures) | {PageFetched: pages}
    return {kind: topic for kind, topic in found.items() if topic}


def key_of(event: Event) -> bytes | None:
    """Of its URL; else of the entry or the site that it is about; None for what concerns the whole crawl."""
    about = getattr(event, "url", None) or getattr(event, "entry", None) or getattr(event, "site", None)
    return sha256(about.encode()).digest() if about else None


def value_of(event: Event) -> bytes:
    """The same JSON as a line of the event files."""
    return event_line(event)[:-1]


def page_of(value: bytes | None) -> PageFetched | None:
    """None for what is no `webpage_fetched`: another kind of event, or another program's message.

    The topic is open to others, so that its URLs are parsed again, and must be written as we write them.
    """
    try:
        page = from_json(value or b"", PageFetched)
        return page if Url(page.url) == page.url and Url(page.final_url) == page.final_url else None
    except (MsgspecError, UnicodeDecodeError, InvalidUrl):  # of the first two, the second is no kind of the other
        return None
