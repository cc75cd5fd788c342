"""Does a rule's path match a target? Longest rule first, in linear work (RFC 9309 2.2.2, 2.2.3).

Both sides are first brought to one spelling: escapes of characters that need none are decoded, every other octet is an
upper-case escape. The delimiters `/ ? & =` stay apart from their escapes, because there the escape means another thing;
only in a query `/` and `?` delimit nothing. A literal `*` or `$` in a target becomes an escape, so that it meets `%2A`
and `%24` in a rule and nothing else.

A rule can match only where its *head*, the text before its first `*`, does. So the heads are kept in a dictionary and
asked once for each length that occurs among the heads that begin as the target does: a thousand rules cost about as
much as ten. There is no regular expression to explode: what follows a `*` is found from left to right, each part once.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

_DECODED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:,;+!'()@[]")
_KEPT = r"A-Za-z0-9\-._~:,;+!'()@\[\]/?&="
_HEX = "0123456789ABCDEFabcdef"
_SPELLING = {f"%{a}{b}": f"%{a}{b}".upper() for a in _HEX for b in _HEX} | {
    f"%{a}{b}": chr(int(a + b, 16)) for a in _HEX for b in _HEX if int(a + b, 16) in _DECODED
}
_SPELLING |= {chr(octet): f"%{octet:02X}" for octet in range(256)}
_START = 3  # characters: enough to part most heads of a file
_ODD_IN_TARGET = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_KEPT}]")
_ODD_IN_PATTERN = re.compile(rf"%[0-9A-Fa-f]{{2}}|[^{_KEPT}*]")


class Rule(Struct, frozen=True, gc=False):
    """One Allow or Disallow line. `line` counts from 1, `text` is the line as written, made safe to show."""

    allow: bool
    pattern: str
    line: int
    text: str


class Candidate(Struct, frozen=True, gc=False):
    """A rule, taken apart: what must follow its head. `rank` is its length, an Allow before a Disallow of that length.

    `parts` must occur in this order; `last`, if any, must then end the target. None for `parts`: nothing may follow.
    """

    rank: int
    rule: Rule
    head: str
    parts: tuple[str, ...] | None = ()
    last: str | None = None


Rungs = tuple[tuple[int, int], ...]
"""Lengths of heads, each with the best rank to be found there; the best rank comes first."""


class Ladder(Struct, frozen=True):
    """The rules of one group by head. `rungs` go by a target's first characters; `short` is for all other targets."""

    rungs: dict[str, Rungs]
    short: Rungs
    heads: dict[str, tuple[Candidate, ...]]


def spell_target(target: str) -> str:
    """The one spelling of a path and query, as rules are compared with it."""
    if _ODD_IN_TARGET.search(target) is None:
        return target
    octets = target if target.isascii() else target.encode("utf-8", "surrogatepass").decode("latin-1")
    return _respelled_query(_ODD_IN_TARGET.sub(_respell, octets))


def spell_pattern(octets: str) -> str:
    """The one spelling of a rule's path, given as one character a byte. `*` and a final `$` keep their meaning."""
    if _ODD_IN_PATTERN.search(octets) is None:
        return octets
    body, anchor = (octets[:-1], "$") if octets.endswith("$") else (octets, "")
    return _respelled_query(_ODD_IN_PATTERN.sub(_respell, body)) + anchor


def climb(rules: Iterable[Rule]) -> Ladder:
    """Build the ladder of a group's rules, once per group that is asked."""
    grouped: dict[str, list[Candidate]] = {}
    for rule in rules:
        candidate = _taken_apart(rule)
        grouped.setdefault(candidate.head, []).append(candidate)
    heads = {head: tuple(sorted(each, key=_by_rank)) for head, each in grouped.items()}
    short: dict[int, int] = {}
    by_start: dict[str, dict[int, int]] = {}
    for head, candidates in heads.items():
        best = short if len(head) < _START else by_start.setdefault(head[:_START], {})
        best[len(head)] = max(best.get(len(head), 0), candidates[0].rank)
    return Ladder({start: _rungs(best | short) for start, best in by_start.items()}, _rungs(short), heads)


def deciding(ladder: Ladder, target: str) -> Candidate | None:
    """The longest rule that matches a target spelled by `spell_target`; Allow wins a tie."""
    found: Candidate | None = None
    reached = -1
    heads = ladder.heads
    for length, best in ladder.rungs.get(target[:_START], ladder.short):
        if best <= reached:
            break
        for candidate in heads.get(target[:length], ()):
            if candidate.rank <= reached:
                break
            if _follows(candidate, target):
                found, reached = candidate, candidate.rank
                break
    return found


def _by_rank(candidate: Candidate) -> tuple[int, int]:
    return -candidate.rank, candidate.rule.line


def _rungs(best: dict[int, int]) -> Rungs:
    return tuple(sorted(best.items(), key=lambda rung: -rung[1]))


def _respell(odd: re.Match[str]) -> str:
    return _SPELLING[odd[0]]


def _respelled_query(spelled: str) -> str:
    path, mark, query = spelled.partition("?")
    return path + mark + query.replace("%2F", "/").replace("%3F", "?") if mark else spelled


def _taken_apart(rule: Rule) -> Candidate:
    # Google's parser, too, counts the octets of the whole pattern, `*` and `$` included.
    rank = 2 * len(rule.pattern) + rule.allow
    anchored = rule.pattern.endswith("$")
    head, *rest = (rule.pattern[:-1] if anchored else rule.pattern).split("*")
    if not rest:
        return Candidate(rank, rule, head, None if anchored else ())
    last = rest.pop() if anchored else None
    return Candidate(rank, rule, head, tuple(filter(None, rest)), last)


def _follows(candidate: Candidate, target: str) -> bool:
    """The head matches: does the rest? The leftmost place of a part is always the best one, so none is tried twice."""
    position = len(candidate.head)
    if candidate.parts is None:
        return len(target) == position
    for part in candidate.parts:
        position = target.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return candidate.last is None or target.endswith(candidate.last, position)
