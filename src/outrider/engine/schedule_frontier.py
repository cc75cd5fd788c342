"""Feed a frontier on a clock: what is new is added, what has ended is owed another visit, what is owed stays as it is.

What was given is remembered in a file, after the frontier has it. There is one scheduler for such a file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import ConfigError
from outrider.model.ledger import Added
from outrider.model.reason import Reason
from outrider.model.task import Candidate, Origin, Task
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Refusal, admit
from outrider.policy.schedule import Fed, Kind, Look, Source, Step, Turn
from outrider.ports import Clock, Frontier, OwesAgain
from outrider.stores.files.turns import read_turns, write_turns

LISTINGS: Final = frozenset({Kind.SITEMAP, Kind.FEED})


class SourceRules(Struct, frozen=True):
    """Which URLs may enter: pages, and sitemaps and feeds."""

    admit: AdmitRules
    listing: AdmitRules


class FrontierSchedule:
    """Raises `ConfigError` at once when the frontier cannot owe a page again: a schedule is of little use then."""

    def __init__(self, frontier: Frontier, rules: SourceRules, turns: Path, most: int, clock: Clock) -> None:
        if not isinstance(frontier, OwesAgain):
            raise ConfigError("this frontier cannot owe a page another visit; feed a queue, or another frontier")
        self.most = most
        self._frontier = frontier
        self._again: OwesAgain = frontier
        self._rules = rules
        self._file = turns
        self._clock = clock
        self._turns: dict[str, Turn] = read_turns(turns)

    async def look(self, sources: Sequence[Source] = ()) -> Look:
        wanted = {source.name for source in sources}
        turns = {name: turn for name, turn in self._turns.items() if name in wanted}
        return Look(self._clock.now(), await self._waiting(), turns)

    async def feed(self, step: Step) -> Fed:
        waiting = await self._waiting()
        if self._turns.get(step.source.name) != step.before:
            return Fed(None, waiting)
        urls = step.urls[: max(self.most - waiting, 0)]
        if not urls:
            return Fed(0, waiting)
        await self._owe(step.source, urls)
        turns = {**self._turns, step.source.name: replace(step.turn, given=step.turn.given + len(urls))}
        write_turns(self._file, turns)
        self._turns = turns
        return Fed(len(urls), await self._waiting())

    async def _owe(self, source: Source, urls: Sequence[Url]) -> None:
        is_listing = source.kind in LISTINGS
        origin, rules = (Origin.LISTING, self._rules.listing) if is_listing else (Origin.SEED, self._rules.admit)
        tasks: list[Task] = []
        refused: list[tuple[Url, Reason]] = []
        for url in urls:
            match admit(Candidate(url, priority=source.priority, origin=origin), rules):
                case Task() as task:
                    tasks.append(task)
                case Refusal(reason=reason):
                    refused.append((url, reason))
        answers = await self._frontier.add(tasks, refused)
        known = [task for task, answer in zip(tasks, answers, strict=True) if answer is Added.KNOWN]
        await self._again.owe_again(known, ended=True)

    async def _waiting(self) -> int:
        return (await self._frontier.census()).pending
