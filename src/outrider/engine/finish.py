"""Is the crawl over, and why? Decided from what the frontier and the workers say; pure."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from outrider.model.ledger import Census

UP_TO_DATE_AFTER: Final = 600.0
"""A crawl that looks again at its pages ends when the next look is further away than this."""


class Finish(StrEnum):
    FINISHED = "finished"
    UP_TO_DATE = "up_to_date"
    MAX_PAGES = "max_pages"
    SIZE_LIMIT = "size_limit"
    TIME_LIMIT = "time_limit"
    SEEDS_UNREACHABLE = "seeds_unreachable"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    BROKEN = "broken"


class Standing(Struct, frozen=True):
    """How it stands. `next_at`: when the first of the idle workers could do something, None when nothing is owed.

    `answers` counts visits, of this run, to which anything at all came back; `tried` all of them. What is `endless`
    waits for others to bring work, and ends only when it is told to. `held_back`: an operator has paused a site that
    has something to do.
    """

    census: Census
    now: float
    all_idle: bool
    next_at: float | None
    tried: int
    answers: int
    is_new: bool
    recrawls: bool
    endless: bool = False
    ends_at: float | None = None
    exhausted: Finish | None = None
    held_back: bool = False


def finish(standing: Standing) -> Finish | None:
    """None: go on. The frontier's own count is what proves the end (no pending, no waiting, nothing leased)."""
    if standing.ends_at is not None and standing.now >= standing.ends_at:
        return Finish.TIME_LIMIT
    if standing.exhausted is not None:
        return standing.exhausted
    if standing.endless:
        return None
    if standing.census.is_finished and not standing.census.leased:
        return Finish.FINISHED
    if not standing.all_idle or standing.next_at is None or standing.held_back:
        return None
    away = standing.next_at - standing.now
    if standing.recrawls and not standing.census.pending and away > UP_TO_DATE_AFTER:
        return Finish.UP_TO_DATE
    if standing.is_new and standing.tried and not standing.answers and away > 1.0:
        return Finish.SEEDS_UNREACHABLE
    return None
