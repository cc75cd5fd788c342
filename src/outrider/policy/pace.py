"""When may the site be asked again? Rate and burst as a token bucket, kept as one instant (GCRA).

The law: nothing here ever moves `not_before` to an earlier moment. Crawl-delay can only slow us, a 429 widens the
interval at once, and good answers give the excess back slowly (C17, C21, C23).
"""

from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.site import Pace, Site

_SETTLED: Final = 0.01
"""An excess below this share of the base is no longer worth remembering."""


class PaceLimits(Struct, frozen=True):
    delay: float = 1.0
    burst: int = 1
    slow_down: float = 2.0
    slowest: float = 300.0
    recovery: float = 0.1
    max_crawl_delay: float = 300.0
    retry_after_cap: float = 86_400.0


class TooSlow(Struct, frozen=True):
    """The site asks for a longer delay than we are willing to keep a queue for: it is set aside."""

    crawl_delay: float


Paced: TypeAlias = Site | TooSlow


def fresh_pace(limits: PaceLimits) -> Pace:
    return Pace(base=limits.delay, interval=limits.delay, burst=limits.burst)


def ready_at(site: Site) -> float:
    """The first moment at which a request may be sent."""
    return max(site.not_before, _bucket_opens(site.pace))


def reserve(site: Site, at: float) -> Site:
    """Take one request's place at `at`: done before the request, in the same step as the lease (C23)."""
    pace = site.pace
    return _with_pace(site, replace(pace, full_at=max(pace.full_at, at) + pace.interval))


def completed(site: Site, at: float) -> Site:
    """The answer came at `at`: a slow site gets its whole pause after it."""
    pace = site.pace
    return _with_pace(site, replace(pace, full_at=max(pace.full_at, at + pace.interval)))


def heed_crawl_delay(site: Site, crawl_delay: float | None, limits: PaceLimits) -> Paced:
    """Let robots.txt slow us down, from the request that fetched it on.

    What a 429 added on top of the old base is kept on top of the new one.
    """
    if crawl_delay is not None and crawl_delay > limits.max_crawl_delay:
        return TooSlow(crawl_delay)
    pace = site.pace
    base = max(limits.delay, crawl_delay or 0.0)
    if base == pace.base == pace.interval and _bucket_opens(pace) <= site.not_before:
        return site  # heeded already, as for nearly every page
    interval = base + max(0.0, pace.interval - pace.base)
    full_at = pace.full_at + max(0.0, interval - pace.interval) if pace.full_at else 0.0
    return _with_pace(site, replace(pace, base=base, interval=interval, full_at=full_at))


def slow_down(site: Site, now: float, retry_after: float | None, limits: PaceLimits) -> Site:
    """The site said that we ask too much: wait as it says (within reason) and keep a wider interval afterwards."""
    pace = site.pace
    interval = _wider(pace, limits)
    until = max(site.not_before, now + silence(pace, retry_after, limits))
    # The bucket must be empty when the pause ends, else a burst would follow it.
    full_at = max(pace.full_at, until + (pace.burst - 1) * interval)
    return _with_pace(replace(site, not_before=until), replace(pace, interval=interval, full_at=full_at))


def silence(pace: Pace, retry_after: float | None, limits: PaceLimits) -> float:
    """How long a site that said so is left alone: as it says, or for one of the wider intervals."""
    return _wider(pace, limits) if retry_after is None else min(retry_after, limits.retry_after_cap)


def recover(site: Site, limits: PaceLimits) -> Site:
    """A good answer: a share of the excess is given back. The place already reserved stays where it is."""
    pace = site.pace
    excess = (pace.interval - pace.base) * (1 - limits.recovery)
    if excess == pace.interval - pace.base:
        return site
    interval = pace.base if excess <= max(pace.base, 1.0) * _SETTLED else pace.base + excess
    return _with_pace(site, replace(pace, interval=interval))


def hold_until(site: Site, until: float) -> Site:
    """Some other decision (breaker, robots, operator) keeps the site silent until then."""
    return replace(site, not_before=max(site.not_before, until))


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait, from either form (RFC 9110 10.2.3); None when there is nothing we can read."""
    text = (value or "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _wider(pace: Pace, limits: PaceLimits) -> float:
    # Someone who crawls their own site without a delay is still told to slow down: a second is where that starts.
    return min(max(pace.interval * limits.slow_down, 1.0), max(limits.slowest, pace.base))


def _bucket_opens(pace: Pace) -> float:
    return pace.full_at - (pace.burst - 1) * pace.interval


def _with_pace(site: Site, pace: Pace) -> Site:
    opens = _bucket_opens(pace)
    if opens > site.not_before:
        return replace(site, pace=pace, not_before=opens)
    return replace(site, pace=pace)
