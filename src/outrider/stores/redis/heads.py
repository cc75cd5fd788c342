"""Whose turn is it, over all buckets? The heads of each, merged as `policy.select` orders sites."""

from collections.abc import Iterable, Sequence
from heapq import merge as merged
from typing import Any

from msgspec import Struct

from outrider.model.settlement import Dead
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.policy.settle import expired, rested
from outrider.ports import FrontierRules
from outrider.stores.redis.accounts import Step, died, lapse_of, shown_again
from outrider.stores.redis.packing import Numbers, read_numbers, read_site, read_tasks


class Lapsed(Struct, frozen=True):
    """A lease that ran out, and that nobody has taken up yet."""

    site: Site
    token: int
    deadline: float
    tasks: tuple[Task, ...]


class Head(Struct, frozen=True, order=True):
    """A site that is ready, in the order of its turn. `is_last`: the bucket may hold more that were not looked at."""

    ready_at: float
    site: str
    bucket: int
    is_last: bool
    lapsed: Lapsed | None = None


def read_heads(bucket: int, reply: Sequence[Any], most: int) -> list[Head]:
    heads = reply[2:]
    return [
        Head(float(ready_at), name.decode(), bucket, place == most, _read_lapsed(name.decode(), lapsed))
        for place, (name, ready_at, lapsed) in enumerate(heads, start=1)
    ]


def merge(heads: Iterable[list[Head]], wanted: int) -> tuple[list[Head], bool]:
    """The first `wanted`, and whether they are all there is. Stops where a bucket has more than was looked at."""
    chosen: list[Head] = []
    in_turn = merged(*heads, key=lambda head: (head.ready_at, head.site))
    for head in in_turn:
        chosen.append(head)
        if head.is_last or len(chosen) == wanted:
            return chosen, False
    return chosen, True


def recovery_of(lapsed: Lapsed, rules: FrontierRules) -> Step:
    """The account that nobody gave: the site rests, and its tasks were shown once more in vain. Policy decides."""
    site = lapsed.site
    steps: list[Step] = []
    for task in lapsed.tasks:
        match expired(task, lapsed.deadline, rules.settle):
            case Dead() as dead:
                steps.append(died(task, dead, site.key, rules.identity))
            case _:
                steps.append(shown_again(task, site.key))
    return lapse_of(site.key, lapsed.token, lapsed.deadline, rested(site, lapsed.deadline).not_before, steps)


def _read_lapsed(site: str, reply: Sequence[bytes]) -> Lapsed | None:
    if not reply:
        return None
    packed, details, robots, *shown = reply
    numbers: Numbers = read_numbers(packed)
    tasks = tuple(read_tasks(shown, site))
    return Lapsed(read_site(site, numbers, details, robots), numbers.token, numbers.deadline, tasks)
