"""What does a page propose, and what of it may enter?"""

import pytest
from msgspec.structs import replace

from outrider.app.rules import gate_rules
from outrider.engine import gate as gates
from outrider.engine.common import Common
from outrider.engine.gate import Answer, Found, Gate
from outrider.fetch.robots_txt import Judged
from outrider.fetch.visit import Haul
from outrider.model.identity import Identity
from outrider.model.outcome import Body, Fetched, Headers, Hop, Moved, NotModified, Outcome, Visit
from outrider.model.reason import Reason
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.task import Candidate, Origin, Task
from outrider.model.url import Url
from outrider.policy.robots import parse
from outrider.ports import Response
from outrider.settings import settings_of

SEED = Url("http://example.com/")
AT = 5.0
TASK = Task(SEED, depth=1, priority=-1, sequence=3)
SITEMAP = (
    "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://example.com/p</loc></url></urlset>"
)
INDEX = (
    "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    "<sitemap><loc>http://example.com/s1.xml</loc></sitemap></sitemapindex>"
)
FEED = "<rss version='2.0'><channel><item><link>http://example.com/news</link></item></channel></rss>"


def gate_of(common: Common | None = None, **keys: object) -> Gate:
    return Gate(gate_rules(settings_of(**{"scope": "domain", **keys}), [SEED]), Identity(1), common=common)


def haul_of(content: str, headers: Headers = (), robots: str | None = None, outcome: Outcome | None = None) -> Haul:
    data = content.encode()
    outcome = outcome or Fetched(SEED, 200, Body(len(data), "", charset="utf-8"))
    judged = None
    if robots is not None:
        verdict = RobotsVerdict(allowed=True, basis=RobotsBasis.NO_RULE_MATCHED)
        judged = Judged(verdict, rules=parse(robots.encode()))
    visit = Visit("", SEED, AT, AT, outcome, (Hop(SEED, 200),))
    return Haul(visit, data, Response(200, headers, data), judged)


def urls(found: Found) -> list[str]:
    return [str(task.url) for task in found.tasks]


def test_links_become_tasks_one_step_further_and_later() -> None:
    """C20: broad comes before deep."""
    found = gate_of().read(TASK, haul_of("<a href=/a>a</a><a href=/b#part>b</a>"), AT)

    assert found.tasks == [
        Task(Url(f"http://example.com/{name}"), 2, -2, Origin.LINK, parent=SEED) for name in ("a", "b")
    ]
    assert len(found.hashes) == 2


def test_what_is_refused_goes_into_the_ledger_with_who_and_why() -> None:
    found = gate_of().read(TASK, haul_of("<a href=http://other.test/>x</a><a href=/x.zip>y</a>"), AT)

    assert found.tasks == []
    assert found.refused == [
        (Url("http://other.test/"), Reason.OUT_OF_SCOPE),
        (Url("http://example.com/x.zip"), Reason.NON_TEXT_EXTENSION),
    ]
    first = found.decisions[0]
    assert (first.by, first.rule, first.evidence, first.at, first.parent) == (
        "admit",
        "scope=domain",
        "other.test",
        AT,
        SEED,
    )
    assert [(event.url, event.reason, event.rule) for event in found.events] == [
        (decision.url, decision.reason, decision.rule) for decision in found.decisions
    ]


def test_what_was_proposed_lately_is_not_proposed_again_once_the_frontier_has_it() -> None:
    gate = gate_of()
    haul = haul_of("<a href=/a>a</a><a href=http://other.test/>x</a>")

    first = gate.read(TASK, haul, AT)
    again = gate.read(TASK, haul, AT)
    gate.remember(again.hashes)
    known = gate.read(TASK, haul, AT)

    assert (len(first.tasks), len(again.tasks)) == (1, 1)
    assert (known.tasks, known.refused, known.decisions, known.events, known.hashes) == ([], [], [], [], [])


def test_what_one_gate_knows_to_be_in_the_frontier_the_others_leave_out() -> None:
    common = Common(1 << 10)
    one, other = gate_of(common), gate_of(common)
    haul = haul_of("<a href=/a>a</a><a href=http://EXAMPLE.com/b>b</a>")
    found = one.read(TASK, haul, AT)

    one.remember(found.hashes)
    not_yet = other.read(TASK, haul, AT)
    one.confirm(found.hashes)
    known = other.read(TASK, haul, AT)

    assert len(not_yet.tasks) == 2, "what only waits could be lost with its process"
    assert (known.tasks, known.links) == ([], 2)


def test_memory_is_bounded_and_what_came_last_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "LATELY", 16)
    gate = gate_of()
    pages = [Url(f"http://example.com/{number}") for number in range(100)]

    for url in pages:
        gate.remember(gate.read(TASK, haul_of(f"<a href={url}>x</a>"), AT).hashes)

    found = gate.read(TASK, haul_of("".join(f"<a href={url}>x</a>" for url in pages)), AT)
    assert pages[-1] not in urls(found)
    assert 84 <= len(found.tasks) < 100


@pytest.mark.parametrize(
    ("page", "headers"),
    [
        ("<a href=/a rel=nofollow>a</a>", ()),
        ("<meta name=robots content=nofollow><a href=/a>a</a>", ()),
        ("<meta name=outrider content='noindex, nofollow'><a href=/a>a</a>", ()),
        ("<a href=/a>a</a>", (("X-Robots-Tag", "none"),)),
        ("<a href=/a>a</a>", (("x-robots-tag", "outrider: nofollow"),)),
    ],
)
def test_links_that_ask_not_to_be_followed_are_not(page: str, headers: Headers) -> None:
    assert gate_of().read(TASK, haul_of(page, headers), AT).tasks == []
    assert urls(gate_of(respect_nofollow=False).read(TASK, haul_of(page, headers), AT)) == ["http://example.com/a"]


@pytest.mark.parametrize("headers", [(("X-Robots-Tag", "otherbot: nofollow"),), (("X-Robots-Tag", "noindex"),)])
def test_what_is_said_to_others_or_of_other_things_is_not_for_our_links(headers: Headers) -> None:
    found = gate_of().read(TASK, haul_of("<a href=/a>a</a>", headers), AT)

    assert urls(found) == ["http://example.com/a"]


def test_canonical_and_base_are_heeded() -> None:
    page = "<base href='/deep/'><link rel=canonical href='http://example.com/true'><a href=a>a</a>"

    found = gate_of().read(TASK, haul_of(page), AT)

    assert urls(found) == ["http://example.com/deep/a", "http://example.com/true"]
    assert found.facts.canonical == "http://example.com/true"


def test_the_sitemaps_of_robots_txt_are_proposed_once_a_file() -> None:
    """They are called .xml, and are admitted all the same."""
    gate = gate_of()
    robots = "Sitemap: http://example.com/sitemap.xml\nSitemap: /more.xml\nSitemap: http://[bad\n"

    found = gate.read(TASK, haul_of("", robots=robots), AT)
    again = gate.read(TASK, haul_of("", robots=robots), AT)
    changed = gate.read(TASK, haul_of("", robots=robots + "Sitemap: /third.xml\n"), AT)

    assert [(str(task.url), task.depth, task.origin) for task in found.tasks] == [
        ("http://example.com/sitemap.xml", 1, Origin.LISTING),
        ("http://example.com/more.xml", 1, Origin.LISTING),
    ]
    assert again.tasks == []
    assert "http://example.com/third.xml" in urls(changed)
    assert gate_of(sitemaps=False).read(TASK, haul_of("", robots=robots), AT).tasks == []


def test_a_listing_lists_pages_one_step_further() -> None:
    listing = Task(Url("http://example.com/sitemap.xml"), origin=Origin.LISTING)

    pages = gate_of().read(listing, haul_of(SITEMAP), AT)
    index = gate_of().read(listing, haul_of(INDEX), AT)
    feed = gate_of().read(listing, haul_of(FEED), AT)
    nothing = gate_of().read(listing, haul_of("<p>not found</p>"), AT)

    assert [(str(task.url), task.depth, task.origin) for task in pages.tasks] == [
        ("http://example.com/p", 1, Origin.SITEMAP)
    ]
    assert [(str(task.url), task.depth, task.origin) for task in index.tasks] == [
        ("http://example.com/s1.xml", 0, Origin.LISTING)
    ]
    assert [(str(task.url), task.origin) for task in feed.tasks] == [("http://example.com/news", Origin.FEED)]
    assert nothing.tasks == []


def test_the_feeds_of_a_page_are_listings() -> None:
    page = "<link rel=alternate type='application/rss+xml' href='/feed.xml'>"

    found = gate_of().read(TASK, haul_of(page), AT)

    assert [(str(task.url), task.origin) for task in found.tasks] == [("http://example.com/feed.xml", Origin.LISTING)]
    assert gate_of(feeds=False).read(TASK, haul_of(page), AT).tasks == []


MOVED = Hop(SEED, 301, location="http://www.example.com/new")


def moved(to: str, task: Task) -> Found:
    outcome = Moved(Url(to), permanent=True)
    visit = Visit("", task.url, AT, AT, outcome, (MOVED,))
    return gate_of(site_by="host").read(task, Haul(visit), AT)


def test_where_a_page_moved_to_is_owed_with_the_hops_walked() -> None:
    """C12: as deep and as urgent as the page that moved."""
    before = Hop(Url("http://old.test/"), 302, location="http://example.com/")

    found = moved("http://www.example.com/new", Task(SEED, 2, 5, parent=SEED, via=(before,)))

    assert found.tasks == [
        Task(Url("http://www.example.com/new"), 2, 5, Origin.REDIRECT, parent=SEED, via=(before, MOVED))
    ]


def test_where_a_page_moved_to_is_proposed_even_when_it_is_known() -> None:
    """It carries more than a URL: the frontier decides."""
    gate = gate_of()
    gate.remember(gate.judge([Candidate(Url("http://www.example.com/new"))], AT).hashes)
    visit = Visit("", SEED, AT, AT, Moved(Url("http://www.example.com/new"), permanent=True), (MOVED,))

    assert len(gate.read(TASK, Haul(visit), AT).tasks) == 1


def test_a_sitemap_that_moved_to_another_site_is_still_a_sitemap() -> None:
    listing = Task(Url("http://example.com/sitemap.xml"), 1, origin=Origin.LISTING)

    found = moved("http://www.example.com/sitemap.xml", listing)

    assert [(str(task.url), task.depth, task.origin) for task in found.tasks] == [
        ("http://www.example.com/sitemap.xml", 1, Origin.LISTING)
    ]
    assert found.refused == []


def test_what_did_not_change_proposes_nothing_new() -> None:
    assert gate_of().read(TASK, haul_of("", outcome=NotModified(SEED)), AT).tasks == []


def test_seeds_are_judged_as_everything_else() -> None:
    found = gate_of().judge([Candidate(SEED), Candidate(Url("http://example.com/x.pdf"))], AT)

    assert urls(found) == [SEED]
    assert [reason for _, reason in found.refused] == [Reason.NON_TEXT_EXTENSION]


@pytest.mark.parametrize("origin", [Origin.LINK, Origin.LISTING])
@pytest.mark.parametrize("content", ["<meta name=robots content=noarchive><a href=/a>a</a>", SITEMAP, INDEX, FEED])
def test_an_answer_that_was_kept_proposes_what_its_visit_would_have(content: str, origin: Origin) -> None:
    task = replace(TASK, origin=origin)
    haul = haul_of(content, (("X-Robots-Tag", "noindex"),))

    kept = gate_of().read_answer(task, Answer(SEED, content.encode(), "utf-8", frozenset({"noindex"})), AT)

    assert kept == gate_of().read(task, haul, AT)


def test_without_seeds_what_is_beyond_a_page_is_counted_and_not_held_against_the_url() -> None:
    """Its own site may lead to it: neither the ledger nor our memory may stand in the way then."""
    gate = Gate(replace(gate_rules(settings_of(scope="domain"), ()), from_page=True), Identity(1))
    foreign = Answer(SEED, b"<a href=http://other.test/x>x</a>")
    own = Answer(Url("http://other.test/"), b"<a href=x>x</a>")

    beyond = gate.read_answer(TASK, foreign, AT)
    gate.remember(beyond.hashes)
    found = gate.read_answer(TASK, own, AT)

    assert (beyond.beyond, beyond.tasks, beyond.refused, beyond.events) == (1, [], [], [])
    assert (found.beyond, urls(found)) == (0, ["http://other.test/x"])


def test_what_other_rules_refuse_is_refused_wherever_it_stands() -> None:
    gate = Gate(replace(gate_rules(settings_of(exclude=["/private"]), ()), from_page=True), Identity(1))

    found = gate.read_answer(TASK, Answer(SEED, b"<a href=/private/x>x</a>"), AT)

    assert found.refused == [(Url("http://example.com/private/x"), Reason.OUT_OF_SCOPE)]
    assert len(found.hashes) == 1


# Links that are known as they are written.


@pytest.mark.parametrize("shows_links", [True, False])
def test_a_known_link_is_counted_and_shown_only_to_who_wants_to_see_it(*, shows_links: bool) -> None:
    gate = Gate(gate_rules(settings_of(scope="domain"), [SEED]), Identity(1), shows_links=shows_links)
    gate.remember(gate.read(TASK, haul_of("<a href=/a>a</a><a href=b>b</a>"), AT).hashes)

    found = gate.read(TASK, haul_of("<a href=/a>a</a><a href=b#part>b</a><a href=mailto:x@y>x</a><a href=/c>c</a>"), AT)

    assert urls(found) == ["http://example.com/c"]
    assert found.links == 3
    shown = ["a", "b", "c"] if shows_links else ["c"]
    assert found.facts.links == tuple(Url(f"http://example.com/{name}") for name in shown)


def test_a_link_is_not_known_before_the_frontier_has_what_it_leads_to() -> None:
    gate = gate_of()
    page = haul_of("<a href=/a>a</a>")

    assert [urls(gate.read(TASK, page, AT)) for _ in range(2)] == [["http://example.com/a"]] * 2


def test_another_way_to_a_known_page_is_learnt_when_it_is_met() -> None:
    gate = gate_of()
    gate.remember(gate.read(TASK, haul_of("<a href=/a>a</a>"), AT).hashes)

    met = [gate.read(TASK, haul_of("<a href=http://EXAMPLE.com/a>a</a>"), AT) for _ in range(2)]

    assert [(found.tasks, found.links, len(found.facts.links)) for found in met] == [([], 1, 1), ([], 1, 0)]


def test_what_cannot_be_text_is_no_bug() -> None:
    found = gate_of().read(TASK, haul_of("<a href='/&#xD800;&#0;&#x110000;'>x</a>"), AT)

    assert urls(found) == ["http://example.com/%EF%BF%BD%EF%BF%BD%EF%BF%BD"]
