"""Is it them or us? Remembers what was heard of which site lately, and asks `policy.network` (C4)."""

from collections import OrderedDict
from typing import Final

from outrider.model.outcome import Failed, Visit
from outrider.model.reason import Reason
from outrider.policy.network import NetworkLimits, is_our_network

_SILENCE: Final = frozenset({Reason.DNS_FAILURE, Reason.CONNECT_TIMEOUT, Reason.CONNECT_FAILED})
"""What a cable that was pulled looks like. A refusal, a reset or "no such name" is an answer: somebody was reached."""


class Brake:
    """`is_on` while our own network seems to be down: nothing is asked then, and nobody is blamed.

    `on_trial`: a few sites are asked all the same, to find out whether it is back.
    """

    def __init__(self, limits: NetworkLimits) -> None:
        self._limits = limits
        self._heard: OrderedDict[str, tuple[float, bool]] = OrderedDict()
        self._unreachable = 0
        self._deaf_until = 0.0
        self.is_on = False
        self.on_trial = False

    def hear(self, site: str, visit: Visit) -> None:
        """After each visit that made a request."""
        alive = is_sign_of_life(visit)
        self._forget(site)
        self._heard[site] = visit.ended_at, alive
        self._unreachable += not alive
        while self._heard:
            oldest, (at, _) = next(iter(self._heard.items()))
            if visit.ended_at - at <= self._limits.window:
                break
            self._forget(oldest)
        if alive and self.is_on:
            self.release()
        elif visit.ended_at >= self._deaf_until and is_our_network(
            self._unreachable, len(self._heard) - self._unreachable, self._limits
        ):
            self.is_on = True

    def release(self) -> None:
        """Somebody answered: what was heard before says nothing about now."""
        self._heard.clear()
        self._unreachable = 0
        self.is_on = False

    def ignore(self, until: float) -> None:
        """It has lasted too long to be our network: let each site answer for itself until then."""
        self._deaf_until = until
        self.release()

    def _forget(self, site: str) -> None:
        known = self._heard.pop(site, None)
        if known is not None:
            self._unreachable -= not known[1]


def is_sign_of_life(visit: Visit) -> bool:
    """Did anything come back from anywhere?"""
    return not isinstance(visit.outcome, Failed) or visit.outcome.failure.reason not in _SILENCE
