"""Every rule is told, and what is told is what would be decided."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.site import Site
from outrider.model.task import Candidate
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Reach, Refusal, admit, admit_rules
from outrider.policy.admit_explained import first_refusal, rulings
from outrider.policy.traps import TrapLimits

SEED = Url("http://example.org/docs/index.html")
STRICT = admit_rules(
    reach=Reach.PREFIX,
    seeds=(SEED,),
    include=(re.compile("docs"),),
    exclude=(re.compile("draft"),),
    skip_patterns=("/docs/cart", "*/login"),
    extensions=frozenset({".zip"}),
    excluded_sites=frozenset({"spam.org"}),
    max_length=60,
    max_depth=2,
    site_quota=10,
    traps=TrapLimits(repeats=3),
)
ORDER = ["max_url_length", "max_depth", "scope", "excluded_sites", "skip_extensions", "skip_patterns", "traps"]
ALL = [*ORDER, "include", "exclude", "excluded by an operator", "site_quota", "robots.txt"]
NO = RobotsVerdict(allowed=False, basis=RobotsBasis.RULE, line=2, rule="Disallow: /", group="*")


def test_every_rule_is_told_in_the_order_in_which_it_is_asked() -> None:
    found = rulings(Url("http://example.org/docs/a"), 1, STRICT, site=Site("example.org", admitted=3))

    assert [ruling.rule for ruling in found] == ALL
    assert [ruling.passes for ruling in found] == [True] * 11 + [None]
    assert "25 characters of at most 60" in found[0].evidence
    assert "3 URLs of at most 10" in found[-2].evidence


def test_all_that_refuse_are_told_and_not_only_the_first() -> None:
    url = Url("http://spam.org/cart/" + "x" * 60 + ".zip?draft")

    found = rulings(url, 5, STRICT, site=Site("spam.org", admitted=10, excluded=True), robots=NO)

    refused = [ruling.reason for ruling in found if ruling.passes is False]
    assert refused == [
        *(Reason.URL_TOO_LONG, Reason.TOO_DEEP, Reason.OUT_OF_SCOPE, Reason.EXCLUDED_SITE, Reason.NON_TEXT_EXTENSION),
        *(Reason.OUT_OF_SCOPE, Reason.OUT_OF_SCOPE, Reason.EXCLUDED_SITE, Reason.SITE_QUOTA, Reason.ROBOTS_DISALLOWED),
    ]
    assert found[-1].evidence == "disallowed by line 2 of robots.txt (Disallow: /) for user-agent *"


def test_a_rule_that_is_not_set_neither_passes_nor_refuses() -> None:
    found = rulings(Url("http://example.org/a"), 0, AdmitRules())

    asked = {ruling.rule for ruling in found if ruling.passes is not None}
    assert asked == {"max_url_length", "scope"}


@pytest.mark.parametrize(
    ("url", "depth"),
    [
        ("http://example.org/docs/" + "y" * 99, 0),
        ("http://example.org/docs/a", 3),
        ("http://example.net/docs/a", 0),
        ("http://example.org/docs/a.zip", 0),
        ("http://example.org/docs/cart/1", 0),
        ("http://example.org/docs/a/b/a/b/a/b", 0),
        ("http://example.org/docs/draft", 0),
    ],
)
def test_the_first_that_refuses_is_the_refusal(url: str, depth: int) -> None:
    decided = admit(Candidate(Url(url), depth), STRICT)

    told = first_refusal(rulings(Url(url), depth, STRICT))
    assert isinstance(decided, Refusal)
    assert told is not None
    assert (told.reason, told.rule, told.evidence) == (decided.reason, decided.rule, decided.evidence)


_parts = st.sampled_from(["docs", "cart", "login", "draft", "a", "b", "x.zip", "y" * 40, "index.html"])


@given(
    host=st.sampled_from(["example.org", "spam.org", "www.example.org"]),
    path=st.lists(_parts, max_size=6).map("/".join),
    depth=st.integers(0, 4),
    site=st.builds(Site, st.just("example.org"), admitted=st.integers(8, 11), excluded=st.booleans()),
    robots=st.sampled_from([None, NO, RobotsVerdict(allowed=True, basis=RobotsBasis.NO_FILE)]),
)
def test_what_is_told_is_what_is_decided(
    host: str, path: str, depth: int, site: Site, robots: RobotsVerdict | None
) -> None:
    url = Url(f"http://{host}/{path}")
    decided = admit(Candidate(url, depth), STRICT, site=site, robots=robots)

    told = first_refusal(rulings(url, depth, STRICT, site=site, robots=robots))

    if isinstance(decided, Refusal):
        assert told is not None
        assert (told.reason, told.rule, told.evidence) == (decided.reason, decided.rule, decided.evidence)
    else:
        assert told is None
