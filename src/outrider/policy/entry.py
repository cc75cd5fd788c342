"""What does an entry of the queue ask for? Anybody writes there: a bare URL, or a JSON object that says more.

    https://example.org/page
    {"url": "https://example.org/sitemap.xml", "listing": true, "priority": 5, "depth": 1}

What is no such thing is told apart with a reason, for the dead letters; nothing that stands there stops the intake.
"""

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.model.reason import Reason
from outrider.model.task import Candidate, Origin
from outrider.model.url import Url

LONGEST: Final = 65_536
"""No URL is as long as that, and no entry is read beyond it."""
_SHOWN: Final = 500
_MOST_PRIORITY: Final = 1_000_000


class Unreadable(Struct, frozen=True):
    """`entry` is what stood there, cut and made printable."""

    entry: str
    reason: Reason
    detail: str


class _Entry(Struct, frozen=True, forbid_unknown_fields=True):
    url: str
    priority: int = 0
    depth: int = 0
    listing: bool = False


Read: TypeAlias = Candidate | Unreadable


def read_entry(data: bytes) -> Read:
    if len(data) > LONGEST:
        return _unreadable(data, f"{len(data)} bytes; an entry has {LONGEST} at most")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _unreadable(data, "it is not UTF-8 text")
    text = text.strip()
    if not text:
        return _unreadable(data, "it is empty")
    if not text.startswith("{"):
        return _candidate(data, _Entry(text))
    try:
        entry = msgspec.json.decode(text, type=_Entry)
    except msgspec.DecodeError as error:
        return _unreadable(data, f"it is no JSON object with a url: {error}")
    if abs(entry.priority) > _MOST_PRIORITY or not 0 <= entry.depth <= _MOST_PRIORITY:
        return _unreadable(data, f"priority and depth must be whole numbers up to {_MOST_PRIORITY:,}")
    return _candidate(data, entry)


def _candidate(data: bytes, entry: _Entry) -> Read:
    try:
        url = Url(entry.url)
    except InvalidUrl as error:
        return _unreadable(data, str(error))
    origin = Origin.LISTING if entry.listing else Origin.QUEUE
    return Candidate(url, entry.depth, entry.priority, origin)


def _unreadable(data: bytes, detail: str) -> Unreadable:
    shown = data[:_SHOWN].decode(errors="backslashreplace")
    printable = "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
    return Unreadable(printable + ("…" if len(data) > _SHOWN else ""), Reason.INVALID_URL, detail)
