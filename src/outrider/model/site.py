"""What we know of one politeness unit. One holder at a time, so all of it is plain values that pure functions update.

A site outlives its queue: the times below hold even when no URL of it is left (H2-3).
"""

from enum import StrEnum

from msgspec import Struct

from outrider.model.reason import Reason
from outrider.model.robots import RobotsFile


class Pace(Struct, frozen=True):
    """A token bucket as one instant (GCRA): `full_at` is when the bucket would be full again.

    `base` is the slowest of what we and the site ask for; `interval` is at least that, wider after a 429.
    """

    base: float = 1.0
    interval: float = 1.0
    burst: int = 1
    full_at: float = 0.0


class BreakerState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Breaker(Struct, frozen=True):
    """Is the site up? `failures` in a row; `suspects` are the URLs whose 500s are among them, each counted once.

    While not closed, `probe_at` is when one request may find out, `openings` how often it was opened in this outage
    and `down_since` when the first failure of it was seen.
    """

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    suspects: tuple[int, ...] = ()
    openings: int = 0
    probes: int = 0
    probe_at: float = 0.0
    down_since: float | None = None


class Trouble(Struct, frozen=True):
    """What was last wrong with a site, and when."""

    reason: Reason
    at: float


class Site(Struct, frozen=True):
    """Nobody talks to the site before `not_before`: the latest of what pace, cool-down and breaker ask for.

    `alive_at` is when it last answered with anything below 500. `set_aside` ends its tasks until it is revived.
    `trouble` is the last failure that was no such answer; it stays when the site recovers.
    """

    key: str
    not_before: float = 0.0
    pace: Pace = Pace()
    breaker: Breaker = Breaker()
    alive_at: float | None = None
    robots: tuple[RobotsFile, ...] = ()
    admitted: int = 0
    fetched: int = 0
    set_aside: bool = False
    excluded: bool = False
    trouble: Trouble | None = None
