"""What have operators said? Heard once a second by every worker, and known by a look into a table ever after.

A store that is away changes nothing: what was heard last still stands.
"""

from collections.abc import Callable
from typing import Final

from outrider.errors import StoreUnavailable
from outrider.model.order import SiteOrder
from outrider.policy.orders import LOOK_AGAIN
from outrider.ports import Clock, Frontier, TakesOrders

EVERY: Final = 1.0
_LATELY: Final = 4 * LOOK_AGAIN
"""Whoever gave a paused site back in this time, and would have asked it, says so."""
_NAMED: Final = 3


class Orders:
    """`in_force` is the same table all the time, by site: whoever holds it sees what is heard later.

    `changed` is called when something is said that was not before.
    """

    def __init__(self, frontier: Frontier, clock: Clock, changed: Callable[[], None] | None = None) -> None:
        self._frontier = frontier
        self._clock = clock
        self._changed = changed
        self._silenced: dict[str, float] = {}
        self.in_force: dict[str, SiteOrder] = {}

    @property
    def excluded(self) -> frozenset[str]:
        return frozenset(site for site, order in self.in_force.items() if order.excluded)

    async def hear(self) -> None:
        if not isinstance(self._frontier, TakesOrders):
            return
        try:
            told = {order.site: order for order in await self._frontier.orders()}
        except StoreUnavailable:
            return
        if told != self.in_force:
            self.in_force.clear()
            self.in_force.update(told)
            if self._changed is not None:
                self._changed()

    async def keep_hearing(self) -> None:
        if not isinstance(self._frontier, TakesOrders):
            return
        while True:
            await self._clock.sleep(EVERY)
            await self.hear()

    def note_silence(self, site: str) -> None:
        """It has something to do, and was left alone."""
        self._silenced[site] = self._clock.now()

    @property
    def silenced(self) -> tuple[str, ...]:
        """Sites that would have been asked lately, were they not paused; a few of them."""
        since = self._clock.now() - _LATELY
        self._silenced = {
            site: at
            for site, at in self._silenced.items()
            if at >= since and (order := self.in_force.get(site)) is not None and order.paused
        }
        return tuple(sorted(self._silenced)[:_NAMED])
