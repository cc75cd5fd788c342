"""Which pages does a site name in its sitemap? Those of a urlset, or the further sitemaps of an index.

Extensions (images, videos, languages) have `loc` elements as well; only that of the entry itself counts. Whether a
sitemap may speak for another host is the caller's question.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from msgspec import Struct

from outrider.extract.entries import MOST_ENTRIES, Document, Enough, Entries, Entry, parse, unpack
from outrider.model.url import Url

URLSET: Final = "urlset"
INDEX: Final = "sitemapindex"


class Sitemap(Struct, frozen=True):
    """`listings` are further sitemaps. `cut`: there was more than was read."""

    pages: tuple[Entry, ...] = ()
    listings: tuple[Entry, ...] = ()
    cut: bool = False


def read_sitemap(content: bytes, url: Url, *, expected: bool = False) -> Sitemap | None:
    """None when it is no sitemap. Text with a URL on each line is one only where a sitemap is `expected`."""
    return sitemap_of(unpack(content), url, expected=expected)


def sitemap_of(document: Document, url: Url, *, expected: bool = False) -> Sitemap | None:
    match document.root:
        case "urlset":
            reader = _Reader(url, "url")
            whole = parse(document, reader)
            return Sitemap(pages=reader.entries.all(), cut=not whole)
        case "sitemapindex":
            reader = _Reader(url, "sitemap")
            whole = parse(document, reader)
            return Sitemap(listings=reader.entries.all(), cut=not whole)
        case None if expected:
            return _of_lines(document, url)
        case _:
            return None


class _Reader:
    """Listens for the entries, and for the fields directly below them."""

    def __init__(self, url: Url, entry: str) -> None:
        self.entries = Entries(url)
        self._entry = entry
        self._open: list[str] = []
        self._fields: dict[str, str] = {}

    def opened(self, name: str, _attributes: dict[str, str]) -> None:
        if name == self._entry:
            self._fields = {}
        self._open.append(name)

    def closed(self, name: str, text: str) -> None:
        self._open.pop()
        if name == self._entry:
            self._add()
        elif self._open and self._open[-1] == self._entry and name in {"loc", "lastmod", "priority"}:
            self._fields.setdefault(name, text)

    def _add(self) -> None:
        fields = self._fields
        self._fields = {}
        if fields.get("loc"):
            self.entries.add(fields["loc"], w3c_time(fields.get("lastmod", "")), _priority(fields.get("priority", "")))


def _of_lines(document: Document, url: Url) -> Sitemap | None:
    """The text form of the protocol: one absolute URL a line, and nothing else."""
    entries = Entries(url)
    lines = document.data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").split("\n", 2 * MOST_ENTRIES)
    cut = document.cut or len(lines) > 2 * MOST_ENTRIES
    for line in lines[: 2 * MOST_ENTRIES]:
        link = line.strip()
        if not link:
            continue
        if not link.startswith(("http://", "https://")):
            break
        try:
            entries.add(link)
        except Enough:
            cut = True
            break
    found = entries.all()
    return Sitemap(pages=found, cut=cut) if found else None


_W3C: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,12})?)?\s?(?:[Zz]|([+-])(\d\d):?(\d\d))?)?)?)?",
    re.ASCII,
)


def w3c_time(text: str) -> float | None:
    """Seconds since the epoch; what is left out is the start of the year, month or day, in UTC."""
    found = _W3C.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    try:
        zone = timezone(timedelta(hours=int(hours), minutes=int(minutes)) * (-1 if sign == "-" else 1)) if sign else UTC
        moment = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=zone
        )
    except ValueError:
        return None
    return moment.timestamp()


def _priority(text: str) -> float | None:
    try:
        priority = float(text[:20])
    except ValueError:
        return None
    return priority if 0.0 <= priority <= 1.0 else None
