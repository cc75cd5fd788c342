"""When is a fetched page worth another look? About as often as it was seen to change, within bounds.

The rate is estimated from what regular looks can show: each look says only *whether* it changed since the last one,
so `-log(unchanged share)` per interval is used instead of `changes / time`, with half a look added on both sides so
that "always" and "never" stay finite (Cho and Garcia-Molina, Estimating frequency of change, 2003). Old looks fade.
"""

from math import log
from typing import Final

from msgspec import Struct

from outrider.model.task import Changes

_MEMORY: Final = 0.9
"""What a past look weighs after each new one: about the last ten count."""


class RecrawlRules(Struct, frozen=True):
    first: float = 86_400.0
    least: float = 3_600.0
    most: float = 2_592_000.0
    tombstone_after: int = 3


def looked(changes: Changes, since_last: float, *, changed: bool) -> Changes:
    """Remember one look, `since_last` seconds after the one before it."""
    return Changes(
        looks=changes.looks * _MEMORY + 1.0,
        changed=changes.changed * _MEMORY + float(changed),
        watched=changes.watched * _MEMORY + max(0.0, since_last),
    )


def missed(changes: Changes) -> Changes:
    """The page was not there (404, 410)."""
    return Changes(changes.looks, changes.changed, changes.watched, changes.gone + 1)


def is_gone(changes: Changes, rules: RecrawlRules) -> bool:
    """One 404 may be an accident; several in a row are a fact."""
    return changes.gone >= rules.tombstone_after


def interval(changes: Changes, rules: RecrawlRules) -> float:
    """Seconds until the next look."""
    if changes.looks == 0.0 or changes.watched == 0.0:
        return min(max(rules.first, rules.least), rules.most)
    unchanged = (changes.looks - changes.changed + 0.5) / (changes.looks + 0.5)
    mean_gap = changes.watched / changes.looks
    rate = -log(unchanged) / mean_gap if unchanged < 1.0 else 0.0
    if rate == 0.0:
        # Never seen to change: look less and less often.
        return min(max(2.0 * mean_gap, rules.least), rules.most)
    return min(max(1.0 / rate, rules.least), rules.most)
