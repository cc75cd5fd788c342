"""May we ask for this URL? And which line of robots.txt says so? (RFC 9309)

The file is read by `robots_file` and matched by `robots_pattern`; here are the decisions. Fetching, redirects and the
cache are `fetch/robots_txt`'s. A verdict always carries what it rests on, because every refusal must be explained.
"""

from enum import StrEnum
from typing import assert_never

from msgspec import Struct

from outrider.model.robots import RobotsBasis, RobotsFile, RobotsStatus, RobotsVerdict
from outrider.policy.robots_file import LIMIT, Group, RobotsRules, parse
from outrider.policy.robots_pattern import Candidate, Rule, deciding, spell_target

__all__ = [
    "LIMIT",
    "Defer",
    "Group",
    "RobotsRules",
    "Rule",
    "Unreachable",
    "disallowed_paths",
    "judge",
    "parse",
    "status_of",
    "verdict",
]


class Unreachable(StrEnum):
    """What an unreachable robots.txt means when there was never a good one (C13)."""

    DEFER = "defer"
    ALLOW = "allow"
    DENY = "deny"


class Defer(Struct, frozen=True):
    """Not now: nothing is known, so the site waits and nothing is lost."""

    reason: str


def status_of(http_status: int | None) -> RobotsStatus:
    """What an answer to the request for robots.txt means; None is no answer at all, 3xx one redirect too many."""
    match http_status:
        case int() if 200 <= http_status < 300:
            return RobotsStatus.FOUND
        case int() if 300 <= http_status < 500 and http_status != 429:
            return RobotsStatus.MISSING  # RFC 9309 2.3.1.2, 2.3.1.3
        case _:
            return RobotsStatus.UNREACHABLE  # RFC 9309 2.3.1.4; 429 says "later", not "no file"


def judge(
    file: RobotsFile | None, rules: RobotsRules | None, target: str, agent: str, unreachable: Unreachable
) -> RobotsVerdict | Defer:
    """Decide on one target of an origin by what came of its robots.txt; None for `file`: it was not asked for yet.

    `rules` is `file.body` parsed, if the caller has kept it.
    """
    if file is None:
        return Defer("robots.txt was not asked for yet")
    match file.status:
        case RobotsStatus.FOUND:
            return verdict(parse(file.body or b"") if rules is None else rules, target, agent)
        case RobotsStatus.MISSING:
            return RobotsVerdict(True, RobotsBasis.NO_FILE)
        case RobotsStatus.UNREACHABLE:
            if file.body is not None:  # an empty file is a good copy, too (H2-25)
                return verdict(parse(file.body) if rules is None else rules, target, agent)
            return _without_rules(file, unreachable)
        case never:
            assert_never(never)


def verdict(rules: RobotsRules, target: str, agent: str) -> RobotsVerdict:
    """Decide by a parsed file. `target` is path and query; `agent` a user agent, whose product token counts."""
    standing = rules.standing(agent)
    if standing is None:
        basis = RobotsBasis.EMPTY_FILE if rules.is_empty else RobotsBasis.NO_GROUP_MATCHED
        return RobotsVerdict(True, basis, digest=rules.digest)
    best: Candidate | None = None
    name = standing.groups[0][0]
    if target != "/robots.txt":  # always allowed: RFC 9309 2.2.2
        spelled = spell_target(target)
        for each, group in standing.groups:
            found = deciding(group.ladder, spelled)
            if found is not None and (best is None or found.rank > best.rank):
                best, name = found, each
    if best is None:
        basis = RobotsBasis.EMPTY_FILE if rules.is_empty else RobotsBasis.NO_RULE_MATCHED
        return RobotsVerdict(True, basis, None, None, name, rules.digest, standing.crawl_delay)
    rule = best.rule
    return RobotsVerdict(rule.allow, RobotsBasis.RULE, rule.line, rule.text, name, rules.digest, standing.crawl_delay)


def disallowed_paths(rules: RobotsRules, agent: str, most: int = 50) -> tuple[str, ...]:
    """What is closed to this agent, in the order of the file: evidence for people, not a way to decide (S1-20).

    Kept with every page, so it is short: half a megabyte of escapes would otherwise be three times that in each record.
    """
    standing = rules.standing(agent)
    return standing.closed[:most] if standing else ()


def _without_rules(file: RobotsFile, unreachable: Unreachable) -> RobotsVerdict | Defer:
    match unreachable:
        case Unreachable.ALLOW:
            return RobotsVerdict(True, RobotsBasis.UNREACHABLE)
        case Unreachable.DENY:
            return RobotsVerdict(False, RobotsBasis.UNREACHABLE)
        case Unreachable.DEFER:
            why = file.detail or (f"HTTP {file.http_status}" if file.http_status else "no answer")
            return Defer(f"robots.txt of {file.origin} cannot be reached: {why}")
        case never:
            assert_never(never)
