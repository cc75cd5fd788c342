"""May this URL enter the crawl?"""

import re

import pytest

from outrider.model.outcome import Hop
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.site import Site
from outrider.model.task import Candidate, Origin, Task
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Reach, Refusal, admit, admit_rules, extension_of, refusal
from outrider.policy.traps import TrapLimits

SEED = Url("https://www.example.com/docs/start.html?a=b")
AUDIT = (
    "/admin",
    "/api/*",
    "/cart",
    "/checkout",
    "/account",
    "/login",
    "/logout",
    "/register",
    "/_next/*",
    "/static/*",
)


def reason(url: str, rules: AdmitRules, depth: int = 0) -> Reason | None:
    refused = refusal(Url(url), depth, rules)
    return refused.reason if refused else None


@pytest.mark.parametrize(
    ("reach", "inside", "outside"),
    [
        (Reach.PAGE, ["https://www.example.com/docs/start.html?a=b"], ["https://www.example.com/docs/start.html"]),
        (
            Reach.PREFIX,
            ["https://www.example.com/docs/", "https://www.example.com/docs/a/b"],
            ["https://www.example.com/", "https://www.example.com/docs2/", "http://www.example.com/docs/"],
        ),
        (
            Reach.HOST,
            ["https://www.example.com/", "http://www.example.com/"],
            ["https://example.com/", "https://www.example.com:8443/"],
        ),
        (
            Reach.DOMAIN,
            ["https://example.com/", "http://a.b.example.com:8080/"],
            ["https://example.org/", "https://example.com.evil.org/", "https://notexample.com/"],
        ),
        (Reach.ANY, ["https://example.org/"], []),
    ],
)
def test_a_crawl_stays_within_its_reach(reach: Reach, inside: list[str], outside: list[str]) -> None:
    rules = admit_rules(reach=reach, seeds=[SEED])

    assert [reason(url, rules) for url in inside] == [None] * len(inside)
    assert [reason(url, rules) for url in outside] == [Reason.OUT_OF_SCOPE] * len(outside)


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/admin", "/admin"),
        ("/admin/users", "/admin"),
        ("/api/v1/x", "/api/*"),
        ("/api/", "/api/*"),
        ("/cart?item=1", "/cart"),
        ("/static/a.css", "/static/*"),
        ("/administration", None),
        ("/api", None),
        ("/shop/cart", None),
        ("/Admin", None),
    ],
)
def test_skip_patterns_name_a_path_and_all_below_it(path: str, pattern: str | None) -> None:
    """S1-1, S1-27, S1-29: the deciding pattern is named."""
    refused = refusal(Url("https://example.com" + path), 0, admit_rules(skip_patterns=AUDIT))

    assert (refused and (refused.reason, refused.rule)) == (pattern and (Reason.SKIP_PATTERN, pattern))


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("https://example.com/a.PDF", True),
        ("https://example.com/a.zip?x=y", True),
        ("https://example.com/a.pdf#page=2", True),
        ("https://example.com/a.pdf/", False),
        ("https://example.com/?file=a.pdf", False),
        ("https://example.zip/", False),
        ("https://example.zip", False),
        ("https://a.pdf/b", False),
        ("https://example.com/.zip", False),
        ("https://example.com/zip", False),
    ],
)
def test_an_extension_is_that_of_the_path_and_of_nothing_else(url: str, *, refused: bool) -> None:
    """S1-28, S2-16, S2-17, S2-28, S2-34, C27, H2-19."""
    rules = admit_rules(extensions=frozenset({".pdf", ".zip"}))

    assert reason(url, rules) == (Reason.NON_TEXT_EXTENSION if refused else None)


def test_the_extension_is_lower_case_with_its_dot() -> None:
    assert [extension_of(path) for path in ("/a.HTML", "/a.tar.gz", "/", "/a.b/c", "/.x", "")] == [
        ".html",
        ".gz",
        "",
        "",
        "",
        "",
    ]


def test_long_deep_and_excluded_urls_are_refused_by_name() -> None:
    """S2-3, S2-20, S2-28."""
    rules = admit_rules(max_length=40, max_depth=2, excluded_sites=frozenset({"example.org"}))

    assert reason("https://example.com/" + "x" * 21, rules) is Reason.URL_TOO_LONG
    assert reason("https://example.com/" + "x" * 20, rules) is None
    assert reason("https://example.com/", rules, depth=3) is Reason.TOO_DEEP
    assert reason("https://example.com/", rules, depth=2) is None
    assert reason("https://www.example.org/", rules) is Reason.EXCLUDED_SITE


def test_include_and_exclude_are_regular_expressions_on_the_whole_url() -> None:
    rules = admit_rules(include=[re.compile(r"/docs/"), re.compile(r"\.html$")], exclude=[re.compile(r"[?&]session=")])

    assert reason("https://example.com/docs/a", rules) is None
    assert reason("https://example.com/a.html", rules) is None
    assert reason("https://example.com/blog/", rules) is Reason.OUT_OF_SCOPE
    refused = refusal(Url("https://example.com/docs/?session=1"), 0, rules)
    assert refused == Refusal(Reason.OUT_OF_SCOPE, "exclude=[?&]session=", "https://example.com/docs/?session=1")


def test_what_is_known_of_the_site_and_its_robots_counts_without_any_request() -> None:
    """C24, H2-24, H2-4, S2-30, S2-35."""
    candidate = Candidate(SEED)
    disallowed = RobotsVerdict(False, RobotsBasis.RULE, 3, "Disallow: /docs", "*", "00")

    full = admit(candidate, admit_rules(site_quota=10), site=Site("example.com", admitted=10))
    excluded = admit(candidate, AdmitRules(), site=Site("example.com", excluded=True))
    blocked = admit(candidate, AdmitRules(), robots=disallowed)

    assert isinstance(full, Refusal)
    assert isinstance(excluded, Refusal)
    assert isinstance(blocked, Refusal)
    assert (full.reason, excluded.reason, blocked.reason) == (
        Reason.SITE_QUOTA,
        Reason.EXCLUDED_SITE,
        Reason.ROBOTS_DISALLOWED,
    )
    assert "line 3" in blocked.evidence


def test_an_admitted_candidate_becomes_a_task_that_keeps_its_story() -> None:
    """C20: depth lowers priority."""
    via = (Hop(Url("http://example.org/"), 301, location="https://www.example.com/"),)
    candidate = Candidate(SEED, 2, 5, Origin.REDIRECT, Url("http://example.org/"), via)

    task = admit(candidate, AdmitRules())

    assert task == Task(SEED, 2, 3, Origin.REDIRECT, Url("http://example.org/"), via)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/a/b/a/b/a/b", "repeated_segment=3"),
        ("/" + "/".join(str(number) for number in range(100, 130)), "max_segments=20"),
        ("/?" + "&".join(f"p{number}=1" for number in range(30)), "max_parameters=20"),
        ("/?f=1&f=2&f=3", "repeated_parameter=3"),
    ],
)
def test_a_trap_is_refused_by_the_rule_that_caught_it(path: str, rule: str) -> None:
    url = Url(f"https://www.example.com{path}")

    refused = refusal(url, 0, admit_rules(traps=TrapLimits()))

    assert refused is not None
    assert (refused.reason, refused.rule) == (Reason.TRAP, rule)
    assert refusal(url, 0, admit_rules()) is None


def test_an_ordinary_url_is_no_trap() -> None:
    assert (
        reason("https://www.example.com/2011/11/11/a?tag[]=x&tag[]=y&tag[]=z", admit_rules(traps=TrapLimits())) is None
    )
