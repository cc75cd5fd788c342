"""What is at a URL of a world? A value that says all of it: the server plays it, and the truth reads it.

Nothing here knows a port or a clock. Where a value depends on the past (`AtFirst`, a `Door`), it says what happens
first and what in the end; the truth looks at the end only.
"""

from enum import StrEnum
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from outrider.model.reason import Reason


class Spot(Struct, frozen=True):
    """A URL without its scheme and port, which are known only when the world is served."""

    host: str
    target: str = "/"


class Spelling(StrEnum):
    """How an author writes a link; all of them mean the same URL."""

    ROOTED = "rooted"
    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    FRAGMENT = "fragment"
    SCHEMELESS = "schemeless"
    DOTTED = "dotted"


class Link(Struct, frozen=True):
    to: Spot
    spelling: Spelling = Spelling.ROOTED
    nofollow: bool = False


Encoding: TypeAlias = Literal["", "gzip", "br", "zstd"]
Validator: TypeAlias = Literal["", "etag", "date"]


class Page(Struct, frozen=True):
    """A good page. `number` and `seed` make its text; with `base` its relative links start from that path.

    `feed` is announced in the head, `canonical` is the page itself; `validator` is which of the two it sends.
    """

    links: tuple[Link, ...]
    size: int = 2_000
    number: int = 0
    seed: int = 0
    encoding: Encoding = ""
    validator: Validator = ""
    base: str | None = None
    feed: str | None = None
    canonical: bool = False


class Redirect(Struct, frozen=True):
    """`raw` goes out as it is where it leads nowhere; without either there is no Location."""

    code: int
    to: Spot | None = None
    raw: str | None = None


class Status(Struct, frozen=True):
    code: int


class Robots(Struct, frozen=True):
    """A robots.txt for everybody, with a group for someone else before it. `padding` bytes of comment follow."""

    disallow: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    crawl_delay: float | None = None
    sitemaps: tuple[Spot, ...] = ()
    padding: int = 0


class Listing(Struct, frozen=True):
    """A sitemap, an index of sitemaps, or a feed."""

    kind: Literal["urlset", "index", "rss"]
    entries: tuple[Spot, ...]
    zipped: bool = False


class Fault(StrEnum):
    """What is wrong with an answer that should have been a page."""

    BOMB = "bomb"
    HEADER_BOMB = "header_bomb"
    GARBAGE = "garbage"
    RESET = "reset"
    CUT = "cut"
    BROKEN_CHUNKS = "broken_chunks"
    DRIBBLE = "dribble"
    SILENCE = "silence"
    MISLABELLED = "mislabelled"
    BINARY = "binary"
    BLOB = "blob"
    EMPTY = "empty"
    ENDLESS = "endless"


ENDS: Final[dict[Fault, frozenset[Reason]]] = {
    # Whichever cap ends it: what a smaller one than that of the ratio leaves of a bomb is zeros, and no text.
    Fault.BOMB: frozenset({Reason.BODY_TOO_LARGE, Reason.UNDECODABLE}),
    Fault.HEADER_BOMB: frozenset({Reason.PROTOCOL_ERROR}),
    Fault.GARBAGE: frozenset({Reason.PROTOCOL_ERROR}),
    Fault.RESET: frozenset({Reason.CONNECTION_LOST}),
    Fault.CUT: frozenset({Reason.CONNECTION_LOST}),
    Fault.BROKEN_CHUNKS: frozenset({Reason.PROTOCOL_ERROR}),
    Fault.DRIBBLE: frozenset({Reason.READ_TIMEOUT}),
    Fault.SILENCE: frozenset({Reason.READ_TIMEOUT}),
    Fault.MISLABELLED: frozenset({Reason.UNDECODABLE}),
    Fault.BINARY: frozenset({Reason.UNDECODABLE}),
    Fault.BLOB: frozenset({Reason.UNSUPPORTED_CONTENT_TYPE}),
    Fault.EMPTY: frozenset({Reason.EMPTY_BODY}),
    Fault.ENDLESS: frozenset({Reason.BODY_TOO_LARGE, Reason.READ_TIMEOUT}),
}
"""Why a URL with this fault is dead in the end. `ENDLESS` may be fetched as well: its first bytes are a page."""


class Faulty(Struct, frozen=True):
    fault: Fault


class AtFirst(Struct, frozen=True):
    """`times` requests get the status, and only then what is there."""

    times: int
    status: int
    then: "Page | Robots"
    retry_after: int | None = None


Node: TypeAlias = Page | Redirect | Status | Robots | Listing | Faulty | AtFirst


class Door(Struct, frozen=True):
    """A trouble of the whole site: met before any of its nodes.

    `dead`: every request is reset. `refused`: nobody listens at its address. `requests`: its first ones get 503.
    `seconds`: resets from the first request until then. `busy`: its first page requests get 429.
    """

    kind: Literal["dead", "refused", "requests", "seconds", "busy"]
    times: int = 0
    seconds: float = 0.0
    retry_after: int | None = None

    @property
    def is_shut(self) -> bool:
        """For good: no page of the site can ever be had."""
        return self.kind in {"dead", "refused"}
