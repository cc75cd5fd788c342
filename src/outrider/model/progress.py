"""How far is the crawl? What a worker has counted, and what a person who watches is shown. Values only."""

from functools import partial
from typing import Final, Self

from msgspec import Struct, field

from outrider.model.activity import Activity
from outrider.model.histogram import Histogram
from outrider.model.ledger import Census
from outrider.model.reason import Reason

SECONDS: Final = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Buckets for how long visits take."""
SIZES: Final = tuple(4.0**power for power in range(5, 13))
"""Buckets for how large contents are: 1 KiB to 16 MiB."""


class Counts(Struct):
    """What one worker has done since it started. Not frozen: its worker counts up in place, everybody else adds.

    `pages` are those that were fetched, `unchanged` those that had not changed; with `moved`, `skipped` and `failed`
    they make up the `visits`. `bytes` are as sent. `links` were seen, `urls` of them were new to the frontier.

    `requeued` URLs go back because of their site, `disallowed` ones were skipped because of robots.txt, `dead` ones
    were given up. Breakers `opened` and `closed`; `probes_alive` and `probes_failed` asked whether a site is back.
    `lost_leases` went to another before we were done. `seconds` are of visits that asked something, `sizes` of decoded
    contents. `activity` is where the seconds of all visitors of sites went: its sum is all of their time.
    """

    visits: int = 0
    pages: int = 0
    unchanged: int = 0
    moved: int = 0
    skipped: int = 0
    failed: int = 0
    retried: int = 0
    bytes: int = 0
    requests: int = 0
    links: int = 0
    urls: int = 0
    requeued: int = 0
    disallowed: int = 0
    dead: int = 0
    opened: int = 0
    closed: int = 0
    probes_alive: int = 0
    probes_failed: int = 0
    lost_leases: int = 0
    errors: dict[Reason, int] = {}
    seconds: Histogram = field(default_factory=partial(Histogram.over, SECONDS))
    sizes: Histogram = field(default_factory=partial(Histogram.over, SIZES))
    activity: dict[Activity, float] = {}

    def plus(self, other: Self) -> "Counts":
        """Both together, as a new value."""
        both = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        reasons = self.errors.keys() | other.errors.keys()
        errors = {reason: self.errors.get(reason, 0) + other.errors.get(reason, 0) for reason in sorted(reasons)}
        spent = self.activity.keys() | other.activity.keys()
        activity = {one: self.activity.get(one, 0.0) + other.activity.get(one, 0.0) for one in sorted(spent)}
        return Counts(
            **both,
            errors=errors,
            seconds=self.seconds.plus(other.seconds),
            sizes=self.sizes.plus(other.sizes),
            activity=activity,
        )


_NUMBERS = tuple(name for name in Counts.__struct_fields__ if name not in {"errors", "seconds", "sizes", "activity"})


class WorstBreaker(Struct, frozen=True, order=True):
    """Of the site that is in the worst trouble; there is one breaker a site (C4). The greater, the worse.

    `backoff` is how long the site is left alone now, `failures` how many came in a row, failed probes included.
    """

    backoff: float = 0.0
    failures: int = 0
    is_open: bool = False
    is_probed: bool = False

    @property
    def state(self) -> int:
        """0 is closed, 1 open, 2 half open (S4-48)."""
        return 2 if self.is_probed else int(self.is_open)


class Progress(Struct, frozen=True):
    """The whole crawl at one moment. `finish` is why it ended, None while it runs; `counts` are of all workers.

    `held` sites are lent to a worker, `broken` ones are down. `rate` is pages a second over the last few seconds,
    `memory` what all processes together occupy. `paused` is the cause while nothing is asked, `waiting_for` what a
    crawl with nothing to do waits for; both are empty otherwise. `deaths` are workers that vanished.
    """

    at: float
    started_at: float
    finish: str | None = None
    workers: int = 0
    in_flight: int = 0
    held: int = 0
    broken: int = 0
    census: Census = Census()
    counts: Counts = field(default_factory=Counts)
    rate: float = 0.0
    limit_pages: int | None = None
    paused: str = ""
    waiting_for: str = ""
    memory: int = 0
    directory: str = ""
    breaker: WorstBreaker = WorstBreaker()
    deaths: int = 0

    @property
    def seconds(self) -> float:
        return max(self.at - self.started_at, 0.0)


def eta(progress: Progress) -> float | None:
    """Seconds until the limit is reached or the queue is empty, if all goes on as now; None when nobody can tell.

    Links that are yet to be found are not in it: without a limit, it is the least that is left.
    """
    if progress.finish is not None or progress.census.is_finished:
        return 0.0
    owed = progress.census.pending
    if progress.limit_pages is not None:
        owed = max(progress.limit_pages - progress.counts.pages, 0)
        if not owed:
            return 0.0
    if not owed or progress.rate <= 0.0 or progress.paused:
        return None
    return owed / progress.rate
