"""A site while it is ours. Every request takes its turn here: pages, hops, tries, robots.txt and probes alike.

Nobody else talks to the site meanwhile (one site, one holder), so this is a value and the waiting that it asks for.
"""

from outrider.model.site import Site
from outrider.policy.pace import completed, ready_at, reserve
from outrider.ports import Clock


class Hold:
    """`site` is replaced as decisions are made; whoever settles writes the last one back. `until` ends the lease."""

    def __init__(self, site: Site, clock: Clock, until: float) -> None:
        self.site = site
        self.until = until
        self.requests = 0
        self._clock = clock

    @property
    def time_left(self) -> float:
        return self.until - self._clock.now()

    async def turn(self) -> None:
        """Wait until the site may be asked again. The place is taken before the wait, so that two visits queue up."""
        now = self._clock.now()
        at = max(now, ready_at(self.site))
        self.site = reserve(self.site, at)
        self.requests += 1
        if at > now:
            await self._clock.sleep(at - now)

    def answered(self) -> None:
        self.site = completed(self.site, self._clock.now())
