"""Dead letters over the stores of this process: which are meant, and what becomes of them (C18: a line each)."""

from collections.abc import AsyncIterator
from typing import Final

import pytest
from msgspec import Struct

from outrider.errors import ConfigError
from outrider.model.event import Event, UrlDismissed, UrlReplayed
from outrider.model.ledger import Settled, State
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, Settlement, Skip
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.ops import dead_letters
from outrider.ops.ancestry import instant
from outrider.ops.dead_letters import Wanted, count_letters, drop, letters, replay
from outrider.policy.pace import PaceLimits
from outrider.policy.settle import SettleRules
from outrider.ports import EventSink, FrontierRules, Records
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.records import open_records
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.records import visit

A: Final = Url("http://www.a.org/one?q=1")
B: Final = Url("http://a.org/two")
C: Final = Url("http://b.org/three")
SKIPPED: Final = Url("http://b.org/skipped")
WAITING: Final = Url("http://b.org/waiting")
EARLY: Final = "2026-11-16T06:00:00.000Z"
LAST: Final = visit(3, C, code=410, at="2026-11-16T07:00:00.000Z")
RULES: Final = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0)))
FATES: Final[dict[Url, Settlement]] = {
    A: Dead(Reason.HTTP_404, 1, status=404),
    B: Dead(Reason.READ_TIMEOUT, 3, "nothing came"),
    C: Dead(Reason.HTTP_410, 1, status=410),
    SKIPPED: Skip(Reason.ROBOTS_DISALLOWED),
    WAITING: Later(4e9, Reason.HTTP_500, 1),
}


class Stores(Struct):
    frontier: FrontierStore
    records: Records
    events: EventSink


@pytest.fixture
async def stores() -> AsyncIterator[Stores]:
    """Three dead letters of two sites, the second without a record of its visit; and two that are none."""
    async with open_frontier("memory:", RULES) as frontier, open_records("memory:") as records:
        await frontier.add([Task(url, 2, 5, Origin.LINK, Url("http://a.org/")) for url in FATES])
        for lease in (await frontier.lease(sites=9, tasks=9, seconds=60)).leases:
            fates = tuple((task, FATES[task.url]) for task in lease.tasks)
            await frontier.settle([Settled(lease, lease.site, fates)])
        await records.write([visit(1, A, code=404, at=EARLY), visit(2, C, code=410, at=EARLY), LAST])
        yield Stores(frontier, records, MemoryEvents())


async def found(stores: Stores, wanted: Wanted) -> list[Url]:
    return [letter.url async for letter in letters(stores.frontier, stores.records, wanted)]


def told(stores: Stores) -> list[Event]:
    assert isinstance(stores.events, MemoryEvents)
    return list(stores.events.events)


async def test_a_letter_tells_its_line_and_its_last_visit(stores: Stores) -> None:
    (letter,) = [one async for one in letters(stores.frontier, stores.records, Wanted(urls=(C,)))]

    assert LAST.page is not None
    assert (letter.reason, letter.status, letter.visits, letter.site) == (Reason.HTTP_410, 410, 1, "b.org")
    assert (letter.depth, letter.origin, letter.parent) == (2, "link", "http://a.org/")
    assert (letter.fetch_id, letter.last_at) == ("fetch-3", instant(LAST.page.metadata.fetched_at))


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        (Wanted(), [A, B, C]),
        (Wanted(reasons=frozenset({Reason.HTTP_404})), [A]),
        (Wanted(reasons=frozenset({Reason.HTTP_404, Reason.HTTP_410})), [A, C]),
        (Wanted(site="a.org"), [A, B]),
        (Wanted(site="WWW.a.org"), [A]),
        (Wanted(site="c.org"), []),
        (Wanted(site="no host at all"), []),
        (Wanted(status=404), [A]),
        (Wanted(status=0), [B]),
        (Wanted(text="t"), [A, B, C]),
        (Wanted(text="/t"), [B, C]),
        (Wanted(urls=(A, SKIPPED, WAITING, Url("http://d.org/"))), [A]),
        (Wanted(urls=(A, C), status=410), [C]),
    ],
)
async def test_only_dead_lines_that_match_are_meant(stores: Stores, wanted: Wanted, meant: list[Url]) -> None:
    assert sorted(await found(stores, wanted)) == sorted(meant)
    assert (await count_letters(stores.frontier, stores.records, wanted)).total == len(meant)


async def test_the_time_is_that_of_the_last_visit_and_what_has_none_is_left_out_and_said(stores: Stores) -> None:
    moments = {one.url: one.last_at async for one in letters(stores.frontier, stores.records, Wanted())}
    first, last = moments[A], moments[C]
    assert first is not None
    assert last is not None

    after = await count_letters(stores.frontier, stores.records, Wanted(since=first + 0.001), first=9)
    before = await found(stores, Wanted(until=first))
    between = await found(stores, Wanted(since=first, until=last))

    assert moments[B] is None
    assert ([one.url for one in after.first], after.total, after.undated) == ([C], 1, 1)
    assert before == [A]
    assert set(between) == {A, C}


async def test_letters_are_counted_by_reason_and_site(stores: Stores) -> None:
    count = await count_letters(stores.frontier, stores.records, Wanted(), first=2)

    assert count.by_reason == {"http_404": 1, "read_timeout": 1, "http_410": 1}
    assert count.by_site == {"a.org": 2, "b.org": 1}
    assert (count.total, len(count.first)) == (3, 2)


async def test_a_replayed_letter_is_owed_a_visit_as_if_it_had_just_come(stores: Stores) -> None:
    count = await replay(stores, [B, C], "a test", at=7.0)

    line = await stores.frontier.find(B)
    assert count == 2
    assert line is not None
    assert line.task is not None
    assert (line.state, line.visits, line.task.visits, line.task.depth) == (State.PENDING, 0, 0, 2)
    assert (line.task.origin, line.task.priority) == (Origin.LINK, 5)
    assert await found(stores, Wanted()) == [A]
    assert [
        UrlReplayed(at=7.0, url=B, site="a.org", reason=Reason.READ_TIMEOUT, by="a test"),
        UrlReplayed(at=7.0, url=C, site="b.org", reason=Reason.HTTP_410, by="a test"),
    ] == told(stores)


async def test_what_is_no_dead_letter_is_not_replayed(stores: Stores) -> None:
    before = await stores.frontier.census()

    count = await replay(stores, [SKIPPED, WAITING, Url("http://d.org/")], "a test")

    assert (count, told(stores), await stores.frontier.census()) == (0, [], before)


async def test_a_letter_that_is_named_twice_is_replayed_once(stores: Stores) -> None:
    assert await replay(stores, [A, A], "a test") == 1
    assert await replay(stores, [A], "a test") == 0
    assert len(told(stores)) == 1


async def test_many_are_replayed_in_few_acts_and_all_are_told(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_letters, "_ONE_BY_ONE", 0)

    count = await replay(stores, [A, B, C, SKIPPED], "a test")

    assert count == 3
    assert sorted(event.url for event in told(stores) if isinstance(event, UrlReplayed)) == sorted([A, B, C])


async def test_a_dropped_letter_ends_as_dismissed_and_stays_so(stores: Stores) -> None:
    count = await drop(stores, [A, SKIPPED, WAITING], "a test", at=7.0)
    again = await drop(stores, [A], "a test")
    replayed = await replay(stores, [A], "a test")

    line = await stores.frontier.find(A)
    census = await stores.frontier.census()
    assert (count, again, replayed) == (1, 0, 0)
    assert line is not None
    assert (line.state, line.reason) == (State.SKIPPED, Reason.DISMISSED)
    assert (census.skipped[Reason.DISMISSED], census.adds_up) == (1, True)
    assert told(stores) == [UrlDismissed(at=7.0, url=A, site="a.org", reason=Reason.DISMISSED, by="a test")]


async def test_a_frontier_of_somebody_else_s_may_not_be_able_to(stores: Stores) -> None:
    class Bare:
        rules = RULES

    bare = Stores(Bare(), stores.records, stores.events)  # type: ignore[arg-type]

    with pytest.raises(ConfigError, match="cannot owe"):
        await replay(bare, [A], "a test")
    with pytest.raises(ConfigError, match="cannot dismiss"):
        await drop(bare, [A], "a test")
