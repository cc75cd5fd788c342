"""From the queue of other programs into the frontier: lent, judged, added, and only then crossed off.

Whoever dies in between has lost nothing: the batch is lent again, and what is in the frontier already is known there.
A URL that was visited before is owed another visit: who puts it into the queue again wants it again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from hashlib import sha256
from typing import Final, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from outrider.engine.waiting import insist, wait_for
from outrider.errors import StoreUnavailable
from outrider.model.event import EntryRefused, Event, UrlRefused
from outrider.model.ledger import Added
from outrider.model.letter import DeadLetter
from outrider.model.reason import Reason
from outrider.model.record import Decision, Record
from outrider.model.task import Candidate, Origin, Task
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Refusal, admit
from outrider.policy.entry import Unreadable, read_entry
from outrider.ports import Batch, Clock, DeadLetters, EventSink, Frontier, InputQueue, OwesAgain, Records
from outrider.stores.letters import moment

T = TypeVar("T")

MOST: Final = 1_000
"""Entries of a batch."""
_IDLE: Final = (0.05, 0.1, 0.2, 0.5)


@runtime_checkable
class Proposing(Frontier, OwesAgain, Protocol):
    """A frontier that can also be asked for what it has had."""


class Taken(Struct):
    """What became of the entries so far. `again` were known, and are owed another visit."""

    entries: int = 0
    new: int = 0
    again: int = 0
    owed: int = 0
    refused: int = 0
    unreadable: int = 0


class IntakeRules(Struct, frozen=True):
    """`poll` is the longest pause between two looks into an empty queue.

    After `lease` a batch is lent to another: longer than any store takes that is not away.
    """

    admit: AdmitRules
    listing: AdmitRules
    poll: float = 5.0
    lease: float = 60.0


class Stores(Struct, frozen=True):
    queue: InputQueue
    letters: DeadLetters
    frontier: Proposing
    events: EventSink
    records: Records


class _Stopped(Exception):
    """Told to stop while a store is away."""


class _Judged(Struct):
    tasks: list[Task] = []
    refused: list[tuple[Url, Reason]] = []
    decisions: list[Decision] = []
    events: list[Event] = []
    letters: list[DeadLetter] = []


class Intake:
    """`run` until `stop`. `waits_for` says which store is away, if one is."""

    def __init__(self, stores: Stores, rules: IntakeRules, clock: Clock) -> None:
        self._stores = stores
        self._rules = rules
        self._clock = clock
        self._stopping = asyncio.Event()
        self.taken = Taken()
        self.waits_for = ""

    def stop(self) -> None:
        """A batch that is in hand is finished, unless a store is away: then it is lent again."""
        self._stopping.set()

    async def run(self) -> None:
        looks = 0
        with suppress(_Stopped):
            while not self._stopping.is_set():
                batch = await self._insist(lambda: self._stores.queue.take(MOST, self._rules.lease))
                if batch is not None:
                    await self._move(batch)
                    looks = 0
                    continue
                pause = min(_IDLE[min(looks, len(_IDLE) - 1)], self._rules.poll)
                looks += 1
                await wait_for(self._stopping, pause, self._clock)

    async def _move(self, batch: Batch) -> None:
        stores, judged = self._stores, self._judge(batch)
        if judged.letters:
            await self._insist(lambda: stores.letters.put(judged.letters))
        await self._propose(judged)
        if judged.decisions:
            await self._insist(lambda: stores.records.write([Record(decisions=tuple(judged.decisions))]))
        if judged.events:
            await self._insist(lambda: stores.events.publish(judged.events))
        await self._insist(lambda: stores.queue.done(batch))
        self.taken.entries += len(batch.entries)
        self.taken.unreadable += len(judged.letters)
        self.taken.refused += len(judged.decisions)

    def _judge(self, batch: Batch) -> _Judged:
        judged, now = _Judged(), self._clock.now()
        for data in batch.entries:
            match read_entry(data):
                case Unreadable() as unreadable:
                    # The same entry is the same letter, however often the batch is lent.
                    judged.letters.append(_letter(unreadable, sha256(data).hexdigest()[:24], now))
                    judged.events.append(
                        EntryRefused(at=now, entry=unreadable.entry, reason=unreadable.reason, detail=unreadable.detail)
                    )
                case Candidate() as candidate:
                    self._admit(candidate, now, judged)
        return judged

    def _admit(self, candidate: Candidate, now: float, judged: _Judged) -> None:
        rules = self._rules.listing if candidate.origin is Origin.LISTING else self._rules.admit
        match admit(candidate, rules):
            case Task() as task:
                judged.tasks.append(task)
            case Refusal() as refused:
                judged.refused.append((candidate.url, refused.reason))
                _note(judged, candidate.url, refused, now)

    async def _propose(self, judged: _Judged) -> None:
        if not judged.tasks and not judged.refused:
            return
        frontier, taken = self._stores.frontier, self.taken
        answers = await self._insist(lambda: frontier.add(judged.tasks, judged.refused))
        taken.new += answers.count(Added.NEW)
        known = [task for task, answer in zip(judged.tasks, answers, strict=True) if answer is Added.KNOWN]
        if known:
            again = await self._insist(lambda: frontier.owe_again(known, ended=True))
            taken.again += again
            taken.owed += len(known) - again
        for task, answer in zip(judged.tasks, answers, strict=True):
            if answer is Added.OVER_QUOTA:
                refused = Refusal(Reason.SITE_QUOTA, "site_quota", "the site has as many URLs as it may have")
                _note(judged, task.url, refused, self._clock.now())

    async def _insist(self, act: Callable[[], Awaitable[T]]) -> T:
        """Every act here may be repeated."""
        try:
            return await insist(act, self._stopping, self._clock, self._away)
        except StoreUnavailable as error:
            raise _Stopped from error

    def _away(self, why: str | None) -> None:
        self.waits_for = why or ""


def _note(judged: _Judged, url: Url, refused: Refusal, now: float) -> None:
    judged.decisions.append(Decision(str(url), "admit", refused.reason, refused.rule, refused.evidence, now, None))
    judged.events.append(
        UrlRefused(at=now, url=url, reason=refused.reason, rule=refused.rule, evidence=refused.evidence)
    )


def _letter(unreadable: Unreadable, name: str, now: float) -> DeadLetter:
    at = moment(now)
    return DeadLetter(
        url=unreadable.entry,
        reason=unreadable.reason.value,
        attempts=0,
        last_error=unreadable.detail,
        first_at=at,
        last_at=at,
        evidence_id=name,
    )
