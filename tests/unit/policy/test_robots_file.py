"""What a robots.txt says: RFC 9309 2.2 line by line, then files written to hurt us."""

import hashlib
import sys
from collections.abc import Callable
from functools import partial
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.robots import RobotsVerdict
from outrider.policy.robots import Rule, disallowed_paths, parse, verdict

AGENT = "Outrider/1.0 (+https://example.org/bot)"


def allows(file: str | bytes, target: str, agent: str = AGENT) -> bool:
    return verdict(parse(file if isinstance(file, bytes) else file.encode()), target, agent).allowed


# Groups (RFC 9309 2.2.1)


@pytest.mark.parametrize(
    ("agent", "open_path"),
    [
        (AGENT, "/ours"),
        ("outrider", "/ours"),
        ("OUTRIDER compatible", "/ours"),
        ("outrider-news/2", "/everybody"),
        ("outride", "/everybody"),
        ("", "/everybody"),
        ("*", "/everybody"),
    ],
)
def test_the_group_that_names_our_token_counts_and_else_the_one_for_everybody(agent: str, open_path: str) -> None:
    file = (
        "User-agent: *\nDisallow: /\nAllow: /everybody\n"
        "User-agent: Outrider/9 beta\nDisallow: /\nAllow: /ours\n"
        "User-agent: *bot\nDisallow: /\nAllow: /nobody\n"
    )

    opened = [path for path in ("/ours", "/everybody", "/nobody") if allows(file, path, agent)]

    assert opened == [open_path]


def test_all_groups_of_an_agent_count_as_one() -> None:
    file = (
        "User-agent: a\nUser-agent: Outrider\nDisallow: /x\n\n"
        "User-agent: b\nDisallow: /z\n\n"
        "User-agent: outrider\nAllow: /x/y\n"
    )

    assert not allows(file, "/x")
    assert allows(file, "/x/y")
    assert allows(file, "/z")


@pytest.mark.parametrize(
    "record", ["Sitemap: https://example.com/s.xml", "Crawl-delay: 3", "Host: x", "junk", "", "# x"]
)
def test_other_records_do_not_end_a_group(record: str) -> None:
    """RFC 9309 2.2.4"""
    file = f"User-agent: outrider\n{record}\nUser-agent: other\n{record}\nDisallow: /x\n"

    assert not allows(file, "/x")
    assert not allows(file, "/x", "other")


def test_an_empty_rule_ends_the_list_of_agents() -> None:
    file = "User-agent: outrider\nDisallow:\nUser-agent: other\nDisallow: /\n"

    assert allows(file, "/x")


def test_rules_outside_of_groups_are_nobodys() -> None:
    assert allows("Disallow: /\nAllow: /x\nCrawl-delay: 9\n", "/y")


# Crawl-delay and Sitemap


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        ("10", 10.0),
        ("0.5 # half", 0.5),
        ("0", 0.0),
        (".25", 0.25),
        ("5.", 5.0),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("1e3", None),
        ("ten", None),
        ("", None),
        ("9" * 400, None),
    ],
)
def test_a_crawl_delay_is_a_finite_number_of_seconds(value: str, delay: float | None) -> None:
    """H2-25, C21"""
    assert verdict(parse(f"User-agent: *\nCrawl-delay: {value}\n".encode()), "/", AGENT).crawl_delay == delay


def test_a_crawl_delay_is_for_the_agents_before_it_though_all_share_the_rules() -> None:
    rules = parse(b"User-agent: slow\nCrawl-delay: 60\n\nUser-agent: outrider\nCrawl-delay: 1\nDisallow: /x\n")

    assert [verdict(rules, "/x", agent).crawl_delay for agent in ("slow", "outrider")] == [60, 1]
    assert [verdict(rules, "/x", agent).allowed for agent in ("slow", "outrider")] == [False, False]


def test_of_several_crawl_delays_the_longest_counts() -> None:
    rules = parse(
        b"User-agent: *\nCrawl-delay: 1\nCrawl-delay: 7\nCrawl-delay: 3\nAllow: /\nUser-agent: *\nCrawl-delay: 5\n"
    )

    assert verdict(rules, "/", AGENT).crawl_delay == 7


def test_sitemaps_are_collected_wherever_they_stand() -> None:
    body = (
        b"Sitemap: https://example.com/1.xml\nUser-agent: x\nSITEMAP:https://example.com/2.xml # two\nDisallow: /\n"
        b"site-map : /3.xml\nSitemap https://example.com/4.xml\nSitemap:\nSitemap: https://example.com/1.xml\n"
    )

    urls = parse(body).sitemaps

    assert urls == ("https://example.com/1.xml", "https://example.com/2.xml", "/3.xml", "https://example.com/4.xml")


# Lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_counts_once(end: str) -> None:
    rules = parse(end.join(["", "User-agent: *", "", "Disallow: /x", ""]).encode())

    assert rules.groups[0].rules == (Rule(False, "/x", 4, "Disallow: /x"),)


def test_mixed_line_ends_are_counted_like_single_ones() -> None:
    rules = parse(b"User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /")

    assert [rule.line for group in rules.groups for rule in group.rules] == [2, 6]


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xef\xbb", b"\xef", b"\xff\xfe", b""])
def test_a_byte_order_mark_is_skipped_even_when_broken_off(mark: bytes) -> None:
    assert not allows(mark + b"User-agent: *\nDisallow: /\n", "/x")


def test_other_bytes_before_a_name_spoil_it() -> None:
    assert allows(b"\xef\x11\xbfUser-agent: *\nDisallow: /\n", "/x")
    assert allows(b"User-agent: *\n\xef\xbb\xbfDisallow: /\n", "/x")


def test_utf_16_is_read_as_far_as_it_is_ascii() -> None:
    assert not allows("User-agent: *\r\nDisallow: /x\r\n".encode("utf-16"), "/x")


def test_nul_bytes_are_left_out() -> None:
    """H2-25, H2-33"""
    rules = parse(b"User-\0agent: *\nDisallow: /a\0b\n\0\0\nSitemap: /s\0.xml")

    assert rules.groups[0].rules == (Rule(False, "/ab", 2, "Disallow: /ab"),)
    assert rules.sitemaps == ("/s.xml",)


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /x",
        "DISALLOW:/x",
        "\t disallow \t:\v /x \f",
        "Disallow /x",
        "disallow\t/x",
        "Dissallow: /x",
        "dissalow: /x",
        "Disalow: /x",
        "Diasllow: /x",
        "disallaw: /x",
        "Disallowed: /x",
        "Disallow: /x#y",
    ],
)
def test_lines_that_google_accepts_are_accepted(line: str) -> None:
    assert not allows(f"useragent: *\n{line}\n", "/x")


@pytest.mark.parametrize("line", ["Disallow /x y", "Disallow", "Dis allow: /x", "#Disallow: /x", ": /x", "Noindex: /x"])
def test_lines_that_google_does_not_understand_are_left_out(line: str) -> None:
    assert allows(f"user agent: *\n{line}\n", "/x")


def test_a_byte_that_is_not_utf_8_meets_its_escape() -> None:
    """RFC 9309 2.2.2: encoding mismatches may be bridged."""
    file = b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /na\xc3\xafve\n"

    assert not allows(file, "/caf%E9/x")
    assert not allows(file, "/na%c3%afve")
    assert not allows(file, "/naïve")
    assert allows(file, "/cafe")


# Limits (RFC 9309 2.5)


def test_a_file_beyond_the_limit_is_read_up_to_its_last_whole_line() -> None:
    head = b"User-agent: *\nDisallow: /x\n"
    body = head + b"Disallow: /secret\n"

    rules = parse(body, limit=len(head) + len(b"Disallow: /"))

    assert rules.truncated
    assert rules.groups == parse(head).groups
    assert rules.digest == hashlib.sha256(head).hexdigest()


@pytest.mark.parametrize("missing", [0, 1])
def test_a_line_that_ends_at_the_limit_is_whole(missing: int) -> None:
    body = b"User-agent: *\nDisallow: /x\nAllow: /\n"

    rules = parse(body, limit=len(b"User-agent: *\nDisallow: /x\n") - missing)

    assert [rule.pattern for rule in rules.groups[0].rules] == ["/x"]


def test_500_kibibytes_are_read() -> None:
    body = b"User-agent: *\n" + b"#" * 99 + b"\n" + (b"#" * 99 + b"\n") * 5_116 + b"Disallow: /last\n"

    assert 511_000 < len(body) < 512_000
    assert not allows(body, "/last")
    assert parse(body).truncated is False
    assert parse(body + b"\n" * 20_000).truncated is True


def test_an_endless_line_is_cut() -> None:
    body = b"User-agent: *\nDisallow: /" + b"a" * 400_000

    pattern = parse(body).groups[0].rules[0].pattern

    assert len(pattern) == 16_664 - len("Disallow: ")


# Files written to hurt


@given(st.binary(max_size=300), st.text(max_size=40), st.text(max_size=20))
def test_no_bytes_make_parsing_or_deciding_fail(body: bytes, target: str, agent: str) -> None:
    rules = parse(b"User-agent: *\nDisallow: /" + body)

    assert verdict(rules, target, agent).digest == rules.digest
    assert parse(body) == parse(body)
    assert all(text.isprintable() for text in disallowed_paths(rules, agent))


RECORDS = st.sampled_from(
    [
        b"User-agent: *",
        b"user-agent a",
        b"Disallow: /a*$",
        b"Allow",
        b"Disallow:",
        b"Crawl-delay: 1",
        b"\0",
        b"\xff",
        b"#",
        b":",
    ]
)


@given(st.lists(st.tuples(RECORDS, st.sampled_from([b"\n", b"\r", b"\r\n", b" ", b""]))), st.integers(0, 200))
def test_no_order_of_records_makes_parsing_fail(records: list[tuple[bytes, bytes]], limit: int) -> None:
    body = b"".join(part for record in records for part in record)

    rules = parse(body, limit)

    assert rules.truncated or rules.digest == hashlib.sha256(body).hexdigest()


def work(task: Callable[[], object]) -> int:
    """How many calls, of Python and of C, a task makes: what grows when an algorithm does more, on any machine."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        task()
    finally:
        sys.setprofile(None)
    return calls


def read_and_decide(body: bytes, target: str) -> RobotsVerdict:
    return verdict(parse(body), target, AGENT)


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "one group of many rules": lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % i for i in range(n)),
    "many groups for everybody": lambda n: b"User-agent: *\nDisallow: /a\n" * n,
    "many agents, many rules": lambda n: (
        b"".join(b"User-agent: a%d\n" % i for i in range(n)) + b"User-agent: *\n" + b"Disallow: /a\n" * n
    ),
    "many delays, rules shared": lambda n: b"User-agent: *\nCrawl-delay: 1\n" * n + b"Disallow: /a\n" * n,
    "many rules under one head": lambda n: b"User-agent: *\n" + b"".join(b"Disallow: /*a*%d\n" % i for i in range(n)),
    "stars in one rule": lambda n: b"User-agent: *\nDisallow: /" + b"*a" * n + b"*b\n",
    "blank lines": lambda n: b"\n" * n,
    "colons": lambda n: b"User-agent: *\n" + b":" * n,
}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_work_grows_no_faster_than_the_file(hostile: str) -> None:
    """Four times the file may make at most about four times the calls, for parsing, and for deciding.

    Calls do not see what one call of C does, but those are searches in one line or one target, which CPython does in
    linear time.
    """
    make = HOSTILE[hostile]
    target = "/" + "a" * 2_000

    small, large = (work(partial(read_and_decide, make(size), target)) for size in (500, 2_000))

    assert large < 5 * small + 200


def test_a_rule_of_many_stars_is_decided_at_all() -> None:
    """Backtracking would need more steps than there are atoms; the test ends only because there is none."""
    rules = parse(b"User-agent: *\nDisallow: /" + b"*a" * 8_000 + b"*b$\n")

    assert verdict(rules, "/" + "a" * 60_000, AGENT).allowed
    assert not verdict(rules, "/" + "a" * 60_000 + "b", AGENT).allowed
