"""Which sources are due, in which order, and when is the next one? From what is remembered of each, and the moment.

Turns of a source are `every` apart and do not drift: one that comes late does not move those after it. What was missed
is made up once: a turn that comes so late that the next is less than half an interval away stands for both. The first
turn is at once; from then on a source keeps a distance of its own, up to a tenth of its interval, so that a thousand
that began together part. Of those that are due, the one that was served longest ago comes first: nobody starves.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from math import ceil
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from outrider.model.url import Url

SPREAD: Final = 0.1
"""How much of its interval a source may be moved by, so that those with the same interval part."""
CLOSEST: Final = 0.5
"""Two turns are at least so much of the interval apart, however late the first one was."""


class Kind(StrEnum):
    """`url` is one page. `sitemap` and `feed` are visited for what they list. `seeds` is a file with a URL a line."""

    URL = "url"
    SITEMAP = "sitemap"
    FEED = "feed"
    SEEDS = "seeds"


class Source(Struct, frozen=True):
    """`what` is a URL, or the path of a file as it was written. Without `every` it is fed once, ever."""

    kind: Kind
    what: str
    every: float | None = None
    priority: int = 0
    schedule: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.what}"

    @property
    def name(self) -> str:
        """What its turns are remembered by; no two sources of a schedule have the same."""
        return f"{self.schedule}/{self}"


class Edition(Struct, frozen=True):
    """A list as it is now: its length, its content's digest and when it was written. A single URL never changes."""

    total: int = 1
    digest: str = ""
    written_at: int = 0


class Listed(Struct, frozen=True):
    """What a source gives at each turn, as it is now."""

    urls: Sequence[Url]
    edition: Edition = Edition()


class Turn(Struct, frozen=True):
    """What is remembered of a source: its last turn, which is over when all entries of the edition were `given`.

    `due_at` is the moment that the turn stands for, `began_at` when it came, `served_at` when entries were last given.
    """

    due_at: float
    began_at: float
    served_at: float
    edition: Edition = Edition()
    given: int = 0

    @property
    def is_over(self) -> bool:
        return self.given >= self.edition.total


class Due(Struct, frozen=True):
    """`at` is since when."""

    source: Source
    at: float


class Plan(Struct, frozen=True):
    """`due` in the order in which they are served; `wake_at` is when the next one will be, None if none ever will."""

    due: tuple[Due, ...]
    wake_at: float | None


class Begin(Struct, frozen=True):
    """Give from `turn.given` on. `anew`: the list has changed under way, and is given from its beginning again."""

    turn: Turn
    anew: bool = False


class Outdated(Struct, frozen=True):
    """A list of the same name that was written later is being given, by somebody else: this one is left alone."""

    turn: Turn


Serving: TypeAlias = Begin | Outdated


class Look(Struct, frozen=True):
    """What is so at the moment `now`: how many entries wait to be visited, and the turns of sources by name."""

    now: float
    waiting: int
    turns: Mapping[str, Turn]


class Step(Struct, frozen=True):
    """The next URLs of a turn, from `turn.given` on. `before` is what was remembered when this was decided."""

    source: Source
    urls: Sequence[Url]
    turn: Turn
    before: Turn | None = None


class Fed(Struct, frozen=True):
    """What became of a step: how many were given, None when somebody else had taken it; how many wait now."""

    given: int | None
    waiting: int


def plan(sources: Iterable[Source], turns: Mapping[str, Turn], now: float) -> Plan:
    """What to do now, and when to look again."""
    due: list[Due] = []
    wake_at: float | None = None
    for source in sources:
        at = next_turn(source, turns.get(source.name), now)
        if at is None:
            continue
        if at <= now:
            due.append(Due(source, at))
        elif wake_at is None or at < wake_at:
            wake_at = at
    due.sort(key=lambda one: _served_at(turns.get(one.source.name)))
    return Plan(tuple(due), wake_at)


def next_turn(source: Source, last: Turn | None, now: float) -> float | None:
    """When the source is due. A turn under way has been since it was last served; None: never again."""
    if last is None:
        return now
    if not last.is_over:
        return min(last.served_at, now)
    if source.every is None:
        return None
    if last.began_at > now + source.every:
        # The clock was far ahead when that was written: nobody waits until it is there again.
        return now
    return _after(last, source.every)


def serve(due: Due, last: Turn | None, edition: Edition, now: float) -> Serving:
    """The turn as it is to be remembered before its next entries are given."""
    if last is None or last.is_over:
        due_at = due.at if last is not None else now + SPREAD * _share(due.source.name) * (due.source.every or 0.0)
        return Begin(Turn(due_at, now, now, edition))
    if edition.digest == last.edition.digest:
        return Begin(replace(last, served_at=now))
    if (edition.written_at, edition.digest) > (last.edition.written_at, last.edition.digest):
        return Begin(replace(last, served_at=now, edition=edition, given=0), anew=True)
    return Outdated(last)


def forecast(sources: Sequence[Source], turns: Mapping[str, Turn], now: float, most: int) -> list[Due]:
    """The next `most` turns, if each is given whole as soon as it is due."""
    known = dict(turns)
    found: list[Due] = []
    at = now
    for _ in range(most):
        planned = plan(sources, known, at)
        if not planned.due:
            if planned.wake_at is None:
                break
            at = planned.wake_at
            planned = plan(sources, known, at)
        first = planned.due[0]
        found.append(Due(first.source, max(first.at, now)))
        last = known.get(first.source.name)
        begun = serve(first, last, last.edition if last and not last.is_over else Edition(), at)
        known[first.source.name] = replace(begun.turn, given=begun.turn.edition.total)
    return found


def _after(last: Turn, every: float) -> float:
    """The first of its moments that is not too close to when the last turn came."""
    missed = ceil((last.began_at + CLOSEST * every - last.due_at) / every)
    return last.due_at + max(missed, 1) * every


def _served_at(turn: Turn | None) -> float:
    return turn.served_at if turn is not None else float("-inf")


def _share(name: str) -> float:
    """From 0 to 1, always the same for the same name."""
    return xxh3_64_intdigest(name.encode()) / 2.0**64
