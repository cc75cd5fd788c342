"""What follows from a robots.txt: verdicts with their evidence, and what an absent file means."""

import hashlib

import pytest

from outrider.model.robots import RobotsBasis, RobotsFile, RobotsStatus, RobotsVerdict
from outrider.policy.robots import Defer, Unreachable, disallowed_paths, judge, parse, status_of, verdict

AGENT = "Outrider/1.0 (+https://example.org/bot)"


def allows(file: str | bytes, target: str, agent: str = AGENT) -> bool:
    return verdict(parse(file if isinstance(file, bytes) else file.encode()), target, agent).allowed


# What a verdict tells


def test_a_verdict_quotes_the_deciding_line_its_group_and_the_digest_of_the_file() -> None:
    """S1-20, H3-8"""
    body = b"# ours\nUser-agent: OutRider\nCrawl-delay: 2.5\nAllow: /a\n  Disallow: /a/b  # secret\n"

    told = verdict(parse(body), "/a/b/c", AGENT)

    digest = hashlib.sha256(body).hexdigest()
    rule = "Disallow: /a/b  # secret"
    assert told == RobotsVerdict(False, RobotsBasis.RULE, 5, rule, "OutRider", digest, 2.5)
    assert told.reason == "disallowed by line 5 of robots.txt (Disallow: /a/b  # secret) for user-agent OutRider"


@pytest.mark.parametrize(
    ("file", "basis", "group"),
    [
        ("", RobotsBasis.EMPTY_FILE, None),
        ("# nothing\nSitemap: https://example.com/s.xml\n", RobotsBasis.EMPTY_FILE, None),
        ("User-agent: *\nDisallow:\n", RobotsBasis.EMPTY_FILE, "*"),
        ("User-agent: other\nDisallow: /\n", RobotsBasis.NO_GROUP_MATCHED, None),
        ("User-agent: *\nDisallow: /x\n", RobotsBasis.NO_RULE_MATCHED, "*"),
        (
            "User-agent: outrider\nUser-agent: x\n\nUser-agent: *\nDisallow: /x\n",
            RobotsBasis.NO_RULE_MATCHED,
            "outrider",
        ),
        ("User-agent: *\nAllow: /\n", RobotsBasis.RULE, "*"),
    ],
)
def test_what_is_allowed_says_why(file: str, basis: RobotsBasis, group: str | None) -> None:
    """H3-8"""
    told = verdict(parse(file.encode()), "/page", AGENT)

    assert (told.allowed, told.basis, told.group) == (True, basis, group)


def test_a_quoted_line_is_safe_to_show() -> None:
    body = b"User-agent: *\nDisallow:\t/\xc3\xa4\x1b[31m\x07\x00\xff" + b"x" * 5_000 + b"\n"

    shown = verdict(parse(body), "/%C3%A4%1B[31m%07%FF" + "x" * 5_000, AGENT).rule

    assert shown is not None
    assert shown.startswith("Disallow: /ä[31m\N{REPLACEMENT CHARACTER}xxx")
    assert shown.isprintable()
    assert len(shown) <= 300


def test_robots_txt_itself_is_always_allowed() -> None:
    """RFC 9309 2.2.2"""
    file = "User-agent: *\nDisallow: /\n"

    assert allows(file, "/robots.txt")
    assert not allows(file, "/a/robots.txt")


# What a file means before it is parsed (RFC 9309 2.3.1)


@pytest.mark.parametrize(
    ("http_status", "status"),
    [
        (200, RobotsStatus.FOUND),
        (204, RobotsStatus.FOUND),
        (301, RobotsStatus.MISSING),
        (308, RobotsStatus.MISSING),
        (400, RobotsStatus.MISSING),
        (401, RobotsStatus.MISSING),
        (403, RobotsStatus.MISSING),
        (404, RobotsStatus.MISSING),
        (410, RobotsStatus.MISSING),
        (451, RobotsStatus.MISSING),
        (429, RobotsStatus.UNREACHABLE),
        (500, RobotsStatus.UNREACHABLE),
        (503, RobotsStatus.UNREACHABLE),
        (599, RobotsStatus.UNREACHABLE),
        (999, RobotsStatus.UNREACHABLE),
        (100, RobotsStatus.UNREACHABLE),
        (None, RobotsStatus.UNREACHABLE),
    ],
)
def test_an_http_status_says_whether_there_is_a_file(http_status: int | None, status: RobotsStatus) -> None:
    """C13"""
    assert status_of(http_status) is status


def file_of(status: RobotsStatus, body: bytes | None = None, http_status: int | None = None) -> RobotsFile:
    return RobotsFile("https://example.com", status, 0.0, 60.0, body, http_status)


@pytest.mark.parametrize("unreachable", Unreachable)
def test_a_missing_file_allows_everything(unreachable: Unreachable) -> None:
    told = judge(file_of(RobotsStatus.MISSING, http_status=404), None, "/x", AGENT, unreachable)

    assert told == RobotsVerdict(True, RobotsBasis.NO_FILE)


@pytest.mark.parametrize("status", [RobotsStatus.FOUND, RobotsStatus.UNREACHABLE])
@pytest.mark.parametrize("kept", [True, False])
def test_a_file_found_now_or_before_decides_by_its_rules(status: RobotsStatus, kept: bool) -> None:  # noqa: FBT001 - a column
    body = b"User-agent: *\nDisallow: /x\n"
    file = file_of(status, body, 503)

    told = judge(file, parse(body) if kept else None, "/x", AGENT, Unreachable.DEFER)

    assert told == verdict(parse(body), "/x", AGENT)


def test_an_empty_file_is_a_good_copy() -> None:
    """H2-25"""
    told = judge(file_of(RobotsStatus.UNREACHABLE, b"", 503), None, "/x", AGENT, Unreachable.DENY)

    assert isinstance(told, RobotsVerdict)
    assert (told.allowed, told.basis) == (True, RobotsBasis.EMPTY_FILE)


@pytest.mark.parametrize(
    ("unreachable", "expected"),
    [
        (Unreachable.ALLOW, RobotsVerdict(True, RobotsBasis.UNREACHABLE)),
        (Unreachable.DENY, RobotsVerdict(False, RobotsBasis.UNREACHABLE)),
        (Unreachable.DEFER, Defer("robots.txt of https://example.com cannot be reached: HTTP 503")),
    ],
)
def test_without_any_copy_the_setting_decides(unreachable: Unreachable, expected: RobotsVerdict | Defer) -> None:
    """S4-35, C13"""
    assert judge(file_of(RobotsStatus.UNREACHABLE, None, 503), None, "/x", AGENT, unreachable) == expected


@pytest.mark.parametrize("unreachable", Unreachable)
def test_a_file_nobody_asked_for_yet_makes_us_wait(unreachable: Unreachable) -> None:
    assert isinstance(judge(None, None, "/x", AGENT, unreachable), Defer)


def test_the_closed_paths_are_told_in_the_order_of_the_file() -> None:
    """S1-20"""
    rules = parse(
        b"User-agent: *\nDisallow: /b\nAllow: /b/c\nDisallow: /a*$\nDisallow: /b\nUser-agent: x\nDisallow: /y\n"
    )

    assert disallowed_paths(rules, AGENT) == ("/b", "/a*$")
    assert disallowed_paths(rules, AGENT, most=1) == ("/b",)
    assert disallowed_paths(parse(b""), AGENT) == ()
