"""What does a robots.txt say? Bytes in, groups of rules out; never an error, always in linear time (RFC 9309 2.2).

Lenient where Google's open-source parser is: spaces for a forgotten colon, names that merely begin right, frequent
typos, half a byte order mark. Records that are not of the standard never end a group (2.2.4). Not here: what a rule
matches (`robots_pattern`), what follows from it (`robots`).
"""

import hashlib
import math
import re
from functools import cached_property, lru_cache

from msgspec import Struct

from outrider.policy.robots_pattern import Ladder, Rule, climb, spell_pattern

LIMIT = 524_288  # RFC 9309 2.5 asks for at least 500 KiB
_MOST_SHOWN = 50
_LONGEST_SHOWN = 300
_LONGEST_LINE = 16_664  # as in Google's parser; what is beyond is not read
_WHITE = " \t\v\f"  # ASCII only: 0xA0 may be the second half of a letter
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\xff\xfe", b"\xfe\xff")
_WORDS = re.compile(r"[^ \t\v\f]+")
_TOKEN = re.compile(r"[\w.-]+")
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")


_MEANT = {
    "disallow": "disallow",
    "allow": "allow",
    "user-agent": "user-agent",
    "sitemap": "sitemap",
    "crawl-delay": "crawl-delay",
    "dissallow": "disallow",
    "dissalow": "disallow",
    "disalow": "disallow",
    "diasllow": "disallow",
    "disallaw": "disallow",
    "useragent": "user-agent",
    "user agent": "user-agent",
    "site-map": "sitemap",
    "crawl delay": "crawl-delay",
    "crawldelay": "crawl-delay",
}
"""What a name means that begins so."""


class Group(Struct, frozen=True, dict=True):
    """User agents, as written, and the rules they share. Only `crawl_delay` may part agents that share their rules."""

    agents: tuple[str, ...]
    rules: tuple[Rule, ...]
    crawl_delay: float | None = None

    @cached_property
    def ladder(self) -> Ladder:
        """The rules, ready to match. Built when first asked for: most groups of a file concern others."""
        return climb(self.rules)


class Standing(Struct, frozen=True, dict=True):
    """All the groups that name one agent, because all of them count (RFC 9309 2.2.1), each with the name used there."""

    groups: tuple[tuple[str, Group], ...]
    crawl_delay: float | None

    @cached_property
    def closed(self) -> tuple[str, ...]:
        """The first of the paths that are disallowed, in the order of the file, each once and not too long."""
        closed: dict[str, None] = {}
        for rule in (rule for _, group in self.groups for rule in group.rules if not rule.allow):
            if len(closed) == _MOST_SHOWN:
                break
            shown = rule.pattern if len(rule.pattern) <= _LONGEST_SHOWN else f"{rule.pattern[:_LONGEST_SHOWN]}…"
            closed[shown] = None
        return tuple(closed)


class RobotsRules(Struct, frozen=True, dict=True):
    """One parsed file; `digest` is the SHA-256 of the bytes that were read, `truncated` if there were more."""

    groups: tuple[Group, ...]
    sitemaps: tuple[str, ...]
    digest: str
    truncated: bool

    @cached_property
    def is_empty(self) -> bool:
        """There is not one rule in the file, for nobody."""
        return not any(group.rules for group in self.groups)

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """By product token, in lower case."""
        named: dict[str, list[tuple[str, Group]]] = {}
        delays: dict[str, float] = {}
        for group in self.groups:
            for name in group.agents:
                token = name.lower()
                groups = named.setdefault(token, [])
                if not groups or groups[-1][1].rules is not group.rules:
                    groups.append((name, group))
                if group.crawl_delay is not None:
                    delays[token] = max(group.crawl_delay, delays.get(token, 0.0))
        return {token: Standing(tuple(groups), delays.get(token)) for token, groups in named.items()}

    def standing(self, agent: str) -> Standing | None:
        """By the groups that name the agent, else by those for everybody."""
        standings = self.standings
        return standings.get(_token(agent)) or standings.get("*")


class _Draft:
    """A group being read. It shares the rules of the one before when a crawl delay stands between their agents."""

    def __init__(self, shares_rules_of: "_Draft | None" = None) -> None:
        self.agents: dict[str, str] = {}
        self.shares = shares_rules_of is not None
        self.rules: list[Rule] = shares_rules_of.rules if shares_rules_of else []
        self.crawl_delay: float | None = None


def parse(body: bytes, limit: int = LIMIT) -> RobotsRules:
    """Read a robots.txt, at most `limit` bytes of it, up to the last line that is whole."""
    read = body if len(body) <= limit else _whole_lines(body, limit)
    sitemaps: dict[str, None] = {}
    drafts: list[_Draft] = []
    ready = False  # for a new group: the one before has its rules
    for number, line in enumerate(_lines(read), 1):
        name, value = _record(line)
        if name in {"disallow", "allow"}:
            ready = True  # an empty rule says nothing, and still ends the list of agents
            if value and drafts:
                drafts[-1].rules.append(Rule(name == "allow", spell_pattern(value), number, _shown(line)))
        elif name == "user-agent":
            if ready or not drafts:
                drafts.append(_Draft())
            elif drafts[-1].crawl_delay is not None:
                drafts.append(_Draft(shares_rules_of=drafts[-1]))
            ready = False
            _name_agent(drafts[-1], _shown(value))
        elif name == "crawl-delay" and drafts:
            _slow_down(drafts[-1], value)
        elif name == "sitemap":
            sitemaps[_shown(value)] = None
    digest = hashlib.sha256(read).hexdigest()
    return RobotsRules(_groups(drafts), tuple(filter(None, sitemaps)), digest, truncated=len(read) < len(body))


def _groups(drafts: list[_Draft]) -> tuple[Group, ...]:
    groups: list[Group] = []
    for draft in drafts:
        rules = groups[-1].rules if draft.shares else tuple(draft.rules)
        groups.append(Group(tuple(draft.agents.values()), rules, draft.crawl_delay))
    return tuple(groups)


def _whole_lines(body: bytes, limit: int) -> bytes:
    """Half a line may say the opposite of the whole one, so it is left out."""
    end = max(body.rfind(b"\n", 0, limit + 1), body.rfind(b"\r", 0, limit + 1))
    return body[: min(end + 1, limit)]


def _lines(body: bytes) -> list[str]:
    """One character a byte, whatever the encoding: rules are compared octet by octet in the end."""
    for mark in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            body = body.removeprefix(mark)
            break
    text = body.replace(b"\0", b"").decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _record(line: str) -> tuple[str, str]:
    """What the line is about, and its value; about nothing, if nobody understands it."""
    content = line[:_LONGEST_LINE].partition("#")[0]
    key, colon, value = content.partition(":")
    if not colon:
        words = _WORDS.findall(content)
        if len(words) != 2:
            return "", ""
        key, value = words
    name = _name_of(key)
    if name == "sitemap" and " " in key.strip(_WHITE):  # the colon forgotten, the first one found is the URL's own
        value = content.strip(_WHITE).partition(" ")[2]
    return name, value.strip(_WHITE)


@lru_cache(maxsize=256)
def _name_of(key: str) -> str:
    key = key.strip(_WHITE).lower()
    return next((name for beginning, name in _MEANT.items() if key.startswith(beginning)), "")


def _name_agent(draft: _Draft, value: str) -> None:
    if value == "*" or value.startswith("* "):
        draft.agents["*"] = "*"
    elif found := _TOKEN.match(value):
        draft.agents.setdefault(found[0].lower(), found[0])


@lru_cache(maxsize=64)
def _token(agent: str) -> str:
    found = _TOKEN.match(agent)
    return found[0].lower() if found else ""


def _slow_down(draft: _Draft, value: str) -> None:
    """Of several delays the longest counts; what is not a number of seconds is not one of them."""
    seconds = float(value) if _SECONDS.fullmatch(value) else math.inf
    if math.isfinite(seconds):
        draft.crawl_delay = max(seconds, draft.crawl_delay or 0.0)


def _shown(line: str) -> str:
    """The line for people: UTF-8 where it is UTF-8, without control characters, not too long."""
    text = line.strip(_WHITE)[:_LONGEST_SHOWN]
    if text.isascii() and text.isprintable():
        return text
    text = text.encode("latin-1").decode("utf-8", "replace").replace("\t", " ")
    return "".join(char for char in text if char.isprintable())
