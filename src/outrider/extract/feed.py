"""Which pages does a feed announce? RSS 2.0, RSS 1.0 (RDF) and Atom, told apart by their first element.

Items of RSS have their link as text, or only a guid that is one; entries of Atom have it as an attribute. Both are
looked for in both, since feeds mix them.
"""

from email.utils import mktime_tz, parsedate_tz
from typing import Final

from msgspec import Struct

from outrider.errors import InvalidUrl
from outrider.extract.entries import Document, Entries, Entry, parse, unpack
from outrider.extract.sitemap import w3c_time
from outrider.model.url import Url

ROOTS: Final = frozenset({"rss", "rdf", "feed"})
_XML_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
_DATES: Final = frozenset({"pubdate", "date", "updated", "modified", "published", "issued"})


class Feed(Struct, frozen=True):
    """`cut`: there was more than was read."""

    pages: tuple[Entry, ...] = ()
    cut: bool = False


def read_feed(content: bytes, url: Url) -> Feed | None:
    """None when it is no feed."""
    return feed_of(unpack(content), url)


def feed_of(document: Document, url: Url) -> Feed | None:
    if document.root not in ROOTS:
        return None
    reader = _Reader(url)
    whole = parse(document, reader)
    return Feed(reader.entries.all(), not whole)


class _Reader:
    """Listens for items and entries, and for the fields directly below them."""

    def __init__(self, url: Url) -> None:
        self.entries = Entries(url)
        self._url = url
        self._open: list[str] = []
        self._link = ""
        self._guid = ""
        self._date: float | None = None
        self._guid_is_link = True

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        if not self._open and _XML_BASE in attributes:
            self._rebase(attributes[_XML_BASE])
        if name in {"item", "entry"}:
            self._link = self._guid = ""
            self._date = None
        elif self._open and self._open[-1] in {"item", "entry"}:
            if name == "link" and attributes.get("rel", "alternate") == "alternate":
                self._link = self._link or attributes.get("href", "")
            elif name == "guid":
                self._guid_is_link = attributes.get("isPermaLink", "true").lower() != "false"
        self._open.append(name)

    def closed(self, name: str, text: str) -> None:
        self._open.pop()
        if name in {"item", "entry"}:
            link = self._link or self._guid
            if link:
                self.entries.add(link, self._date)
        elif self._open and self._open[-1] in {"item", "entry"}:
            self._field(name, text)

    def _field(self, name: str, text: str) -> None:
        if name == "link":
            self._link = self._link or text
        elif name == "guid" and self._guid_is_link and text.startswith(("http://", "https://")):
            self._guid = text
        elif name in _DATES:
            moment = _time(text)
            # Of several dates the last is that of the change.
            self._date = moment if self._date is None else max(self._date, moment or 0.0)

    def _rebase(self, base: str) -> None:
        try:
            self.entries = Entries(self._url.resolve(base))
        except InvalidUrl:
            return


def _time(text: str) -> float | None:
    """Of RFC 822 in RSS, of the W3C in the others."""
    moment = w3c_time(text)
    if moment is not None:
        return moment
    try:
        parts = parsedate_tz(text[:64])
        return float(mktime_tz(parts)) if parts else None
    except (ValueError, OverflowError):
        return None
