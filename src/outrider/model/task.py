"""Candidate → Task: a URL that somebody proposed, and one that is owed a visit."""

from enum import StrEnum

from msgspec import Struct

from outrider.model.outcome import Hop, Validators
from outrider.model.url import Url


class Origin(StrEnum):
    """Who proposed the URL; `listing` is a sitemap or a feed, visited for the URLs that it lists."""

    SEED = "seed"
    LINK = "link"
    SITEMAP = "sitemap"
    FEED = "feed"
    REDIRECT = "redirect"
    QUEUE = "queue"
    RECRAWL = "recrawl"
    LISTING = "listing"


class Candidate(Struct, frozen=True):
    """A proposed URL. `via` holds the hops that led here from another site, oldest first."""

    url: Url
    depth: int = 0
    priority: int = 0
    origin: Origin = Origin.SEED
    parent: Url | None = None
    via: tuple[Hop, ...] = ()


class Changes(Struct, frozen=True):
    """How often a page was seen to change: all that the recrawl interval is decided from."""

    looks: float = 0.0
    changed: float = 0.0
    watched: float = 0.0
    gone: int = 0


class Task(Struct, frozen=True):
    """An admitted URL. Higher `priority` first, then earlier `due_at`, then lower `sequence`.

    A new task is due at once (0); only what was put off has a later moment. The frontier numbers tasks as they come.
    `visits` are the ones that counted against the URL. `deferrals` are those that were the site's fault, the last of
    them at `deferred_at`; they cost the URL nothing while the site is down. `recoveries` counts leases that expired.
    """

    url: Url
    depth: int = 0
    priority: int = 0
    origin: Origin = Origin.SEED
    parent: Url | None = None
    via: tuple[Hop, ...] = ()
    sequence: int = 0
    due_at: float = 0.0
    visits: int = 0
    deferrals: int = 0
    deferred_at: float | None = None
    recoveries: int = 0
    validators: Validators | None = None
    changes: Changes = Changes()
    visited_at: float | None = None
    content_sha256: str | None = None
