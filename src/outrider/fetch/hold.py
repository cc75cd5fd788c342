"""A site while it is ours. Every request takes its turn here: pages, hops, tries, robots.txt and probes alike.

Nobody else talks to the site meanwhile (one site, one holder), so this is a value and the waiting that it asks for.
"""

from outrider.errors import LeaseLost
from outrider.model.site import Site
from outrider.policy.pace import completed, ready_at, reserve
from outrider.ports import Clock


class _Held:
    """What all visits of one holder share."""

    __slots__ = ("booked", "is_lent", "quiet_until", "site", "until")

    def __init__(self, site: Site, until: float, *, is_lent: bool) -> None:
        self.site = site
        self.until = until
        self.is_lent = is_lent
        self.booked = 0.0
        self.quiet_until = 0.0


class Hold:
    """`site` is replaced as decisions are made; whoever settles writes the last one back. `until` ends the lease.

    A site that `is_lent` belongs to somebody else from then on: nobody gets a turn any more. Without a lender `until`
    is only how long we would go on trying. `requests` are those made through this object, not those of visits that
    count apart.
    """

    __slots__ = ("_clock", "_held", "requests")

    def __init__(self, site: Site, clock: Clock, until: float, *, is_lent: bool = False) -> None:
        self._held = _Held(site, until, is_lent=is_lent)
        self._clock = clock
        self.requests = 0

    def counting_apart(self) -> "Hold":
        """The same hold of the same site, with its own count: for one of several visits at once."""
        apart = Hold.__new__(Hold)
        apart._held, apart._clock, apart.requests = self._held, self._clock, 0  # noqa: SLF001 - our own kind
        return apart

    @property
    def site(self) -> Site:
        return self._held.site

    @site.setter
    def site(self, site: Site) -> None:
        self._held.site = site

    @property
    def until(self) -> float:
        return self._held.until

    @until.setter
    def until(self, until: float) -> None:
        self._held.until = until

    def time_left(self, site: Site) -> float:
        """Until the lease ends, if the site were in this state; 0 when its next turn would come after that."""
        return self.until - self._clock.now() if ready_at(site) < self.until else 0.0

    async def turn(self) -> None:
        """Wait until the site may be asked again. The place is taken before the wait, so that two visits queue up.

        A site that asks for silence while we wait (a 429 to another visit) takes our place back: we queue up again.
        Raises `LeaseLost` when the lease ends before that: the line to its lender may be cut, and another has the site.
        """
        held = self._held
        while True:
            now = self._clock.now()
            at = max(now, ready_at(held.site))
            held.site = site = reserve(held.site, at)
            held.booked = ready_at(site)
            if at > now:
                await self._clock.sleep(at - now)
                # Places taken here have moved the site's next turn just as far as booked; whatever is beyond is
                # silence, and is remembered for those who wait behind us.
                if ready_at(held.site) > held.booked:
                    held.quiet_until = ready_at(held.site)
                if self._clock.now() < held.quiet_until:
                    continue
            if held.is_lent and self._clock.now() >= held.until:
                raise LeaseLost(f"{held.site.key}: its lease ended before its turn came")
            self.requests += 1
            return

    def answered(self) -> None:
        """The answer is there, or will not come: the pause before the next request begins."""
        held = self._held
        held.site = site = completed(held.site, self._clock.now())
        held.booked = max(held.booked, ready_at(site))
