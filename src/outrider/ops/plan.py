"""Which known URLs would flip from allowed to refused, or back, under other rules? Counted before anything changes.

Two laws judge each URL: the rules as they are, and those that are planned. It flips when they disagree. Where the rules
stay the same, its state in the ledger is what they are compared with. What died, was set aside or dismissed is left
alone: no rule of admission ended it. It only reads; `plan_apply` makes the flips.
"""

from collections.abc import AsyncIterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from outrider.model.ledger import Census, Entry, State
from outrider.model.reason import Reason
from outrider.model.record import Page, PageFilter, PageStatus
from outrider.model.robots import RobotsFile, RobotsVerdict
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.ops.meaning import JUDGED_AGAIN
from outrider.ops.plan_known import Found, Known
from outrider.ops.walks import walking
from outrider.ops.why import Terms
from outrider.policy.admit import AdmitRules, Refusal, refusal
from outrider.policy.robots import RobotsRules, judge, parse
from outrider.policy.transition import revived
from outrider.ports import Records
from outrider.stores.registry import FrontierStore

JUDGED: Final = JUDGED_AGAIN | {Reason.TOO_DEEP}
"""Why a URL was refused that other rules may admit. A quota is none of them: it counts URLs as they come."""

_OWED: Final = frozenset({State.PENDING, State.WAITING})


class Kind(StrEnum):
    """What flips. `fetched` pages stay fetched: they are told apart, and nothing is done about them."""

    REFUSED = "refused"
    OWED = "owed"
    FETCHED = "fetched"


class Change(Struct, frozen=True):
    """`before` is None when the rules stay as they are: then the ledger itself is what was before.

    `excluded` are the sites that an operator has excluded, under any rules.
    """

    after: Terms
    before: Terms | None = None
    excluded: frozenset[str] = frozenset()

    @property
    def concerns_robots(self) -> bool:
        before, after = self.before, self.after
        if before is None:
            return True
        return _about_robots(before) != _about_robots(after)


class Flip(Struct, frozen=True):
    """One URL that would change sides. Reason, rule and evidence are of the law that refuses it, old or new.

    `task` is what it is owed by, or would be; `was` why it is skipped now.
    """

    kind: Kind
    url: Url
    site: str
    reason: Reason
    rule: str
    evidence: str
    task: Task | None = None
    was: Reason | None = None


class Notes(Struct, rename="camel"):
    """What is not a flip, and should be said.

    `already` disagree with the rules as they are. `without_depth` were judged as far as that is possible, because how
    deep they lie is not on record. `by_hash` are known by nothing else. `over_quota` were refused by a count.
    """

    already: int = 0
    without_depth: int = 0
    by_hash: int = 0
    over_quota: int = 0


class Group(Struct, rename="camel"):
    """Flips of one kind by one rule, the first of them as examples."""

    reason: Reason
    rule: str
    count: int = 0
    examples: list[Flip] = []


class Plan(Struct, rename="camel"):
    """Flips by kind and rule. `refused` are owed a visit now, `owed` are refused now."""

    refused: list[Group] = []
    owed: list[Group] = []
    fetched: list[Group] = []
    notes: Notes = field(default_factory=Notes)

    def total(self, kind: Kind) -> int:
        return sum(group.count for group in self.of(kind))

    def of(self, kind: Kind) -> list[Group]:
        return {Kind.REFUSED: self.refused, Kind.OWED: self.owed, Kind.FETCHED: self.fetched}[kind]


async def plan_of(frontier: FrontierStore, records: Records, change: Change, *, examples: int = 5) -> Plan:
    """All of it in one walk over ledger and records; what is held is the counts, and a few examples of each."""
    plan = Plan()
    groups: dict[tuple[Kind, Reason, str], Group] = {}
    async with walking(flips(frontier, records, change, plan.notes)) as found:
        async for flip in found:
            key = flip.kind, flip.reason, flip.rule
            if key not in groups:
                groups[key] = Group(flip.reason, flip.rule)
                plan.of(flip.kind).append(groups[key])
            groups[key].count += 1
            if len(groups[key].examples) < examples:
                groups[key].examples.append(flip)
    for kind in Kind:
        plan.of(kind).sort(key=lambda group: (-group.count, group.reason, group.rule))
    return plan


async def flips(frontier: FrontierStore, records: Records, change: Change, notes: Notes) -> AsyncIterator[Flip]:
    """Those of the ledger, then those of pages on record. Making them while this walks is safe: none flips twice."""
    census = await frontier.census()
    known = Known(frontier, records)
    lines = pages = 0
    async with walking(frontier.entries()) as ledger:
        async for entries in ledger:
            lines += sum(_is_refused(line) for line in entries)
            for flip in await _of_lines(entries, change, known, notes):
                yield flip
    told: set[int] = set()
    async with walking(records.pages(PageFilter(status=PageStatus.FETCHED))) as visits:
        async for batch in visits:
            pages += len(batch)
            for page in batch:
                refused = await _fetched(page, frontier, change, known)
                # A page may have been fetched more than once.
                if refused is not None and (key := hash(refused.url)) not in told:
                    told.add(key)
                    yield refused
    notes.by_hash += _without_lines(census, lines, pages)


async def _of_lines(entries: Sequence[Entry], change: Change, known: Known, notes: Notes) -> list[Flip]:
    notes.over_quota += sum(line.reason is Reason.SITE_QUOTA for line in entries)
    owed = [(line, line.task) for line in entries if line.state in _OWED and line.task is not None]
    judged = [await _owed(line, task, change, known, notes) for line, task in owed]
    refused = await _refused([line for line in entries if _is_refused(line)], change, known, notes)
    return [*(flip for flip in judged if flip is not None), *refused]


def _is_refused(line: Entry) -> bool:
    return line.state is State.SKIPPED and line.reason in JUDGED


def _without_lines(census: Census, lines: int, pages: int) -> int:
    refused = sum(count for reason, count in census.skipped.items() if reason in JUDGED)
    return max(refused - lines, 0) + max(census.fetched - pages, 0)


async def _owed(line: Entry, task: Task, change: Change, known: Known, notes: Notes) -> Flip | None:
    after = await _said(line.url, line.site, Found(task.depth, task), change.after, change, known)
    if after is None:
        return None
    if change.before is not None:
        before = await _said(line.url, line.site, Found(task.depth, task), change.before, change, known)
        if before is not None:
            notes.already += 1
            return None
    return Flip(Kind.REFUSED, line.url, line.site, after.reason, after.rule, after.evidence, task)


async def _refused(lines: Sequence[Entry], change: Change, known: Known, notes: Notes) -> list[Flip]:
    """Most stay refused, whatever their depth: only of the others is asked where they came from."""
    may_flip = [line for line in lines if refusal(line.url, 0, _rules(change.after, line.task)) is None]
    found = await known.found(may_flip)
    judged = [await _judged(line, one, change, known, notes) for line, one in zip(may_flip, found, strict=True)]
    return [flip for flip in judged if flip is not None]


async def _judged(line: Entry, found: Found, change: Change, known: Known, notes: Notes) -> Flip | None:
    terms = change.after
    if found.depth is None and terms.admit.max_depth is not None:
        notes.without_depth += 1
        if line.reason is Reason.TOO_DEEP:
            return None
    for url in (line.url, *found.led_to):
        if await _said(url, line.site, found, terms, change, known, always=True) is not None:
            return None
    before = await _before(line, found, change, known)
    if before is None:
        notes.already += 1
        return None
    task = revived(found.task, 0)
    return Flip(Kind.OWED, line.url, line.site, before.reason, before.rule, before.evidence, task, line.reason)


async def _before(line: Entry, found: Found, change: Change, known: Known) -> Refusal | None:
    """What refuses it now; None: nothing any more, though it is refused."""
    reason = line.reason or Reason.OUT_OF_SCOPE
    if change.before is None:
        return Refusal(reason, found.rule or line.detail.partition(":")[0] or str(reason), line.detail)
    for url in (line.url, *found.led_to):
        said = await _said(url, line.site, found, change.before, change, known, always=True)
        if said is not None:
            return said
    most = change.before.admit.max_depth
    if found.depth is None and reason is Reason.TOO_DEEP and most is not None:
        return Refusal(reason, f"max_depth={most}", "its depth is not on record")
    return None


async def _fetched(page: Page, frontier: FrontierStore, change: Change, known: Known) -> Flip | None:
    data, url = page.metadata, Url.trusted(page.url)
    origin = Origin.LISTING if data.origin == Origin.LISTING else Origin.LINK
    found = Found(data.depth, Task(url, data.depth, origin=origin))
    site = url.site(frontier.rules.site_by)
    after = await _said(url, site, found, change.after, change, known)
    if after is None or (
        change.before is not None and await _said(url, site, found, change.before, change, known) is not None
    ):
        return None
    return Flip(Kind.FETCHED, url, site, after.reason, after.rule, after.evidence)


async def _said(
    url: Url, site: str, found: Found, terms: Terms, change: Change, known: Known, *, always: bool = False
) -> Refusal | None:
    """What one law says to a URL. robots.txt is asked where the change concerns it, or `always`, if a copy is kept."""
    rules = _rules(terms, found.task)
    said = refusal(url, found.depth or 0, rules if found.depth is not None else replace(rules, max_depth=None))
    if said is not None:
        return said
    if site in change.excluded:
        return Refusal(Reason.EXCLUDED_SITE, "excluded by an operator", site)
    if not terms.respects_robots or not (always or change.concerns_robots):
        return None
    file = await known.robots(site, url.origin)
    return None if file is None else _said_by_robots(url, file, terms)


def _said_by_robots(url: Url, file: RobotsFile, terms: Terms) -> Refusal | None:
    rules = None if file.body is None else _parsed(file.body)
    said = judge(file, rules, url.target, terms.agent, terms.unreachable)
    if not isinstance(said, RobotsVerdict) or said.allowed:
        return None
    return Refusal(Reason.ROBOTS_DISALLOWED, "robots.txt", said.reason)


@lru_cache(maxsize=256)
def _parsed(body: bytes) -> RobotsRules:
    return parse(body)


def _rules(terms: Terms, task: Task | None) -> AdmitRules:
    return terms.listing if task is not None and task.origin is Origin.LISTING else terms.admit


def _about_robots(terms: Terms) -> tuple[object, ...]:
    return terms.agent, terms.respects_robots, terms.unreachable
