"""What would other settings mean for a crawl, and how do they come into force? Two sets of settings in, a plan out."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.app.directory import BINDING, CrawlDirectory
from outrider.app.operate import Sources, open_operated
from outrider.app.why import terms_of
from outrider.clock import SystemClock
from outrider.errors import ConfigError
from outrider.model.url import Url
from outrider.observe.status_file import is_running, whole_status
from outrider.ops.plan import Change, Plan, plan_of
from outrider.ops.plan_apply import Applied, Hands, apply_flips
from outrider.ports import TakesOrders
from outrider.settings import Settings
from outrider.settings.describe import shown
from outrider.stores.records import open_records
from outrider.stores.registry import FrontierStore

BY: Final = "outrider plan --apply"
_PLACES: Final = frozenset({"frontier", "records"})


class Changed(Struct, frozen=True):
    """One setting, as one would write it."""

    key: str
    before: str
    after: str


def changes(before: Settings, after: Settings) -> list[Changed]:
    """Where the stores are is no rule: those are named to be found."""
    keys = [key for key in Settings.model_fields if key not in _PLACES]
    pairs = [(key, getattr(before, key), getattr(after, key)) for key in keys]
    return [Changed(key, shown(key, one), shown(key, other)) for key, one, other in pairs if one != other]


def refuse_unplannable(changed: Sequence[Changed]) -> None:
    """Raises `ConfigError` for keys that what is known rests on: no URL can be judged under two of their values."""
    bound = [one for one in changed if one.key in BINDING]
    if bound:
        told = "; ".join(f"{one.key} is {one.before}, not {one.after}" for one in bound)
        raise ConfigError(
            f"{told}: this cannot be planned, because the frontier was made under it; "
            "only a crawl that is begun anew (outrider crawl --fresh) can have another"
        )


async def change_of(before: Settings, after: Settings, seeds: Sequence[Url], frontier: FrontierStore) -> Change:
    """Where the rules are the same, the ledger is judged by them."""
    old, new = terms_of(before, seeds), terms_of(after, seeds)
    orders = await frontier.orders() if isinstance(frontier, TakesOrders) else []
    excluded = frozenset(order.site for order in orders if order.excluded)
    return Change(new, None if old == new else old, excluded)


async def planned(before: Settings, after: Settings, sources: Sources, examples: int) -> tuple[Plan, bool]:
    """The plan, and whether any rule changes at all. Raises what the stores raise."""
    async with open_operated(before, sources) as place:
        change = await change_of(before, after, sources.seeds, place.frontier)
        plan = await plan_of(place.frontier, place.records, change, examples=examples)
    return plan, change.before is not None


async def applied(before: Settings, after: Settings, sources: Sources, home: CrawlDirectory) -> Applied:
    """Make the flips, then let the directory say so: whoever is killed in between finds the rest planned still.

    The directory must be held.
    """
    async with _open_hands(before, sources) as hands:
        change = await change_of(before, after, sources.seeds, hands.frontier)
        done = await apply_flips(hands, change)
    home.remember(after, [])
    return done


def refuse_running(home: CrawlDirectory) -> None:
    """Raises `ConfigError` while the crawl runs: its workers judge by the rules that they began with."""
    written = whole_status(home.status)
    if written is not None and is_running(written):
        raise ConfigError(
            f"{home.path}: the crawl runs (process {written.pid}), under the rules that it began with; "
            "stop it, apply the plan, and go on"
        )


@asynccontextmanager
async def _open_hands(settings: Settings, sources: Sources) -> AsyncIterator[Hands]:
    """Decisions are written beside those of the crawl; without records, nowhere."""
    async with open_operated(settings, sources) as place:
        hands = Hands(place.frontier, place.records, place.events, BY, SystemClock().now())
        if not place.has_records or sources.records is None:
            yield hands
            return
        async with open_records(sources.records) as records:
            yield replace(hands, records=records)
