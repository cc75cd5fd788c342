"""How our robots.txt decisions compare with the world: public expectations, and Protego over 4,000 real files.

Run `./scripts/robots-score` to print the score that `docs/robots-score.md` quotes.
"""

import os
import random
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import pytest
from msgspec import Struct
from protego import Protego

from outrider.policy.robots import RobotsRules, parse, verdict

EXPECTATIONS = Path(__file__).with_name("robots_expectations.toml")
CORPUS = Path(__file__).parents[3] / ".cache/corpora/protego-0.7.0/tests/test_data"


class Fact(Struct, frozen=True):
    source: str
    about: str
    file: str
    allowed: bool
    agent: str
    path: str
    differs: str = ""

    def __str__(self) -> str:
        return f"{self.source}: {self.about}: {'+' if self.allowed else '-'} {self.agent} {self.path}"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")  # shown by pytest -s


def facts() -> Iterator[Fact]:
    for case in tomllib.loads(EXPECTATIONS.read_text(encoding="utf-8"))["case"]:
        for line in case["facts"].strip().splitlines():
            sign, agent, *paths = line.split()
            for path in paths:
                yield Fact(case["source"], case["about"], case["file"], sign == "+", agent, path)
        for line in case.get("differs", "").strip().splitlines():
            told, _, why = line.partition(" : ")
            sign, agent, path = told.replace("Foo_Bar(with-a-space)", "Foo\N{NO-BREAK SPACE}Bar").split(" ")
            agent = agent.replace("\N{NO-BREAK SPACE}", " ")
            yield Fact(case["source"], case["about"], case["file"], sign == "+", agent, path, why)


def test_public_expectations_are_met_or_explained() -> None:
    """H3-8, C13: each fact is met; where we differ on purpose, we really do, and the file says why."""
    met, explained = Counter[str](), Counter[str]()

    for fact in facts():
        decided = verdict(parse(fact.file.encode()), fact.path, fact.agent)
        if fact.differs:
            assert decided.allowed is not fact.allowed, f"no longer different: {fact}"
            explained[fact.source] += 1
        else:
            assert decided.allowed is fact.allowed, f"{fact}, but we say: {decided.reason}"
            met[fact.source] += 1

    say(f"\n{met.total() + explained.total()} public expectations: {met.total()} met, {explained.total()} explained")
    for source in sorted(met | explained):
        say(f"  {source}: {met[source]} met, {explained[source]} explained")
    assert met.total() > 600


class Explanation(Struct, frozen=True):
    """A habit of Protego's, and how to take it away from a file, or from file and path: then it must agree with us."""

    why: str
    of_file: Callable[[str, str], str]
    of_path: Callable[[str], str] = str


def _only_standard_records(text: str, _: str) -> str:
    return "\n".join(line for line in text.splitlines() if re.match(r"(?i)[ \t]*(dis|dias|allow|user[- ]?agent)", line))


def _names_cut_as_google_does(text: str, agent: str) -> str:
    def rename(line: re.Match[str]) -> str:
        value = line[2].strip()
        name = re.match(r"[\w.-]*", value)
        token = "*" if value == "*" or value.startswith("* ") else name[0] if name else ""
        return f"{line[1]}{token if token == '*' or token.lower() == agent.lower() else 'nobody'}"

    return re.sub(r"(?im)^([ \t]*user[- ]?agent[^:\n#]*[: \t])([^#\n\r]*)", rename, text)


def _no_whole_urls(text: str, _: str) -> str:
    return re.sub(r"(?im)^([ \t]*(?:dis)?allow[ \t]*:[ \t]*)https?:.*$", r"\1", text)


def _plain_slash_in_query(text: str, _: str) -> str:
    return re.sub(r"(?m)\?.*$", lambda query: re.sub("%2[Ff]", "/", query[0]), text)


EXPLANATIONS = (
    Explanation("a record beside the standard ends Protego's group; RFC 9309 2.2.4 forbids it", _only_standard_records),
    Explanation(
        "Protego takes a whole agent line for the name, and a part of our name for ours; RFC 9309 2.2.1 and Google "
        "compare one token",
        _names_cut_as_google_does,
    ),
    Explanation(
        "Protego puts a slash before a rule that is a whole URL; for Google it matches nothing", _no_whole_urls
    ),
    Explanation(
        "Protego keeps / and %2F apart in a query; the table in RFC 9309 2.2.2 does not", _plain_slash_in_query
    ),
    Explanation(
        "Protego takes %3D for =; RFC 9309 2.2.2 decodes no reserved character",
        lambda text, _: re.sub("%3[Dd]", "-3D-", text),
        lambda path: re.sub("%3[Dd]", "-3D-", path),
    ),
    Explanation(
        "Protego counts ? and & as the three octets of their escapes when it looks for the longest rule",
        lambda text, _: text.replace("?", "~").replace("&", "~"),
        lambda path: path.replace("?", "~").replace("&", "~"),
    ),
)


class Difference(Struct, frozen=True):
    file: str
    agent: str
    path: str
    ours: bool


def corpus() -> list[Path]:
    if not CORPUS.is_dir():
        reason = f"no corpus: ./scripts/corpora fetches Protego's source package into {CORPUS.parents[1]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return sorted(path for path in CORPUS.iterdir() if path.is_file())


def agents_of(rules: RobotsRules, luck: random.Random) -> list[str]:
    # A name of one letter ties with * in Protego's count, which says nothing about us.
    named = sorted({agent for group in rules.groups for agent in group.agents if len(agent) > 1})
    return ["outrider", *luck.sample(named, min(2, len(named)))]


def paths_of(rules: RobotsRules, luck: random.Random) -> list[str]:
    """Paths made of the file's own rules: the rule itself, more than it, less than it, something for its stars."""
    patterns = sorted({rule.pattern for group in rules.groups for rule in group.rules})
    paths = ["/", "/index.html", "/search?q=a/b:c&x=1"]
    for pattern in luck.sample(patterns, min(8, len(patterns))):
        plain = "/" + pattern.rstrip("$").replace("*", "").removeprefix("/")
        filled = "/" + pattern.rstrip("$").replace("*", "x/y").removeprefix("/")
        paths += [plain, filled, plain + luck.choice(["z", "/", "?a=1", ".html"]), plain[:-1] or "/"]
    return [path for path in dict.fromkeys(paths) if re.search(r"%(?![0-9A-F]{2})", path) is None]


def agrees_without(habits: tuple[Explanation, ...], difference: Difference, text: str) -> bool:
    path = difference.path
    for habit in habits:
        text, path = habit.of_file(text, difference.agent), habit.of_path(path)
    return peer_of(text).can_fetch(f"https://example.com{path}", difference.agent) is difference.ours


@lru_cache(maxsize=64)
def peer_of(text: str) -> Protego:
    return Protego.parse(text)


def explain(difference: Difference, text: str) -> tuple[Explanation, ...]:
    """The fewest habits whose absence makes Protego agree; empty if there are none."""
    several = [*((one,) for one in EXPLANATIONS), *combinations(EXPLANATIONS, 2)]
    return next((habits for habits in several if agrees_without(habits, difference, text)), ())


def compared(body: bytes, name: str) -> tuple[int, list[Difference]]:
    """How many questions both parsers were asked about one file, and where they differ."""
    luck = random.Random(name)  # noqa: S311 - a sample that is the same each time, not a secret
    rules, peer = parse(body), Protego.parse(text_of(body))
    agents, paths = agents_of(rules, luck), paths_of(rules, luck)
    asked = [(agent, path) for agent in agents for path in paths]
    decided = [Difference(name, agent, path, verdict(rules, path, agent).allowed) for agent, path in asked]
    return len(asked), [
        each for each in decided if peer.can_fetch(f"https://example.com{each.path}", each.agent) is not each.ours
    ]


def text_of(body: bytes) -> str:
    return body.decode("utf-8-sig")  # Protego takes text, so its caller must drop the mark


def is_utf8(body: bytes) -> bool:
    try:
        return bool(body.decode("utf-8")) or not body
    except UnicodeDecodeError:
        return False


def test_real_files_are_judged_as_protego_judges_them_except_for_explained_habits() -> None:
    bodies = {path.name: path.read_bytes() for path in corpus()}
    readable = {name: body for name, body in bodies.items() if is_utf8(body)}

    questions = 0
    told = Counter[str]()
    unexplained: list[Difference] = []
    for name, body in readable.items():
        asked, differences = compared(body, name)
        questions += asked
        habits: tuple[Explanation, ...] = ()
        for each in differences:  # most differences of a file have one cause, so the last one is tried first
            if not (habits and agrees_without(habits, each, text_of(body))):
                habits = explain(each, text_of(body))
            told[" and ".join(habit.why for habit in habits)] += 1
            unexplained += [] if habits else [each]

    agree = questions - told.total()
    say(f"\n{len(readable)} real files, {questions} questions: {agree} agree ({agree / questions:.2%}); the others:")
    for reason, times in told.most_common():
        say(f"  {times:5} {reason}")
    assert unexplained == []
    assert questions > 50_000


def test_real_files_in_other_encodings_are_parsed() -> None:
    bodies = [path.read_bytes() for path in corpus()]

    parsed = [parse(body) for body in bodies if not is_utf8(body)]

    say(f"\n{len(parsed)} real files are not UTF-8; {sum(not rules.is_empty for rules in parsed)} of them hold rules")
    assert parsed
