"""A plan over the stores of this process: each kind of line, each thing that may not be known."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import pytest
from msgspec import Struct

from outrider.errors import ConfigError, StoreError
from outrider.model.event import Event, UrlDismissed, UrlReplayed
from outrider.model.ledger import Entry, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.record import Decision, PageStatus, Record
from outrider.model.robots import RobotsFile, RobotsStatus
from outrider.model.settlement import Dead, Done, Settlement, Skip
from outrider.model.site import Site
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.ops.plan import Change, Group, Kind, Plan, plan_of
from outrider.ops.plan_apply import Applied, Hands, apply_flips
from outrider.ops.why import Terms
from outrider.policy.admit import Reach, admit_rules
from outrider.policy.pace import PaceLimits, fresh_pace
from outrider.policy.robots import Unreachable
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules, Records
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.records import open_records
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.records import visit

HOME: Final = Url("http://a.org/")
RULES: Final = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0)))
ROBOTS: Final = b"User-agent: *\nDisallow: /private\n\nUser-agent: friend\nAllow: /"


def terms(*, agent: str = "us", respects: bool = True, **rules: Any) -> Terms:  # noqa: ANN401 - as admit_rules takes them
    return Terms(
        admit=admit_rules(seeds=[HOME], **rules),
        listing=admit_rules(seeds=[HOME]),
        agent=agent,
        respects_robots=respects,
        unreachable=Unreachable.DEFER,
    )


class World(Struct):
    frontier: FrontierStore
    records: Records
    events: MemoryEvents

    async def owe(self, *paths: str, depth: int = 1, origin: Origin = Origin.LINK) -> None:
        await self.frontier.add([Task(Url(path, HOME), depth, -depth, origin, HOME) for path in paths])

    async def end(self, path: str, settlement: Settlement) -> None:
        """As a visit of it would."""
        await self.owe(path)
        for lease in (await self.frontier.lease(sites=9, tasks=99, seconds=60)).leases:
            fates = tuple((task, settlement) for task in lease.tasks if task.url == Url(path, HOME))
            assert fates
            await self.frontier.settle([Settled(lease, lease.site, fates)])

    async def refuse(self, path: str, reason: Reason, parent: str | None = "/", *, is_told: bool = True) -> None:
        url = Url(path, HOME)
        await self.frontier.add([], [(url, reason)])
        if is_told:
            by = None if parent is None else str(Url(parent, HOME))
            await self.records.write([Record(decisions=(Decision(str(url), "admit", reason, "a rule", "", 1.0, by),))])

    async def plan(self, after: Terms, before: Terms | None = None, **change: Any) -> Plan:  # noqa: ANN401 - fields
        return await plan_of(self.frontier, self.records, Change(after, before, **change))

    async def apply(self, after: Terms, before: Terms | None = None) -> Applied:
        hands = Hands(self.frontier, self.records, self.events, "a test", 7.0)
        return await apply_flips(hands, Change(after, before))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """The home page is on record, at depth 0, and its site's robots.txt is known."""
    async with open_frontier("memory:", RULES) as frontier, open_records("memory:") as records:
        file = RobotsFile("http://a.org", RobotsStatus.FOUND, 1.0, 2.0, ROBOTS)
        await frontier.restore(sites=[Site("a.org", pace=fresh_pace(RULES.settle.pace), robots=(file,))])
        await records.write([visit(1, HOME, origin="seed", depth=0)])
        yield World(frontier, records, MemoryEvents())


def told(groups: list[Group]) -> dict[str, list[str]]:
    return {f"{group.reason}: {group.rule}": [flip.url.path for flip in group.examples] for group in groups}


async def test_what_is_owed_and_would_be_refused_is_counted_by_rule(world: World) -> None:
    await world.owe("/a/1", "/a/2", "/b", depth=1)
    await world.owe("/deep", depth=3)

    plan = await world.plan(terms(exclude=[re.compile("/a/")], max_depth=2), terms())

    assert told(plan.refused) == {"out_of_scope: exclude=/a/": ["/a/1", "/a/2"], "too_deep: max_depth=2": ["/deep"]}
    assert (plan.owed, plan.total(Kind.REFUSED)) == ([], 3)


async def test_a_refused_url_is_as_deep_as_the_page_that_named_it_and_one_more(world: World) -> None:
    await world.records.write([visit(2, "http://a.org/far", origin="link", depth=4)])
    await world.refuse("/one", Reason.TOO_DEEP)
    await world.refuse("/five", Reason.TOO_DEEP, "/far")

    plan = await world.plan(terms(max_depth=2), terms(max_depth=0))

    assert told(plan.owed) == {"too_deep: max_depth=0": ["/one"]}
    (flip,) = plan.owed[0].examples
    assert flip.task == Task(Url("/one", HOME), 1, -1, Origin.LINK, HOME)


async def test_a_seed_that_was_refused_has_no_depth_and_no_parent(world: World) -> None:
    await world.refuse("/seed.pdf", Reason.NON_TEXT_EXTENSION, None)

    plan = await world.plan(terms(max_depth=0), terms(max_depth=0, extensions=frozenset({".pdf"})))

    assert told(plan.owed) == {"non_text_extension: skip_extensions": ["/seed.pdf"]}
    assert plan.owed[0].examples[0].task == Task(Url("/seed.pdf", HOME))


async def test_where_the_depth_is_not_on_record_the_other_rules_judge_and_it_is_said(world: World) -> None:
    await world.refuse("/skip/a", Reason.SKIP_PATTERN, is_told=False)
    await world.refuse("/deep", Reason.TOO_DEEP, is_told=False)

    bounded = await world.plan(terms(max_depth=9), terms(max_depth=1, skip_patterns=["/skip"]))
    unbounded = await world.plan(terms(), terms(max_depth=1, skip_patterns=["/skip"]))

    assert (told(bounded.owed), bounded.notes.without_depth) == ({"skip_pattern: /skip": ["/skip/a"]}, 2)
    assert told(unbounded.owed) == {"skip_pattern: /skip": ["/skip/a"], "too_deep: max_depth=1": ["/deep"]}
    assert unbounded.notes.without_depth == 0


async def test_what_a_redirect_led_to_is_judged_with_it(world: World) -> None:
    moved = visit(3, "http://a.org/hop", "http://a.org/skip/inner", status=PageStatus.SKIPPED, depth=1)
    await world.records.write([moved])
    await world.end("/hop", Skip(Reason.SKIP_PATTERN, "/skip: /skip/inner"))

    wider = await world.plan(terms(), terms(skip_patterns=["/skip"]))
    other = await world.plan(terms(skip_patterns=["/skip"], max_depth=5), terms(skip_patterns=["/skip"]))

    assert told(wider.owed) == {"skip_pattern: /skip": ["/hop"]}
    assert (other.owed, other.notes.already) == ([], 0)


async def test_what_a_refused_page_moved_to_is_as_deep_as_the_page(world: World) -> None:
    left = visit(4, "http://a.org/moved", "http://b.org/x", status=PageStatus.MOVED, depth=2, origin="link")
    await world.records.write([left])
    await world.refuse("http://b.org/x", Reason.OUT_OF_SCOPE, "/moved")

    plan = await world.plan(terms(max_depth=2), terms(max_depth=2, reach=Reach.HOST))

    task = plan.owed[0].examples[0].task
    assert task is not None
    assert (task.depth, task.origin, task.parent) == (2, Origin.REDIRECT, "http://a.org/moved")


async def test_a_listing_is_judged_as_one(world: World) -> None:
    await world.owe("/sitemap.xml", origin=Origin.LISTING)
    await world.owe("/page.xml")

    plan = await world.plan(terms(extensions=frozenset({".xml"})), terms())

    assert told(plan.refused) == {"non_text_extension: skip_extensions": ["/page.xml"]}


async def test_robots_txt_is_asked_where_the_change_concerns_it(world: World) -> None:
    await world.end("/private/x", Skip(Reason.ROBOTS_DISALLOWED))
    await world.owe("/private/y")

    friend = await world.plan(terms(agent="friend"), terms())
    careless = await world.plan(terms(respects=False), terms())
    careful = await world.plan(terms(), terms(respects=False))
    unconcerned = await world.plan(terms(max_depth=9), terms())

    robots = "robots_disallowed: robots.txt"
    assert told(friend.owed) == told(careless.owed) == {robots: ["/private/x"]}
    assert told(careful.refused) == {robots: ["/private/y"]}
    assert [told(unconcerned.refused), told(unconcerned.owed)] == [{}, {}]


async def test_what_robots_txt_forbids_does_not_come_in_by_another_rule(world: World) -> None:
    await world.refuse("/private/deep", Reason.TOO_DEEP)
    await world.refuse("/deep", Reason.TOO_DEEP)

    plan = await world.plan(terms(max_depth=1), terms(max_depth=0))

    assert told(plan.owed) == {"too_deep: max_depth=0": ["/deep"]}


async def test_a_fetched_page_is_told_apart_and_once(world: World) -> None:
    pages = [visit(n, "http://a.org/old/1", origin="link", depth=1) for n in (5, 6)]
    await world.records.write(pages)

    plan = await world.plan(terms(exclude=[re.compile("/old")]), terms())

    assert told(plan.fetched) == {"out_of_scope: exclude=/old": ["/old/1"]}
    assert (plan.refused, plan.fetched[0].count) == ([], 1)


async def test_what_ended_by_no_rule_of_admission_is_left_alone(world: World) -> None:
    await world.end("/dead", Dead(Reason.HTTP_404, 1))
    await world.end("/gone", Skip(Reason.SITE_QUOTA, "max_site_pages=1"))
    await world.end("/slow", Skip(Reason.CRAWL_DELAY_TOO_LONG))
    await world.frontier.restore([Entry(Url("/no", HOME), State.SKIPPED, "a.org", reason=Reason.DISMISSED)])

    plan = await world.plan(terms(max_depth=9), terms(max_depth=0))
    today = await world.plan(terms())

    assert [plan.refused, plan.owed, today.refused, today.owed] == [[], [], [], []]
    assert plan.notes.over_quota == 1


async def test_a_site_that_an_operator_excluded_stays_out(world: World) -> None:
    await world.refuse("/x", Reason.EXCLUDED_SITE)

    kept_out = await world.plan(terms(), terms(excluded_sites=frozenset({"a.org"})), excluded=frozenset({"a.org"}))
    let_in = await world.plan(terms(), terms(excluded_sites=frozenset({"a.org"})))

    assert (told(kept_out.owed), told(let_in.owed)) == ({}, {"excluded_site: excluded_sites": ["/x"]})


async def test_what_is_known_by_its_hash_alone_is_counted(world: World) -> None:
    done = Done(Url("/f", HOME), Url("/f", HOME), 200, Validators(), Changes())
    await world.end("/f", done)
    await world.frontier.restore(hashes=[1, 2])

    plan = await world.plan(terms(max_depth=9), terms())

    # Of three that were fetched, one page is on record.
    assert plan.notes.by_hash == 2


async def test_with_the_same_rules_the_ledger_is_what_was_before(world: World) -> None:
    await world.refuse("/one", Reason.TOO_DEEP)
    await world.owe("/a/1")

    today = await world.plan(terms(exclude=[re.compile("/a/")]))
    other = await world.plan(
        terms(exclude=[re.compile("/a/")], max_length=99), terms(exclude=[re.compile("/a/")], max_length=98)
    )

    assert told(today.refused) == {"out_of_scope: exclude=/a/": ["/a/1"]}
    assert told(today.owed) == {"too_deep: a rule": ["/one"]}
    assert (other.refused, other.owed, other.notes.already) == ([], [], 2)


async def test_there_are_so_many_examples_as_are_wanted(world: World) -> None:
    await world.owe(*(f"/a/{n}" for n in range(9)))
    change = Change(terms(exclude=[re.compile("/a/")]), terms())

    plan = await plan_of(world.frontier, world.records, change, examples=2)

    assert [(group.count, len(group.examples)) for group in plan.refused] == [(9, 2)]


async def test_exactly_what_is_planned_is_applied_and_written_down(world: World) -> None:
    await world.owe("/a/1", "/b")
    await world.refuse("/one", Reason.TOO_DEEP)

    nothing = await world.apply(terms(max_depth=9), terms(max_depth=9, max_length=1_999))
    applied = await world.apply(terms(exclude=[re.compile("/a/")]), None)
    again = await world.plan(terms(exclude=[re.compile("/a/")]))

    refused, owed = await world.frontier.find(Url("/a/1", HOME)), await world.frontier.find(Url("/one", HOME))
    untouched = await world.frontier.find(Url("/b", HOME))
    assert (nothing, applied) == (Applied(), Applied(1, 1))
    assert refused is not None
    assert owed is not None
    assert untouched is not None
    assert (refused.state, refused.reason) == (State.SKIPPED, Reason.OUT_OF_SCOPE)
    assert (owed.state, owed.task and owed.task.depth, untouched.state) == (State.PENDING, 1, State.PENDING)
    assert (again.refused, again.owed) == ([], [])
    assert list(world.events.events) == [
        UrlDismissed(at=7.0, url=Url("/a/1", HOME), site="a.org", reason=Reason.OUT_OF_SCOPE, by="a test"),
        UrlReplayed(at=7.0, url=Url("/one", HOME), site="a.org", reason=Reason.TOO_DEEP, by="a test"),
    ]
    (record,) = await world.records.find(Url("/a/1", HOME))
    assert [(one.by, one.rule, one.parent) for one in record.decisions] == [("plan", "exclude=/a/", str(HOME))]


async def test_what_was_applied_can_be_planned_back(world: World) -> None:
    await world.owe("/a/1", depth=1)
    narrow, wide = terms(exclude=[re.compile("/a/")]), terms()

    await world.apply(narrow, wide)
    plan = await world.plan(wide, narrow)
    applied = await world.apply(wide, narrow)

    line = await world.frontier.find(Url("/a/1", HOME))
    assert told(plan.owed) == {"out_of_scope: exclude=/a/": ["/a/1"]}
    assert applied == Applied(0, 1)
    assert line is not None
    assert line.task is not None
    assert (line.state, line.task.depth, line.task.parent) == (State.PENDING, 1, HOME)


async def test_many_flips_are_made_batch_by_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outrider.ops.plan_apply.AT_ONCE", 3)
    await world.owe(*(f"/a/{n}" for n in range(10)))
    for n in range(10):
        await world.refuse(f"/b/{n}", Reason.SKIP_PATTERN)

    applied = await world.apply(terms(exclude=[re.compile("/a/")]), terms(skip_patterns=["/b"]))

    census = await world.frontier.census()
    assert (applied, census.pending, census.skipped) == (Applied(10, 10), 10, {Reason.OUT_OF_SCOPE: 10})
    assert len(world.events.events) == 20


async def test_a_frontier_of_somebody_else_s_may_only_be_looked_at(world: World) -> None:
    class Bare:
        rules = RULES

    world.frontier = Bare()  # type: ignore[assignment]

    with pytest.raises(ConfigError, match="can only be looked at"):
        await world.apply(terms())


async def test_after_a_kill_the_same_plan_does_the_rest(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(MemoryEvents):
        async def publish(self, events: Sequence[Event]) -> None:
            if self.events:
                raise StoreError("the disk is full")
            await super().publish(events)

    monkeypatch.setattr("outrider.ops.plan_apply.AT_ONCE", 3)
    await world.owe(*(f"/a/{n}" for n in range(10)))
    narrow, wide = terms(exclude=[re.compile("/a/")]), terms()
    world.events = Broken()

    with pytest.raises(StoreError):
        await world.apply(narrow, wide)
    left = await world.plan(narrow, wide)
    world.events = MemoryEvents()
    rest = await world.apply(narrow, wide)

    assert (left.total(Kind.REFUSED), rest.refused) == (4, 4)
    assert (await world.frontier.census()).skipped == {Reason.OUT_OF_SCOPE: 10}
