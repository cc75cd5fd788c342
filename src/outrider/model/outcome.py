"""Lease → Outcome: what came of one visit. The web failing is a value here, never an exception."""

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from outrider.model.reason import Reason
from outrider.model.robots import RobotsVerdict
from outrider.model.url import Url

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""As received, in order; repeated names stay repeated."""


def first_value(headers: Headers, name: str) -> str | None:
    """Of the header of that name, which is given in lower case."""
    length = len(name)
    for key, value in headers:
        # A visit asks ten times: most names are told apart by their length.
        if len(key) == length and key.lower() == name:
            return value
    return None


class Scope(StrEnum):
    """Whose fault a failure is."""

    URL = "url"
    SITE = "site"


class Failure(Struct, frozen=True):
    """Two axes (H3-1): whose fault, and whether asking again could help. `retry_after` is what the site asked for.

    `stale`: a kept connection was already closed, so that the request most likely never arrived.
    """

    reason: Reason
    scope: Scope = Scope.URL
    transient: bool = False
    status: int | None = None
    retry_after: float | None = None
    detail: str = ""
    stale: bool = False


class Timing(Struct, frozen=True):
    """Seconds from the start of a request to the end of each phase; 0 where a phase did not happen."""

    dns: float = 0.0
    connect: float = 0.0
    tls: float = 0.0
    first_byte: float = 0.0
    total: float = 0.0


class Hop(Struct, frozen=True):
    """One request and its answer (S1-8): the last hop of a chain is the final response and has no `location`."""

    url: Url
    status: int
    headers: Headers = ()
    location: str | None = None
    at: float = 0.0
    timing: Timing = Timing()
    address: str | None = None
    http_version: str | None = None


class Validators(Struct, frozen=True):
    """What makes the next request conditional."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


class Body(Struct, frozen=True):
    """What is known of the content: `length` and `sha256` are of the decoded bytes, `wire_length` of those sent."""

    length: int
    sha256: str
    wire_length: int = 0
    content_type: str | None = None
    charset: str | None = None
    encodings: tuple[str, ...] = ()
    truncated: bool = False


class Fetched(Struct, frozen=True, tag="fetched"):
    """A 2xx with content. `url` is where it was found, after all hops."""

    url: Url
    status: int
    body: Body
    validators: Validators = Validators()


class NotModified(Struct, frozen=True, tag="not_modified"):
    """A 304 that we asked for: a success that changes nothing (C16)."""

    url: Url
    validators: Validators = Validators()


class Moved(Struct, frozen=True, tag="moved"):
    """The chain leaves the site: `to` becomes a task of its own site and carries the hops walked (C12)."""

    to: Url
    permanent: bool


class Skipped(Struct, frozen=True, tag="skipped"):
    """Not asked for, by a rule: neither success nor failure (C15). `status` only when a HEAD was allowed to ask."""

    reason: Reason
    detail: str = ""
    status: int | None = None


class Failed(Struct, frozen=True, tag="failed"):
    failure: Failure


Outcome: TypeAlias = Fetched | NotModified | Moved | Skipped | Failed


class Try(Struct, frozen=True):
    """A request that failed and what was decided then: `wait` is None when it was the last one."""

    url: Url
    at: float
    failure: Failure
    wait: float | None = None


class Visit(Struct, frozen=True):
    """The whole story of one visit: all that records, events and settling are made from.

    `requests` counts every request to the site, also for hops, retries and robots.txt.
    """

    id: str
    requested: Url
    started_at: float
    ended_at: float
    outcome: Outcome
    hops: tuple[Hop, ...] = ()
    tries: tuple[Try, ...] = ()
    robots: RobotsVerdict | None = None
    requests: int = 0

    @property
    def final_url(self) -> Url:
        return self.hops[-1].url if self.hops else self.requested

    @property
    def redirects(self) -> int:
        count = 0
        for hop in self.hops:  # a loop, not a sum: nearly all visits have one hop, and it is asked four times each
            count += hop.location is not None
        return count
