"""Whose turn is it? Longest overdue first, then by name, so that two stores lend alike.

The oracle of every frontier: whatever a backend does in SQL or Lua, for the same sites and the same moment it lends
what this function lends.
"""

from collections.abc import Iterable
from heapq import nsmallest

from msgspec import Struct

from outrider.model.site import Site
from outrider.model.task import Task


class Turn(Struct, frozen=True):
    """A site that may be lent now, with the tasks to show."""

    site: Site
    tasks: tuple[Task, ...]
    ready_at: float


def select(queues: Iterable[tuple[Site, Iterable[Task]]], now: float, *, sites: int, tasks: int) -> list[Turn]:
    """Up to `sites` turns of up to `tasks` tasks. `queues` holds only sites that nobody holds."""
    ready = (turn for site, queue in queues if (turn := turn_of(site, queue, now, tasks)))
    return nsmallest(sites, ready, key=lambda turn: (turn.ready_at, turn.site.key))


def turn_of(site: Site, queue: Iterable[Task], now: float, most: int) -> Turn | None:
    """None while the site must be left alone, or owes nothing yet."""
    if site.set_aside or site.excluded or site.not_before > now:
        return None
    due = [task for task in queue if task.due_at <= now]
    if not due:
        return None
    first_due = min(task.due_at for task in due)
    return Turn(site, tuple(nsmallest(most, due, key=order)), max(site.not_before, first_due))


def order(task: Task) -> tuple[int, float, int]:
    """Priority, then due time, then first come (C20)."""
    return -task.priority, task.due_at, task.sequence
