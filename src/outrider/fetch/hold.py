"""A site while it is ours. Every request takes its turn here: pages, hops, tries, robots.txt and probes alike.

Nobody else talks to the site meanwhile (one site, one holder), so this is a value and the waiting that it asks for.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from outrider.errors import LeaseLost
from outrider.fetch.timesheet import Timesheet
from outrider.model.activity import Activity
from outrider.model.asked import Asked, RobotsAnswer, Traffic
from outrider.model.order import SiteOrder
from outrider.model.robots import RobotsFile
from outrider.model.site import Site
from outrider.policy.orders import Welcome, slowed, treatment
from outrider.policy.pace import completed, ready_at, reserve
from outrider.ports import Clock

_NO_ORDERS: Final[Mapping[str, SiteOrder]] = MappingProxyType({})
_TICK: Final = 0.001
_GRAIN: Final = 1e-6
"""Seconds since 1970 are no more exact than about that."""


class SiteSilenced(LeaseLost):
    """An operator wants the site left alone: drop the work. It is still ours, to be given back."""


class Turn(Struct, frozen=True):
    """One request's place: it is sent `at` a moment that is `not_before` that of its place, to the site as it was."""

    at: float
    not_before: float
    number: int
    site: Site


class _Held:
    """What all visits of one holder share."""

    __slots__ = (
        *("booked", "is_lent", "manners", "number", "orders", "quiet_until", "requests", "robots", "site", "until"),
    )

    def __init__(
        self, site: Site, until: float, orders: Mapping[str, SiteOrder], *, is_lent: bool, manners: str
    ) -> None:
        self.site = site
        self.until = until
        self.orders = orders
        self.is_lent = is_lent
        self.booked = 0.0
        self.quiet_until = 0.0
        self.manners = manners
        self.number = 0
        self.requests: list[Asked] = []
        self.robots: list[RobotsAnswer] = []


class Hold:
    """`site` is replaced as decisions are made; whoever settles writes the last one back. `until` ends the lease.

    A site that `is_lent` belongs to somebody else from then on: nobody gets a turn any more. Without a lender `until`
    is only how long we would go on trying. `requests` are those made through this object, not those of visits that
    count apart; `visit` is the name of the visit that they are made for, and `manners` of what we are held to. `sheet`
    is that of the visitor whose time it takes. `orders`, by site, may change while it is ours.
    """

    __slots__ = ("_clock", "_held", "requests", "sheet", "visit")

    def __init__(
        self,
        site: Site,
        clock: Clock,
        until: float,
        *,
        is_lent: bool = False,
        manners: str = "",
        orders: Mapping[str, SiteOrder] = _NO_ORDERS,
    ) -> None:
        self._held = _Held(site, until, orders, is_lent=is_lent, manners=manners)
        self._clock = clock
        self.requests = 0
        self.visit = ""
        self.sheet = Timesheet(clock)

    def counting_apart(self, visit: str | None = None, sheet: Timesheet | None = None) -> "Hold":
        """The same hold of the same site, with its own count: for one of several visits at once."""
        apart = Hold.__new__(Hold)
        apart._held, apart._clock, apart.requests = self._held, self._clock, 0  # noqa: SLF001 - our own kind
        apart.visit = self.visit if visit is None else visit
        apart.sheet = self.sheet if sheet is None else sheet
        return apart

    @property
    def site(self) -> Site:
        return self._held.site

    @site.setter
    def site(self, site: Site) -> None:
        self._held.site = site

    @property
    def manners(self) -> str:
        return self._held.manners

    @property
    def until(self) -> float:
        return self._held.until

    @until.setter
    def until(self, until: float) -> None:
        self._held.until = until

    @property
    def order(self) -> SiteOrder | None:
        """What an operator has said about the site, as far as we have heard."""
        return self._held.orders.get(self._held.site.key)

    def time_left(self, site: Site) -> float:
        """Until the lease ends, if the site were in this state; 0 when its next turn would come after that."""
        return self.until - self._clock.now() if ready_at(site) < self.until else 0.0

    async def turn(self) -> Turn:
        """Wait until the site may be asked again. The place is taken before the wait, so that two visits queue up.

        A site that asks for silence while we wait (a 429 to another visit) takes our place back: we queue up again.
        Raises `LeaseLost` when the lease ends before that: the line to its lender may be cut, and another has the site;
        and `SiteSilenced` when an operator has forbidden it, before the wait or during it.
        """
        held = self._held
        while True:
            now = self._clock.now()
            self.sheet.lap(Activity.OTHER, now)
            self._obey(now)
            before = held.site
            at = max(now, ready_at(before), held.quiet_until)
            held.site = site = reserve(before, at)
            held.booked = ready_at(site)
            if at > now:
                await self._clock.sleep(at - now)
                while (early := at - self._clock.now()) > _GRAIN:
                    # Timers count milliseconds and may be a part of one early; a shared clock may have been set back.
                    await self._clock.sleep(max(early, _TICK))
                # Places taken here have moved the site's next turn just as far as booked; whatever is beyond is
                # silence, and is remembered for those who wait behind us.
                if ready_at(held.site) > held.booked:
                    held.quiet_until = ready_at(held.site)
                now = self._clock.now()
                self.sheet.lap(Activity.TURN, now)
                if now < held.quiet_until:
                    continue
                self._obey(now)
            if held.is_lent and now >= held.until:
                raise LeaseLost(f"{held.site.key}: its lease ended before its turn came")
            self.requests += 1
            held.number += 1
            return Turn(now, at, held.number, before)

    def _obey(self, now: float) -> None:
        order = self.order
        if order is None:
            return
        if not isinstance(treatment(order, now), Welcome):
            raise SiteSilenced(f"{order.site}: an operator wants it left alone")
        self._held.site = slowed(self._held.site, order)

    def answered(self) -> float:
        """The answer is there, or will not come: the pause before the next request begins now."""
        held, now = self._held, self._clock.now()
        held.site = site = completed(held.site, now)
        held.booked = max(held.booked, ready_at(site))
        return now

    def hush(self, until: float) -> None:
        """The site asked for silence: also who has a place before that waits, and takes another."""
        self._held.quiet_until = max(self._held.quiet_until, until)

    def note(self, asked: Asked) -> None:
        """For the record."""
        self._held.requests.append(asked)

    def note_robots(self, file: RobotsFile) -> None:
        self._held.robots.append(RobotsAnswer(self._held.site.key, file))

    def traffic(self) -> Traffic | None:
        """What was noted since this was last asked, by all visits of the site; None when there was nothing."""
        held = self._held
        if not held.requests and not held.robots:
            return None
        noted = Traffic(tuple(held.requests), tuple(held.robots))
        held.requests, held.robots = [], []
        return noted
