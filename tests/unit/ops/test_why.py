"""The story of a URL, whatever became of it. Stores are the ones in memory, which keep a line for everything."""

from typing import Final

import pytest
from msgspec.structs import replace

from outrider.model.identity import Identity
from outrider.model.ledger import Entry, Settled, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Family, Reason
from outrider.model.record import PageStatus, Record
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.settlement import Dead, Later, MovedTo, Settlement, Skip
from outrider.model.site import Breaker, BreakerState, Site
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.ops.meaning import SETTINGS, meaning
from outrider.ops.story import Knowledge, Prospect, Story
from outrider.ops.why import Terms, why
from outrider.policy.admit import AdmitRules, Reach, admit_rules
from outrider.ports import FrontierRules
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.base import done
from outrider.testing.contracts.records import decision, visit

NOW: Final = 1_000.0
HOME: Final = Url("http://a.org/")
PAGE: Final = Url("http://a.org/page")
OTHER: Final = Url("http://a.org/other")
TERMS: Final = Terms(admit=AdmitRules(), listing=AdmitRules(), agent="outrider")
TASK: Final = Task(PAGE, 1, -1, Origin.LINK, HOME)


class World:
    """A frontier and its records, and a clock that stands still."""

    def __init__(self, rules: FrontierRules | None = None) -> None:
        self.frontier = MemoryFrontier(rules or FrontierRules(Identity(seed=7)), FakeClock(NOW))
        self.records = MemoryRecords()

    async def settled(self, settlement: Settlement, task: Task = TASK, **site: object) -> "World":
        await self.frontier.add([task])
        lent = await self.frontier.lease(sites=1, tasks=1, seconds=60)
        lease = lent.leases[0]
        known = replace(lease.site, **site)
        await self.frontier.settle([Settled(lease, known, ((lease.tasks[0], settlement),))])
        return self

    async def why(self, url: Url = PAGE, terms: Terms = TERMS) -> Story:
        return await why(url, self.frontier, self.records, terms, NOW)


async def test_what_nobody_proposed_is_judged_rule_by_rule() -> None:
    rules = admit_rules(reach=Reach.HOST, seeds=(HOME,), extensions=frozenset({".zip"}))

    story = await World().why(Url("http://b.org/x.zip"), replace(TERMS, admit=rules))

    assert (story.standing.known_by, story.standing.state) == (Knowledge.NOTHING, None)
    assert [ruling.rule for ruling in story.rulings if ruling.passes is False] == ["scope=host", "skip_extensions"]
    assert story.outlook.prospect is Prospect.UNPROPOSED
    assert "nobody has proposed it" in story.outlook.because[0]
    assert "scope=host (b.org)" in story.outlook.because[1]
    assert story.outlook.remedies == ("change scope, include or exclude: the rule is ours",)


async def test_what_nobody_proposed_and_nothing_forbids_would_be_admitted() -> None:
    story = await World().why()

    assert story.outlook.because[1] == "if somebody did, it would be admitted"


async def test_a_pending_url_is_due_when_its_turn_comes() -> None:
    world = World()
    await world.frontier.add([TASK])

    story = await world.why()

    assert (story.standing.state, story.standing.priority, story.outlook.prospect) == (
        *(State.PENDING, -1),
        Prospect.DUE,
    )
    assert story.discovery is not None
    assert (story.discovery.origin, story.discovery.parent) == ("link", str(HOME))
    assert [(one.url, one.on_record) for one in story.discovery.path] == [(str(HOME), False)]


async def test_a_url_whose_site_is_held_is_under_way() -> None:
    world = World()
    await world.frontier.add([TASK])
    await world.frontier.lease(sites=1, tasks=1, seconds=60)

    story = await world.why()

    assert (story.outlook.prospect, story.site.held_until) == (Prospect.UNDER_WAY, NOW + 60)
    assert any("a worker has a.org now" in sentence for sentence in story.outlook.because)


async def test_a_url_that_is_put_off_says_when_and_why() -> None:
    world = await World().settled(Later(1_600.0, Reason.HTTP_500, 1))
    await world.records.write([visit(1, PAGE, code=500)])

    story = await world.why()

    assert (story.outlook.prospect, story.outlook.at) == (Prospect.LATER, 1_600.0)
    told = " ".join(story.outlook.because)
    assert "its last visit failed (http_500): it answered 500 Internal Server Error" in told
    assert "1 visit of it failed by its own fault" in told
    assert "(in 10 min 00 s)" in told


async def test_a_url_of_a_site_that_is_down_waits_for_the_probe() -> None:
    breaker = Breaker(BreakerState.OPEN, failures=5, openings=2, probe_at=1_120.0, down_since=900.0)
    later = Later(1_120.0, Reason.CONNECT_REFUSED, 0, 3, NOW)
    world = await World().settled(later, breaker=breaker, not_before=1_120.0)

    story = await world.why()

    told = " ".join(story.outlook.because)
    assert "its circuit is open (opened 2 times), and one probe finds out in 2 min 00 s" in told
    assert "3 visits of it failed by its site's doing" in told
    assert story.standing.deferrals == 3


async def test_a_url_of_a_site_that_rests_says_until_when() -> None:
    world = World()
    await world.frontier.add([TASK])
    await world.frontier.restore(sites=[Site("a.org", not_before=NOW + 30)])

    story = await world.why()

    assert (story.outlook.prospect, story.outlook.at) == (Prospect.LATER, NOW + 30)
    assert "nothing is asked of a.org before" in story.outlook.because[-1]


async def test_a_url_of_an_excluded_site_is_blocked() -> None:
    world = World()
    await world.frontier.add([TASK])
    await world.frontier.restore(sites=[Site("a.org", excluded=True)])

    assert (await world.why()).outlook.prospect is Prospect.BLOCKED


async def test_a_url_of_a_paused_site_says_since_when_and_what_helps() -> None:
    world = World()
    await world.frontier.add([TASK])
    await world.frontier.order(SiteOrder("a.org", paused=True, at=NOW - 60))

    story = await world.why()

    assert story.outlook.prospect is Prospect.BLOCKED
    assert story.outlook.because[-1].startswith("an operator has paused a.org since 1970-01-01T00:15:40.000Z")
    assert story.outlook.remedies == ("resume a.org: outrider site resume a.org",)


async def test_a_url_of_a_site_that_an_operator_has_excluded_is_blocked_and_what_ended_by_it_says_so() -> None:
    world = World()
    await world.frontier.add([TASK, replace(TASK, url=OTHER)])
    await world.frontier.order(SiteOrder("a.org", excluded=True, at=NOW - 60))
    await world.frontier.dismiss([(OTHER, Reason.EXCLUDED_SITE)])

    owed, ended = await world.why(), await world.why(OTHER)

    assert owed.outlook.prospect is Prospect.BLOCKED
    assert owed.outlook.because[-1].startswith("an operator has excluded a.org since 1970-01-01T00:15:40.000Z")
    assert (ended.outlook.prospect, ended.standing.can_be_revived) == (Prospect.NEVER, False)
    assert "an operator has excluded a.org since 1970-01-01T00:15:40.000Z" in ended.outlook.because
    assert "include a.org again: outrider site include a.org" in ended.outlook.remedies


async def test_a_delay_that_an_operator_wants_is_part_of_the_outlook() -> None:
    world = World()
    await world.frontier.add([TASK])
    await world.frontier.order(SiteOrder("a.org", delay=8.0, at=NOW - 60))

    story = await world.why()

    assert story.outlook.prospect is Prospect.DUE
    assert any("an operator wants 8.0 s between two requests of a.org" in why for why in story.outlook.because)


async def test_a_site_that_is_set_aside_takes_its_urls_with_it() -> None:
    world = World()
    await world.frontier.add([replace(TASK, url=OTHER)])
    await world.settled(Skip(Reason.SITE_UNREACHABLE, "connect_refused"), replace(TASK, url=PAGE), set_aside=True)

    for url in (PAGE, OTHER):
        story = await world.why(url)

        assert (story.standing.state, story.standing.reason) == (State.SKIPPED, Reason.SITE_UNREACHABLE)
        assert story.outlook.because[-1] == "a.org is set aside, with all that it owes"
        assert story.outlook.remedies[0].startswith("revive it")


async def test_a_fetched_page_is_not_visited_again() -> None:
    world = await World().settled(done(TASK))
    await world.records.write([visit(1, PAGE, origin="link", depth=1, parent=str(HOME))])

    story = await world.why()

    assert (story.standing.state, len(story.visits), story.outlook.prospect) == (State.FETCHED, 1, Prospect.NEVER)
    assert "--recrawl" in story.outlook.remedies[0]


async def test_a_page_that_is_looked_at_again_says_when() -> None:
    world = await World().settled(replace(done(TASK), due_at=90_000.0, visited_at=NOW))

    story = await world.why()

    assert (story.outlook.prospect, story.outlook.at) == (Prospect.LATER, 90_000.0)
    assert "looked at again about as often as it changes" in story.outlook.because[0]


async def test_what_is_known_by_its_hash_alone_is_told_by_the_records() -> None:
    world = World()
    identity = world.frontier.rules.identity
    await world.frontier.restore(hashes=[identity.hash(url) for url in (HOME, PAGE, OTHER)])
    await world.records.write([visit(1, PAGE), visit(2, OTHER, PAGE)])
    await world.records.write([Record(decisions=(decision(str(HOME)),))])

    fetched, moved, refused = [await world.why(url) for url in (PAGE, OTHER, HOME)]

    assert (fetched.standing.known_by, fetched.standing.state) == (Knowledge.HASH, State.FETCHED)
    assert (moved.standing.state, moved.standing.of) == (State.ALIAS, PAGE)
    assert (refused.standing.state, refused.standing.reason) == (State.SKIPPED, Reason.ROBOTS_DISALLOWED)


async def test_the_story_of_an_alias_goes_on_with_that_of_its_page() -> None:
    world = await World().settled(MovedTo(OTHER))
    await world.frontier.add([replace(TASK, url=OTHER)])

    story = await world.why()

    assert (story.standing.state, story.standing.of) == (State.ALIAS, OTHER)
    assert story.other is not None
    assert (story.other.url, story.other.standing.state) == (OTHER, State.PENDING)


async def test_aliases_that_lead_in_a_circle_are_told_once() -> None:
    world = World()
    lines = [Entry(PAGE, State.ALIAS, "a.org", of=OTHER), Entry(OTHER, State.ALIAS, "a.org", of=PAGE)]
    await world.frontier.restore(lines)

    story = await world.why()

    assert story.other is not None
    assert story.other.other is None


async def test_a_duplicate_names_the_page_that_it_duplicates() -> None:
    world = World()
    await world.frontier.add([Task(OTHER)])
    await world.settled(done(replace(TASK, url=OTHER), OTHER), Task(OTHER))
    await world.frontier.restore([Entry(PAGE, State.FETCHED, "a.org", of=OTHER)])

    story = await world.why()

    assert (story.standing.state, story.standing.of) == (State.FETCHED, OTHER)
    assert story.other is not None


async def test_a_url_that_is_the_same_page_by_other_words_is_told_by_the_name_in_the_ledger() -> None:
    world = World(FrontierRules(Identity(seed=7, sort_query=True)))
    known = Url("http://a.org/?b=1&a=2")
    await world.settled(Dead(Reason.HTTP_404, 1, status=404), Task(known))
    await world.records.write([visit(1, known, code=404)])

    story = await world.why(Url("http://a.org/?a=2&b=1"))

    assert (story.standing.name, story.standing.state, len(story.visits)) == (known, State.DEAD, 1)


async def test_robots_is_judged_by_the_copy_that_the_site_keeps() -> None:
    file = RobotsFile("http://a.org", RobotsStatus.FOUND, NOW, NOW + 9, b"User-agent: *\nDisallow: /page")
    world = World()
    await world.frontier.restore(sites=[Site("a.org", robots=(file,))])

    story = await world.why()

    assert story.robots is not None
    assert story.robots.verdict is not None
    assert (story.robots.verdict.allowed, story.robots.verdict.line) == (False, 2)
    assert story.rulings[-1].reason is Reason.ROBOTS_DISALLOWED
    assert story.outlook.remedies == ("the site's owner would have to allow it in robots.txt",)


async def test_a_rule_that_has_changed_since_is_told() -> None:
    world = World()
    await world.frontier.add([], [(PAGE, Reason.SKIP_PATTERN)])

    story = await world.why()

    assert "today's rules would admit it" in story.outlook.because
    assert not story.standing.can_be_revived
    assert any("--fresh" in remedy for remedy in story.outlook.remedies)


async def test_a_visit_on_record_of_a_url_that_the_frontier_does_not_know_is_told() -> None:
    world = World()
    await world.records.write([visit(1, PAGE)])

    story = await world.why()

    assert (story.standing.known_by, len(story.visits)) == (Knowledge.RECORDS, 1)
    assert "does not know it, though a visit of it is on record" in story.outlook.because[0]


async def test_what_was_too_deep_is_judged_as_deep_as_it_is() -> None:
    world = World()
    rules = admit_rules(max_depth=1)
    await world.frontier.add([], [(PAGE, Reason.TOO_DEEP)])
    refused = replace(decision(str(PAGE), by="admit", rule="max_depth=1"), reason="too_deep", parent=str(HOME))
    await world.records.write([visit(1, HOME, depth=1, origin="link"), Record(decisions=(refused,))])

    story = await world.why(terms=replace(TERMS, admit=rules))

    assert [ruling.evidence for ruling in story.rulings if ruling.passes is False] == ["depth 2"]
    assert story.outlook.remedies[0] == "change max_depth: the rule is ours"


async def test_where_robots_txt_is_not_consulted_it_is_no_obstacle() -> None:
    file = RobotsFile("http://a.org", RobotsStatus.FOUND, NOW, NOW + 9, b"User-agent: *\nDisallow: /")
    world = World()
    await world.frontier.restore(sites=[Site("a.org", robots=(file,))])

    story = await world.why(terms=replace(TERMS, respects_robots=False))

    assert (story.robots, story.rulings[-1].passes) == (None, True)
    assert "not consulted, by setting" in story.rulings[-1].evidence


async def test_a_frontier_that_cannot_name_one_site_is_walked_through() -> None:
    class Foreign(MemoryFrontier):
        look_at = None  # type: ignore[assignment]  # as a backend of somebody else's, which has the port alone

    world = World()
    world.frontier = Foreign(world.frontier.rules, FakeClock(NOW))
    await world.frontier.add([Task(Url(f"http://{name}.org/")) for name in ("x", "a", "b")])
    await world.frontier.restore(sites=[Site("a.org", not_before=NOW + 30)])

    known, unknown = await world.why(HOME), await world.why(Url("http://nowhere.org/"))

    assert (known.outlook.prospect, known.outlook.at) == (Prospect.LATER, NOW + 30)
    assert not unknown.site.is_known


async def test_a_lease_that_has_run_out_holds_nothing() -> None:
    world = World()
    await world.frontier.add([TASK])
    await world.frontier.lease(sites=1, tasks=1, seconds=-1)

    assert (await world.why()).outlook.prospect is not Prospect.UNDER_WAY


async def test_a_sitemap_is_judged_by_the_rules_for_sitemaps() -> None:
    listing = Url("http://a.org/sitemap.xml")
    rules = admit_rules(extensions=frozenset({".xml"}))
    world = World()
    await world.frontier.add([Task(listing, origin=Origin.LISTING)])

    story = await world.why(listing, replace(TERMS, admit=rules))

    assert all(ruling.passes is not False for ruling in story.rulings)


@pytest.mark.parametrize("reason", Reason)
async def test_every_reason_is_answered_with_a_sentence(reason: Reason) -> None:
    """There is no end that cannot be explained."""
    is_refused = reason.family is Family.ADMISSION
    world = World()
    if is_refused:
        await world.frontier.add([], [(PAGE, reason)])
    else:
        await world.settled(Dead(reason, 3, "as it said"))
        await world.records.write([visit(1, PAGE, code=0, status=PageStatus.FAILED, reason=reason.value)])

    story = await world.why()

    assert story.standing.reason is reason
    assert story.outlook.because[0] == f"{reason}: {meaning(reason)}"
    assert len(meaning(reason).split()) >= 3
    assert story.outlook.remedies
    assert story.outlook.prospect is Prospect.NEVER
    if reason in SETTINGS and not is_refused:
        assert SETTINGS[reason] in story.outlook.remedies[0]


@pytest.mark.parametrize("reason", Reason)
async def test_every_reason_is_answered_with_a_sentence_while_another_visit_is_owed(reason: Reason) -> None:
    world = await World().settled(Later(2_000.0, reason, 1, 1, NOW))
    await world.records.write([visit(1, PAGE, code=0, status=PageStatus.FAILED, reason=reason.value)])

    story = await world.why()

    assert story.outlook.because[0] == f"its last visit failed ({reason}): {meaning(reason)}"
