"""Make the flips that `plan` tells of, and no others: what is owed ends, what was refused is owed.

Each is written down before it is done, as a decision with its rule, so that it can be explained and planned back. After
a kill, the same plan tells of those that are left.
"""

from msgspec import Struct

from outrider.errors import ConfigError
from outrider.model.event import Event, UrlDismissed, UrlReplayed
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.record import Decision, Record
from outrider.model.url import Url
from outrider.ops.plan import Change, Flip, Kind, Notes, flips
from outrider.ops.walks import walking
from outrider.ports import EventSink, OwesAgain, Records, TakesOrders
from outrider.stores.registry import FrontierStore

AT_ONCE = 500
BY = "plan"
"""Who decided, in the records."""


class Applied(Struct, rename="camel"):
    """How many ended as refused, and how many are owed. `left` were not: somebody else acted on them meanwhile."""

    refused: int = 0
    owed: int = 0
    left: int = 0


class Hands(Struct, frozen=True):
    """The stores to act upon; `records` must be open for writing. `by` is told with each event, `at` with all."""

    frontier: FrontierStore
    records: Records
    events: EventSink
    by: str
    at: float


async def apply_flips(hands: Hands, change: Change) -> Applied:
    """Raises `ConfigError` for a frontier that cannot end and owe URLs by name."""
    frontier = hands.frontier
    if not isinstance(frontier, OwesAgain) or not isinstance(frontier, TakesOrders):
        raise ConfigError("this frontier cannot owe a URL again, or dismiss one: a plan for it can only be looked at")
    applied = Applied()
    waiting: dict[Kind, list[Flip]] = {Kind.REFUSED: [], Kind.OWED: []}
    async with walking(flips(frontier, hands.records, change, Notes())) as found:
        async for flip in found:
            if flip.kind is Kind.FETCHED:
                break  # they come last, and nothing is un-fetched
            waiting[flip.kind].append(flip)
            if len(waiting[Kind.REFUSED]) >= AT_ONCE:
                await _refuse(hands, waiting[Kind.REFUSED], applied)
            if len(waiting[Kind.OWED]) >= AT_ONCE:
                await _owe(hands, waiting[Kind.OWED], applied)
    await _refuse(hands, waiting[Kind.REFUSED], applied)
    await _owe(hands, waiting[Kind.OWED], applied)
    return applied


async def _refuse(hands: Hands, some: list[Flip], applied: Applied) -> None:
    if not some:
        return
    assert isinstance(hands.frontier, TakesOrders)  # noqa: S101 - asked at the beginning
    await hands.records.write([Record(decisions=tuple(_decision(flip, hands.at) for flip in some))])
    done = await hands.frontier.dismiss([(flip.url, flip.reason) for flip in some])
    ours = [flip for flip, was in zip(some, done, strict=True) if was]
    told: list[Event] = [
        UrlDismissed(at=hands.at, url=flip.url, site=flip.site, reason=flip.reason, by=hands.by) for flip in ours
    ]
    await hands.events.publish(told)
    applied.refused += len(ours)
    applied.left += len(some) - len(ours)
    some.clear()


async def _owe(hands: Hands, some: list[Flip], applied: Applied) -> None:
    if not some:
        return
    assert isinstance(hands.frontier, OwesAgain)  # noqa: S101 - asked at the beginning
    count = await hands.frontier.owe_again([flip.task for flip in some if flip.task is not None], ended=True)
    ours = some if count == len(some) else [flip for flip in some if await _is_owed(hands.frontier, flip.url)]
    told: list[Event] = [
        UrlReplayed(at=hands.at, url=flip.url, site=flip.site, reason=flip.was or Reason.DISMISSED, by=hands.by)
        for flip in ours
    ]
    await hands.events.publish(told)
    applied.owed += count
    applied.left += len(some) - count
    some.clear()


async def _is_owed(frontier: FrontierStore, url: Url) -> bool:
    line = await frontier.find(url)
    return line is not None and line.state in {State.PENDING, State.WAITING}


def _decision(flip: Flip, at: float) -> Decision:
    parent = None if flip.task is None or flip.task.parent is None else str(flip.task.parent)
    return Decision(str(flip.url), BY, flip.reason, flip.rule, flip.evidence, at, parent)
