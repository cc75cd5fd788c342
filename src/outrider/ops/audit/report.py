"""What was judged, and what was found? Rules have names; each violation names site, URL, moment, rule and evidence.

Names are added, never renamed: programs read them.
"""

from collections import Counter
from enum import StrEnum
from typing import Final

from msgspec import Struct

MOST_EXAMPLES: Final = 50
"""Violations that are told one by one, of each rule; all of them are counted."""


class Rule(StrEnum):
    """In the order in which they are shown."""

    GAP = "gap"
    PROMISE = "promise"
    BLOCK = "block"
    BREAKER = "breaker"
    ROBOTS = "robots"
    ROBOTS_UNASKED = "robots_unasked"
    ORDER = "order"
    SITE = "site"
    RECORDED = "recorded"
    LIMITS = "limits"
    LEDGER = "ledger"

    @property
    def about(self) -> str:
        return _ABOUT[self]


_ABOUT: Final = {
    Rule.GAP: "the pause between two requests to a site",
    Rule.PROMISE: "pauses as settings and robots.txt ask",
    Rule.BLOCK: "silence after a 429 or a Retry-After",
    Rule.BREAKER: "a site that is down is only probed",
    Rule.ROBOTS: "URLs judged again by the robots.txt then",
    Rule.ROBOTS_UNASKED: "robots.txt is known before its pages",
    Rule.ORDER: "sites that an operator paused or excluded",
    Rule.SITE: "requests go to the site that was held",
    Rule.RECORDED: "the requests of each page are on record",
    Rule.LIMITS: "pages, depth, redirects, retries, sizes",
    Rule.LEDGER: "every URL in one state, pages on record",
}


class Violation(Struct, frozen=True):
    """`at` is None for what has no moment, such as a count."""

    rule: Rule
    evidence: str
    site: str = ""
    url: str = ""
    at: float | None = None


class Finding(Struct, frozen=True):
    """One rule: how many things were judged by it, and how many of them broke it."""

    name: Rule
    about: str
    checked: int
    violations: int


class SiteLine(Struct, frozen=True):
    """A site's requests, and the smallest pause among them beside what was due then; None with a single request."""

    site: str
    requests: int
    smallest: float | None = None
    allowed: float | None = None
    url: str | None = None
    violations: int = 0

    @property
    def margin(self) -> float:
        """How much longer than due the smallest pause was."""
        return float("inf") if self.smallest is None or self.allowed is None else self.smallest - self.allowed


class Report(Struct, frozen=True):
    """`clean`: no violation. `running` is None when it may be, on another machine. `skipped`: why, in a sentence.

    `examples` are the first violations of each rule.
    """

    clean: bool
    violations: int
    running: bool | None
    requests: int
    rules: tuple[Finding, ...]
    examples: tuple[Violation, ...]
    sites: tuple[SiteLine, ...]
    skipped: tuple[str, ...]


class Findings:
    """Gathers what the rules find."""

    def __init__(self) -> None:
        self._checked: Counter[Rule] = Counter()
        self._violations: Counter[Rule] = Counter()
        self._examples: dict[Rule, list[Violation]] = {}
        self._skipped: dict[str, tuple[Rule, ...]] = {}
        self.sites: list[SiteLine] = []
        self.requests = 0

    def checked(self, rule: Rule, count: int = 1) -> None:
        self._checked[rule] += count

    def add(self, violation: Violation) -> None:
        rule = violation.rule
        self._violations[rule] += 1
        examples = self._examples.setdefault(rule, [])
        if len(examples) < MOST_EXAMPLES:
            examples.append(violation)

    def skip(self, sentence: str, *rules: Rule) -> None:
        self._skipped[sentence] = rules

    def report(self, *, running: bool | None) -> Report:
        left_out = {rule for rules in self._skipped.values() for rule in rules}
        rules = tuple(
            Finding(rule, rule.about, self._checked[rule], self._violations[rule])
            for rule in Rule
            if rule not in left_out
        )
        examples = tuple(one for rule in Rule for one in self._examples.get(rule, ()))
        total = self._violations.total()
        return Report(
            clean=not total,
            violations=total,
            running=running,
            requests=self.requests,
            rules=rules,
            examples=examples,
            sites=tuple(self.sites),
            skipped=tuple(self._skipped),
        )
