"""An operator says how a site is to be treated: the order is written, told as an event, and workers obey in a second.

Excluding also ends what the site owes, in batches: no worker has to find that out lease by lease.
"""

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import ConfigError
from outrider.model.event import Event, SiteOrdered, UrlDismissed
from outrider.model.ledger import Entry, Filter, Search, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ports import Browsable, EventSink, Frontier, Ledger, TakesOrders

LONGEST: Final = 86_400.0
_AT_ONCE: Final = 4_000
_OWED: Final = (State.PENDING, State.WAITING)


class Act(StrEnum):
    """`delay` without seconds takes the operator's delay back."""

    PAUSE = "pause"
    RESUME = "resume"
    EXCLUDE = "exclude"
    INCLUDE = "include"
    DELAY = "delay"


class Operable(Frontier, Ledger, TakesOrders, Protocol):
    """A frontier that can be looked into and takes orders."""


class Ordered(Struct, frozen=True):
    """What stands from now on, and how many URLs ended by it."""

    order: SiteOrder
    dismissed: int = 0


def operable(frontier: object) -> Operable:
    """Raises `ConfigError` for a frontier of somebody else's making that takes no orders."""
    if not (isinstance(frontier, TakesOrders) and hasattr(frontier, "entries")):
        raise ConfigError(f"{type(frontier).__name__} takes no orders: operators cannot act on it")
    return frontier  # type: ignore[return-value]  # a frontier store, which the caller has opened as one


def revised(before: SiteOrder, act: Act, at: float, delay: float | None = None) -> SiteOrder:
    """The order after one more act: whatever else was said about the site still stands. Raises `ConfigError`."""
    order = replace(before, at=at)
    match act:
        case Act.PAUSE | Act.RESUME:
            return replace(order, paused=act is Act.PAUSE)
        case Act.EXCLUDE | Act.INCLUDE:
            return replace(order, excluded=act is Act.EXCLUDE)
        case Act.DELAY:
            if delay is not None and not 0.0 <= delay <= LONGEST:
                raise ConfigError(f"a delay of {delay:g} s: expected 0 to {LONGEST:g}")
            return replace(order, delay=delay)


async def standing_order(frontier: TakesOrders, site: str) -> SiteOrder:
    """One that asks for nothing where nothing was said."""
    return next((order for order in await frontier.orders() if order.site == site), SiteOrder(site))


async def act_on_site(
    frontier: Operable, events: EventSink, act: Act, site: str, *, by: str, now: float, delay: float | None = None
) -> Ordered:
    order = revised(await standing_order(frontier, site), act, now, delay)
    return Ordered(order, await order_site(frontier, events, order, by))


async def order_site(frontier: Operable, events: EventSink, order: SiteOrder, by: str) -> int:
    """How many URLs were ended by it. It may be repeated: what has ended is left alone."""
    await frontier.order(order)
    await events.publish(
        [
            SiteOrdered(
                at=order.at,
                site=order.site,
                paused=order.paused,
                excluded=order.excluded,
                delay=order.delay,
                by=by,
            )
        ]
    )
    return await dismiss_site(frontier, events, order.site, order.at, by) if order.excluded else 0


async def dismiss_site(frontier: Operable, events: EventSink, site: str, at: float, by: str) -> int:
    """End all that the site owes now, as `excluded_site`; how many."""
    count = 0
    async for entries in _owed(frontier, site):
        for start in range(0, len(entries), _AT_ONCE):
            urls = [(entry.url, Reason.EXCLUDED_SITE) for entry in entries[start : start + _AT_ONCE]]
            gone = await dismissed(frontier, events, urls, at=at, by=by, sites=[site] * len(urls))
            count += len(gone)
    return count


async def dismissed(
    frontier: TakesOrders,
    events: EventSink,
    urls: Sequence[tuple[Url, Reason]],
    *,
    sites: Sequence[str],
    at: float,
    by: str,
) -> list[Url]:
    """Dismiss them, and tell it of those that were; `sites` are theirs, in order."""
    answers = await frontier.dismiss(urls)
    told: list[Event] = [
        UrlDismissed(at=at, url=url, site=site, reason=reason, by=by)
        for (url, reason), site, was in zip(urls, sites, answers, strict=True)
        if was
    ]
    await events.publish(told)
    return [url for (url, _), was in zip(urls, answers, strict=True) if was]


async def _owed(frontier: Operable, site: str) -> AsyncIterator[list[Entry]]:
    """Many at a time: a store that has no index of what is owed looks through the queue once for all of them."""
    if isinstance(frontier, Browsable):
        for state in _OWED:
            after: str | None = None
            while True:
                found = await frontier.browse(Search(state=state, site=site), after, most=_AT_ONCE)
                if found.entries:
                    yield list(found.entries)
                after = found.after
                if after is None:
                    break
        return
    gathered: list[Entry] = []
    async for entries in frontier.entries(Filter(site=site)):
        gathered += [entry for entry in entries if entry.state in _OWED]
        if len(gathered) >= _AT_ONCE:
            yield gathered
            gathered = []
    if gathered:
        yield gathered
