"""What does an operator's order mean for a site now, for its pace, and for its tasks? No order means: as usual.

The law: an order never makes us ask sooner than robots.txt, a 429 or a gap that was promised already allow.
"""

from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.settlement import Skip
from outrider.model.site import Site
from outrider.policy.pace import PaceLimits, TooSlow, heed_crawl_delay

LOOK_AGAIN: Final = 3.0
"""How long a paused site is left alone before somebody looks whether it still is: one lease, and no request."""
BY_ORDER: Final = "an operator has excluded it"


class Welcome(Struct, frozen=True):
    """Nothing is said against asking."""


class Silence(Struct, frozen=True):
    """Left alone, at least until then; what it owes stays owed."""

    until: float


class Banned(Struct, frozen=True):
    """Nothing of it is visited any more: this is what becomes of its tasks."""

    skip: Skip


Treatment: TypeAlias = Welcome | Silence | Banned

_WELCOME: Final = Welcome()
_BANNED: Final = Banned(Skip(Reason.EXCLUDED_SITE, BY_ORDER))


def treatment(order: SiteOrder | None, now: float) -> Treatment:
    """How its holder treats the site. Excluded and paused is excluded: what nobody visits need not wait."""
    if order is None or not (order.paused or order.excluded):
        return _WELCOME
    return _BANNED if order.excluded else Silence(now + LOOK_AGAIN)


def paced(limits: PaceLimits, order: SiteOrder | None) -> PaceLimits:
    """With the operator's delay in place of the setting's; without an order, the setting's is back."""
    return limits if order is None or order.delay is None else replace(limits, delay=order.delay)


def slowed(site: Site, order: SiteOrder | None) -> Site:
    """The site before a request. A longer delay counts from the last request on; a shorter one waits for robots.txt."""
    if order is None or order.delay is None or order.delay <= site.pace.base:
        return site
    wider = heed_crawl_delay(site, None, PaceLimits(delay=order.delay))
    return site if isinstance(wider, TooSlow) else wider
