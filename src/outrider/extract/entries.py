"""What do sitemaps and feeds have in common? They are XML from strangers, and list URLs.

No entity is ever expanded and nothing else is opened: every ampersand that does not begin one of XML's own five, or a
character by its number, is taken for the author's mistake, which it mostly is (`?a=1&b=2`). XML that breaks off, or
was never quite XML, gives what could be read of it.
"""

import re
from typing import Any, Final, Protocol, cast

from isal import igzip_lib
from lxml import etree
from msgspec import Struct

from outrider.extract.charset import sniff_charset, to_text
from outrider.extract.resolve import Base
from outrider.model.url import LONGEST, Url

MOST_BYTES: Final = 52_428_800
MOST_ENTRIES: Final = 50_000
"""Both are what the sitemap protocol allows one file to have."""

MOST_EVENTS: Final = 2_000_000
"""Elements and pieces of text that are listened to: 50,000 entries of 20 fields. Fifty megabytes could be tens more."""

_MOST_AMPERSANDS: Final = 500_000
_STEP: Final = 1_048_576
_MEMBERS: Final = 64
_ROOT_WITHIN: Final = 8_192
_GZIP: Final = b"\x1f\x8b"
_ROOT: Final = re.compile(
    rb"(?>(?:[\t\n\r ]++|<\?.*?\?>|<!--.*?-->|<!doctype(?!\s++html\b)[^>\[]*+(?>(?:\[[^\]]*+\])?)[^>]*+>)*)"
    rb"<(?>(?:[\w.\-]++:)?)([\w.\-]++)",
    re.DOTALL | re.IGNORECASE,
)
_STRAY: Final = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
_STRAY_OUTSIDE: Final = re.compile(rb"(<!\[CDATA\[.*?(?:\]\]>|\Z))|" + _STRAY.pattern, re.DOTALL)


class Entry(Struct, frozen=True):
    """One URL of a sitemap or a feed. `changed_at` and `priority` are the site's word, where it gave one."""

    url: Url
    changed_at: float | None = None
    priority: float | None = None


class Document(Struct, frozen=True):
    """Unpacked and under the cap; `root` is the name of its first element in lower case, None when it is no XML."""

    data: bytes
    root: str | None
    cut: bool


class Target(Protocol):
    """Who listens to the parser. Names come without their namespace."""

    def opened(self, name: str, attributes: dict[str, str]) -> None: ...

    def closed(self, name: str, text: str) -> None: ...


class Enough(Exception):
    """No error: a target raises it to hear no more."""


def unpack(content: bytes) -> Document:
    """Whatever the bytes are. Looks at the first ones only, unless they are compressed or in UTF-16."""
    data, cut = _gunzip(content) if content.startswith(_GZIP) else (content, False)
    if len(data) > MOST_BYTES:
        data, cut = data[:MOST_BYTES], True
    if data.startswith((b"\xfe\xff", b"\xff\xfe", b"<\0", b"\0<")):
        data = to_text(data, sniff_charset(data, None)).encode("utf-8", "replace")
    start = data[:_ROOT_WITHIN].removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\r ")
    found = _ROOT.match(start) if start.startswith(b"<") else None
    return Document(data, found[1].decode().lower() if found else None, cut)


def parse(document: Document, target: Target) -> bool:
    """Tell `target` of every element; was the document read to its end?"""
    charset = sniff_charset(document.data, None)
    data = document.data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\t\n\r ")
    if charset.name != "utf-8":
        data = to_text(data, charset).encode("utf-8", "replace")
    whole = not document.cut
    if data.count(b"&") > _MOST_AMPERSANDS:
        data, whole = b"&".join(data.split(b"&", _MOST_AMPERSANDS)[:-1]), False
    if b"<![CDATA[" not in data:
        data = _STRAY.sub(b"&amp;", data)
    elif _STRAY.search(data):
        data = _STRAY_OUTSIDE.sub(lambda found: found[1] or b"&amp;", data)
    parser = etree.XMLParser(
        # The stub wants a target with every method; comments are not listened to.
        target=cast("Any", _Events(target)),
        encoding="utf-8",
        recover=True,
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
    )
    try:
        etree.fromstring(data, parser)
    except Enough:
        return False
    except etree.LxmlError:
        # Not even recovery helped. What the target was told before holds.
        return False
    return whole


class Entries:
    """Collects what a target finds, each URL once, and ends the reading when there are too many."""

    def __init__(self, url: Url) -> None:
        self._base = Base(url)
        self._found: dict[Url, Entry] = {}

    def add(self, link: str, changed_at: float | None = None, priority: float | None = None) -> None:
        url = self._base.resolve(link)
        if url is None or url in self._found:
            return
        if len(self._found) >= MOST_ENTRIES:
            raise Enough
        self._found[url] = Entry(url, changed_at, priority)

    def all(self) -> tuple[Entry, ...]:
        return tuple(self._found.values())


class _Events:
    """The parser's target: gathers the text of the innermost element."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._text: list[str] = []
        self._room = LONGEST
        self._events = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._events += 1
        if self._events > MOST_EVENTS:
            raise Enough
        self._text.clear()
        self._room = LONGEST
        self._target.opened(tag.rpartition("}")[2].lower(), attributes)

    def data(self, text: str) -> None:
        self._events += 1
        # Longer texts are no URLs, so they need not be whole.
        if self._room > 0:
            self._room -= len(text) or 1
            self._text.append(text[:LONGEST])
        elif self._events > MOST_EVENTS:
            raise Enough

    def end(self, tag: str) -> None:
        text = "".join(self._text).strip()
        self._text.clear()
        self._target.closed(tag.rpartition("}")[2].lower(), text)

    def close(self) -> None:
        """Nothing is built, so there is nothing to hand out."""


def _gunzip(content: bytes) -> tuple[bytes, bool]:
    """What can be unpacked of it, in steps, up to the cap; was something lost?"""
    data = bytearray()
    rest = content
    for _ in range(_MEMBERS):
        inflater = igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)
        try:
            data += inflater.decompress(rest, _STEP)
            while not inflater.eof and not inflater.needs_input and len(data) <= MOST_BYTES:
                data += inflater.decompress(b"", _STEP)
        except _IsalError:
            return bytes(data), True
        if not inflater.eof:
            return bytes(data), True
        rest = inflater.unused_data
        if not rest.startswith(_GZIP):
            return bytes(data), False
    return bytes(data), True


# The stub declares an instance where there is a class.
_IsalError: Final = cast("type[Exception]", igzip_lib.error)
