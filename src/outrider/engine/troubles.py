"""Which sites are in trouble, as far as this worker knows? What it heard lately; others may know better by now.

The truth is in the frontier. This is for whoever watches, so what nobody has confirmed for a while is forgotten: a site
that went to another worker may be back, and this one would never hear of it.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from outrider.model.progress import WorstBreaker
from outrider.model.site import BreakerState, Site
from outrider.policy.breaker import BreakerLimits, pause

LATELY: Final = 120.0
"""Seconds for which a word holds. For a site that is down they begin when it may be asked again."""
_SWEEP: Final = 5.0
"""How often the forgotten ones are looked for: in a crawl over dead domains they are many."""


class Troubles:
    def __init__(self, limits: BreakerLimits) -> None:
        self._limits = limits
        self._known: dict[str, tuple[WorstBreaker, float]] = {}
        self._down = 0
        self._worst: str | None = None
        self._swept_at = 0.0

    def note(self, site: Site, now: float) -> None:
        """How the site was left by its holder, or found."""
        breaker = site.breaker
        if not breaker.failures:
            if self._known:
                self._forget(site.key)
            return
        self._forget(site.key)
        if site.set_aside:
            return
        is_open = breaker.state is not BreakerState.CLOSED
        wait = pause(breaker.openings, self._limits) if is_open else 0.0
        failures = breaker.failures + max(breaker.openings - 1, 0)
        until = max(now, breaker.probe_at if is_open else now) + LATELY
        trouble = WorstBreaker(wait, failures, is_open)
        self._known[site.key] = trouble, until
        self._down += is_open
        if self._worst is not None and trouble > self._known[self._worst][0]:
            self._worst = site.key

    def down(self, now: float) -> int:
        """How many sites are down."""
        self._sweep(now)
        return self._down

    def worst(self, now: float, held: Iterable[Site] = ()) -> WorstBreaker:
        """`held` are the sites of this worker as they are now: the worst may be one that is just being probed."""
        self._sweep(now)
        if not self._known:
            return WorstBreaker()
        key = self._worst = self._worst or max(self._known, key=lambda key: self._known[key][0])
        worst, _ = self._known[key]
        probed = worst.is_open and any(
            site.key == key and site.breaker.state is BreakerState.HALF_OPEN for site in held
        )
        return replace(worst, is_probed=probed)

    def _sweep(self, now: float) -> None:
        if 0.0 <= now - self._swept_at < _SWEEP:
            return
        self._swept_at = now
        for key in [key for key, (_, until) in self._known.items() if until < now]:
            self._forget(key)

    def _forget(self, key: str) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._down -= known[0].is_open
            if key == self._worst:
                self._worst = None  # the next who asks has to look at all of them
