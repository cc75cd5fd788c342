"""Which rule matches, and which of those that match decides (RFC 9309 2.2.2, 2.2.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.robots import RobotsBasis
from outrider.policy.robots import parse, verdict
from outrider.policy.robots_pattern import spell_target

AGENT = "Outrider/1.0 (+https://example.org/bot)"


def allows(file: str | bytes, target: str, agent: str = AGENT) -> bool:
    return verdict(parse(file if isinstance(file, bytes) else file.encode()), target, agent).allowed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/%7Ejoe", "/~joe"),
        ("/a%2fb", "/a%2Fb"),
        ("/a:b,c;d@e", "/a%3Ab%2Cc%3bd%40e"),
        ("/a b", "/a%20b"),
        ("/ä", "/%c3%A4"),
        ("/100%", "/100%25"),
        ("/?u=https://x/?y", "/?u=https%3A%2F%2Fx%2F%3Fy"),
        ("/a*b$", "/a%2Ab%24"),
        ("/\ud800", "/%ED%A0%80"),
    ],
)
def test_two_spellings_of_a_target_are_one(one: str, other: str) -> None:
    assert spell_target(one) == spell_target(other)


@pytest.mark.parametrize(
    ("one", "other"), [("/a/b", "/a%2Fb"), ("/a?b", "/a%3Fb"), ("/?a=b", "/?a%3Db"), ("/?&", "/?%26")]
)
def test_a_delimiter_is_not_its_escape(one: str, other: str) -> None:
    assert spell_target(one) != spell_target(other)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("/fish", "/fish /fish.html /fish/x /fishheads", "/Fish /catfish /?id=fish"),
        ("/fish*", "/fish /fishes", "/fis"),
        ("/*.php$", "/a.php /b/c.php /.php", "/a.php?x /a.php/ /a.php5"),
        ("/a*b*c", "/abc /axbxcx /abbcc", "/acb /bac"),
        ("/a$", "/a", "/ab /a$"),
        ("/a*$", "/a /ab", "/b"),
        ("*a$", "/a /ba", "/ab"),
        ("/a$b", "/a$b /a%24bc", "/a"),
        ("/**//**x", "/a//bx", "/a/x"),
        ("/ab*ab$", "/abab /abxab", "/ab"),
        ("$", "", "/"),
        ("*", "/ /x", ""),
        ("x", "", "/x"),
    ],
)
def test_stars_and_ends(pattern: str, matching: str, other: str) -> None:
    file = f"User-agent: *\nDisallow: {pattern}\n"

    assert [path for path in matching.split() if allows(file, path)] == []
    assert [path for path in other.split() if not allows(file, path)] == []


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("Disallow: /a\nAllow: /a/b", 3),
        ("Allow: /a/b\nDisallow: /a", 2),
        ("Disallow: /a/b\nAllow: /a/b", 3),
        ("Allow: /a/\nDisallow: /a/*", 3),
        ("Allow: /a/b\nDisallow: /*/b/", 3),
        ("Allow: /a/b/\nDisallow: /*/b/", 2),
        ("Disallow: /a/b\nDisallow: /a/b", 2),
        ("Allow: /%61/%62\nDisallow: /a/b/", 3),
    ],
)
def test_the_longest_rule_decides_and_an_allow_wins_a_tie(rules: str, line: int) -> None:
    assert verdict(parse(f"User-agent: *\n{rules}\n".encode()), "/a/b/c", AGENT).line == line


def matches_slowly(pattern: str, target: str) -> bool:
    """The definition, octet by octet: the set of places in the target where the pattern so far can end."""
    anchored = pattern.endswith("$")
    places = {0}
    for char in pattern.removesuffix("$"):
        if char == "*":
            places = set(range(min(places), len(target) + 1))
        else:
            places = {place + 1 for place in places if target[place : place + 1] == char}
        if not places:
            return False
    return len(target) in places if anchored else True


@given(
    st.lists(st.tuples(st.booleans(), st.from_regex(r"[/*][/ab*]{0,6}\$?", fullmatch=True)), min_size=1, max_size=8),
    st.from_regex(r"/[/ab]{0,8}", fullmatch=True),
)
def test_the_ladder_decides_as_the_definition_does(lines: list[tuple[bool, str]], target: str) -> None:
    file = "User-agent: *\n" + "".join(f"{'Allow' if allow else 'Disallow'}: {pattern}\n" for allow, pattern in lines)
    matching = [(len(pattern), allow) for allow, pattern in lines if matches_slowly(pattern, target)]

    told = verdict(parse(file.encode()), target, AGENT)

    assert told.allowed is (max(matching)[1] if matching else True)
    assert (told.basis is RobotsBasis.RULE) is bool(matching)
