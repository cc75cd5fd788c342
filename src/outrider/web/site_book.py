"""Which sites are there, and in what order? A snapshot of all of them, so that sorting costs no store anything.

It is renewed behind the scenes, seldom enough that looking costs a small part of the time. It is bounded: of a frontier
with more sites, those beyond are left out, and that is said.
"""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import ConfigError
from outrider.model.order import SiteOrder
from outrider.ports import Browsable, TakesOrders
from outrider.web.rows import order_shown, row_of_site, with_state
from outrider.web.shapes import Counted, SitePage, SiteRow, SiteState, Trouble

MOST_SITES: Final = 200_000
_FRESH: Final = 3.0
"""Seconds for which a snapshot is new enough."""
_SHARE: Final = 10.0
"""So many times as long as a snapshot took, the next one waits."""
_ORDERS_KEPT: Final = 8

_URGENCY: Final = {state: number for number, state in enumerate(SiteState)}
SORTS: Final[Mapping[str, Callable[[SiteRow], Any]]] = {
    "name": lambda row: row.key,
    "owed": lambda row: row.pending + row.waiting,
    "pending": lambda row: row.pending,
    "waiting": lambda row: row.waiting,
    "fetched": lambda row: row.fetched,
    "delay": lambda row: row.interval,
    "ready": lambda row: row.ready_at,
    "state": lambda row: _URGENCY[row.state],
    "failures": lambda row: row.breaker.failures,
    "trouble": lambda row: row.trouble.at if row.trouble is not None else 0.0,
}
"""By which sites are ordered; with a minus in front, the greatest first. Equal ones are ordered by name."""


class SiteQuery(Struct, frozen=True):
    """`text` is a part of the name."""

    sort: str = "-owed"
    text: str = ""
    state: SiteState | None = None


class SiteBook:
    def __init__(
        self, frontier: object, now: Callable[[], float], troubles: Callable[[], Mapping[str, Trouble]]
    ) -> None:
        self._frontier = frontier
        self._now = now
        self._troubles = troubles
        self._rows: dict[str, SiteRow] = {}
        self._states: Counter[SiteState] = Counter()
        self._at = float("-inf")
        self._next_at = float("-inf")
        self._is_cut = False
        self._renewal: asyncio.Task[None] | None = None
        self._ordered: OrderedDict[SiteQuery, Sequence[SiteRow]] = OrderedDict()

    async def page(self, query: SiteQuery, after: str | None, limit: int) -> SitePage:
        """Raises `ConfigError` for an order that there is none by, and for an `after` that is not ours."""
        if query.sort.removeprefix("-") not in SORTS:
            raise ConfigError(f"sort = {query.sort!r}: expected one of {', '.join(SORTS)}, or one of them behind a -")
        start = _place(after)
        await self._renewed()
        found = self._found(query)
        end = start + limit
        return SitePage(
            rows=tuple(found[start:end]),
            found=len(found),
            known=len(self._rows),
            at=max(self._at, 0.0),
            after=str(end) if end < len(found) else None,
            is_cut=self._is_cut,
            states=tuple(Counted(state.value, count) for state in SiteState if (count := self._states[state])),
        )

    async def count(self, *states: SiteState) -> int:
        await self._renewed()
        return sum(self._states[state] for state in states)

    async def row(self, key: str) -> SiteRow | None:
        await self._renewed()
        return self._rows.get(key)

    def obey(self, order: SiteOrder) -> None:
        """Show at once what somebody has just ordered."""
        row = self._rows.get(order.site)
        if row is not None:
            self._rows[order.site] = with_state(replace(row, order=order_shown(order)), self._now())
            self._count_states()

    async def settled(self) -> None:
        """Until no snapshot is under way any more."""
        if self._renewal is not None:
            await asyncio.wait([self._renewal])

    async def close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            await self.settled()

    async def _renewed(self) -> None:
        """The first snapshot is waited for; later ones are made while the one before is shown."""
        self._take_up()
        if self._renewal is None and self._now() >= self._next_at:
            self._renewal = asyncio.create_task(self._renew())
        if self._at == float("-inf") and (renewal := self._renewal) is not None:
            await self.settled()
            self._take_up()
            renewal.result()

    def _take_up(self) -> None:
        """A store that broke meanwhile is told to whoever asks next."""
        if self._renewal is not None and self._renewal.done():
            done, self._renewal = self._renewal, None
            done.result()

    async def _renew(self) -> None:
        started = self._now()
        orders: dict[str, SiteOrder] = {}
        if isinstance(self._frontier, TakesOrders):
            orders = {order.site: order for order in await self._frontier.orders()}
        rows: dict[str, SiteRow] = {}
        is_cut = False
        if isinstance(self._frontier, Browsable):
            troubles = self._troubles()
            async for lines in self._frontier.survey():
                now = self._now()
                for line in lines:
                    key = line.site.key
                    rows[key] = row_of_site(line, orders.get(key), troubles.get(key), now)
                if len(rows) >= MOST_SITES:
                    is_cut = True
                    break
                await asyncio.sleep(0)  # others are answered meanwhile
        self._rows, self._is_cut = rows, is_cut
        self._count_states()
        self._at = self._now()
        self._next_at = self._at + max(_FRESH, _SHARE * (self._at - started))

    def _count_states(self) -> None:
        self._states = Counter(row.state for row in self._rows.values())
        self._ordered.clear()

    def _found(self, query: SiteQuery) -> Sequence[SiteRow]:
        """Sorted once for each snapshot: who turns the pages of a long list does not sort it again."""
        if query in self._ordered:
            self._ordered.move_to_end(query)
            return self._ordered[query]
        text = query.text.lower()
        found = [
            row
            for row in self._rows.values()
            if (not text or text in row.key) and (query.state is None or row.state is query.state)
        ]
        found.sort(key=SORTS["name"])
        found.sort(key=SORTS[query.sort.removeprefix("-")], reverse=query.sort.startswith("-"))
        self._ordered[query] = found
        if len(self._ordered) > _ORDERS_KEPT:
            self._ordered.popitem(last=False)
        return found


def _place(after: str | None) -> int:
    if after is None or after == "":
        return 0
    if not after.isascii() or not after.isdigit() or len(after) > 9:
        raise ConfigError(f"after = {after!r}: is not of this list's making")
    return int(after)
