"""What was asked of which site, when, and what was promised then: what an audit is recomputed from.

A request is its own line, whatever became of its visit. Who repeats a visit after a crash asks again, and both are on
record. Nothing here is trusted by an audit for being here: the promises are recomputed from `Manners`, the robots.txt
files and the answers.
"""

import hashlib
from enum import StrEnum
from typing import Literal

from msgspec import Struct
from msgspec.json import encode

from outrider.model.robots import RobotsFile
from outrider.model.site import BreakerState
from outrider.model.url import SiteBy


class AskedFor(StrEnum):
    """A page, with its hops and retries; robots.txt, with its own; the status of a page that robots.txt forbids, by one
    HEAD; or a sign of life of a site that is down.
    """

    PAGE = "page"
    ROBOTS = "robots"
    STATUS = "status"
    PROBE = "probe"


class Asked(Struct, frozen=True, array_like=True):
    """One request, told apart from all others by `at`, `visit` and `turn`. Fields are added at the end.

    `site` is the one that was held, `turn` counts the requests of its holder. `not_before` is when its turn was: no
    sooner than the site's pace, its silence and its breaker allowed, as its holder saw it, with so long an `interval`
    between two requests. `ended_at` is when the answer was complete, or would not come; without `status` and `reason`
    we gave up waiting for it. `probe_at` and `openings` are those of a breaker that is not closed.
    """

    at: float
    visit: str
    turn: int
    site: str
    url: str
    method: str
    kind: AskedFor
    ended_at: float
    status: int | None
    reason: str | None
    retry_after: float | None
    not_before: float
    interval: float
    breaker: BreakerState = BreakerState.CLOSED
    probe_at: float | None = None
    openings: int = 0
    manners: str = ""

    @property
    def asked_to_wait(self) -> bool:
        """429, or 503 with Retry-After: silence is due, and was promised before anything else is written."""
        return self.status == 429 or (self.status == 503 and self.retry_after is not None)


class RobotsAnswer(Struct, frozen=True):
    """What the holder of a site learned about the robots.txt of one of its origins."""

    site: str
    file: RobotsFile


class Manners(Struct, frozen=True):
    """What a worker is held to: the settings that requests are judged by. None is no limit."""

    agent: str
    site_by: SiteBy = "domain"
    delay: float = 1.0
    burst: int = 1
    site_concurrency: int = 1
    slow_down: float = 2.0
    slowest: float = 300.0
    recovery: float = 0.1
    max_crawl_delay: float = 300.0
    retry_after_cap: float = 86_400.0
    breaker_backoff: float = 30.0
    breaker_multiplier: float = 2.0
    breaker_max_backoff: float = 300.0
    breaker_ladder: tuple[float, ...] = ()
    give_up_after: float | None = 3600.0
    give_up_probes: int | None = 12
    respect_robots: bool = True
    robots_unreachable: Literal["defer", "allow", "deny"] = "defer"
    robots_blocked: Literal["skip", "status"] = "skip"
    robots_max_bytes: int = 524_288
    max_redirects: int = 5
    max_retries: int = 3
    max_body: int = 10_485_760
    max_decoded: int = 20_971_520
    max_url_length: int = 2_000
    max_depth: int | None = None
    max_pages: int | None = None
    max_site_pages: int | None = None

    @property
    def name(self) -> str:
        """Short, and another for every difference: each request has it."""
        return hashlib.sha256(encode(self)).hexdigest()[:12]


class Traffic(Struct, frozen=True):
    """What is put on record at once."""

    requests: tuple[Asked, ...] = ()
    robots: tuple[RobotsAnswer, ...] = ()
