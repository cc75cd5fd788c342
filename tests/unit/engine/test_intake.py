"""From the queue into the frontier: nothing is lost on the way, and nothing that stands there stops it."""

import asyncio
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.engine.intake import Intake, IntakeRules, Stores
from outrider.errors import StoreUnavailable
from outrider.model.event import Event
from outrider.model.ledger import Added, Settled, State
from outrider.model.letter import DeadLetter
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.admit import admit_rules
from outrider.ports import FrontierRules
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.memory.intake import MemoryQueue
from outrider.stores.memory.letters import MemoryDeadLetters
from outrider.stores.memory.records import MemoryRecords
from outrider.testing.clock import FakeClock

START: Final = 1_000.0
A, B = "http://a.test/", "http://b.test/x.zip"


class Away(MemoryFrontier):
    """A frontier that cannot be reached for the first `times` calls of `add`; the act may have happened or not."""

    times = 0
    happened = False

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        if self.times:
            self.times -= 1
            if self.happened:
                await super().add(tasks, refused)
            raise StoreUnavailable("away")
        return await super().add(tasks, refused)


class Scene:
    """An intake over stores in memory."""

    def __init__(self, *entries: str) -> None:
        self.clock = FakeClock(START)
        self.queue = MemoryQueue(self.clock)
        self.entries = [entry.encode() for entry in entries]
        self.letters = MemoryDeadLetters(self.clock)
        self.frontier = Away(FrontierRules(), self.clock)
        self.events = MemoryEvents()
        self.records = MemoryRecords()
        stores = Stores(self.queue, self.letters, self.frontier, self.events, self.records)
        rules = admit_rules(extensions=frozenset({".zip"}))
        listing = admit_rules()
        self.intake = Intake(stores, IntakeRules(rules, listing), self.clock)

    async def run(self) -> None:
        """Until the queue is empty."""
        await self.queue.push(self.entries)
        running = asyncio.create_task(self.intake.run())
        for _ in range(10_000):
            if not await self.queue.size():
                break
            await asyncio.sleep(0)
        self.intake.stop()
        await running

    async def state(self, url: str) -> State | None:
        entry = await self.frontier.find(Url(url))
        return entry.state if entry else None

    def told(self) -> list[Event]:
        return list(self.events.events)

    def dead(self) -> list[DeadLetter]:
        return self.letters.letters


async def test_what_is_pushed_is_owed_a_visit_and_crossed_off() -> None:
    """S4-9, S4-27, H4-8."""
    scene = Scene(A, "http://c.test/")

    await scene.run()

    assert (await scene.state(A), await scene.state("http://c.test/")) == (State.PENDING, State.PENDING)
    assert await scene.queue.size() == 0
    assert scene.intake.taken.new == 2


async def test_what_is_no_url_is_a_dead_letter_with_its_reason_and_the_rest_goes_on() -> None:
    scene = Scene("nonsense", A, "\x00\x1b[31m")

    await scene.run()

    assert [(letter.url, letter.reason) for letter in scene.dead()] == [
        ("nonsense", "invalid_url"),
        ("\\x00\\x1b[31m", "invalid_url"),
    ]
    assert [event.__struct_config__.tag for event in scene.told()] == ["entry_refused"] * 2
    assert await scene.state(A) is State.PENDING


async def test_what_a_rule_forbids_is_in_the_ledger_with_its_rule_and_no_dead_letter() -> None:
    scene = Scene(B)

    await scene.run()

    (record,) = await scene.records.find(Url(B))
    assert await scene.state(B) is State.SKIPPED
    assert record.decisions[0].reason is Reason.NON_TEXT_EXTENSION
    assert [event.__struct_config__.tag for event in scene.told()] == ["url_refused"]
    assert scene.dead() == []


async def test_a_list_of_pages_is_judged_as_one() -> None:
    scene = Scene('{"url": "http://b.test/sitemap.zip", "listing": true}')

    await scene.run()

    assert await scene.state("http://b.test/sitemap.zip") is State.PENDING


async def test_a_url_that_was_fetched_is_owed_again_and_one_that_is_owed_is_not_owed_twice() -> None:
    scene = Scene(A, A, B.replace("zip", "html"))
    await scene.frontier.add([Task(Url(A))])
    (lease,) = (await scene.frontier.lease(sites=1, tasks=1, seconds=60)).leases
    done = Done(Url(A), Url(A), 200, Validators(), Changes())
    await scene.frontier.settle([Settled(lease, lease.site, ((lease.tasks[0], done),))])

    await scene.run()

    census = await scene.frontier.census()
    assert await scene.state(A) is State.PENDING
    assert (census.discovered, census.pending, census.fetched) == (2, 2, 0)
    assert (scene.intake.taken.new, scene.intake.taken.again, scene.intake.taken.owed) == (1, 1, 1)


@pytest.mark.parametrize("happened", [True, False])
async def test_a_store_that_is_away_is_waited_for(happened: bool) -> None:  # noqa: FBT001 - a column of the table
    scene = Scene(A)
    scene.frontier.times, scene.frontier.happened = 3, happened

    await scene.run()

    census = await scene.frontier.census()
    assert (census.discovered, census.pending) == (1, 1)
    assert scene.intake.waits_for == ""
    assert scene.clock.now() > START


async def test_who_is_stopped_while_a_store_is_away_leaves_the_batch_to_others() -> None:
    """H4-4: the wait ends at once."""
    scene = Scene(A)
    scene.frontier.times = 1_000_000
    await scene.queue.push(scene.entries)
    running = asyncio.create_task(scene.intake.run())
    for _ in range(10_000):
        if scene.intake.waits_for:
            break
        await asyncio.sleep(0)

    scene.intake.stop()
    await running

    assert await scene.queue.size() == 1
    scene.clock.advance(61)
    batch = await scene.queue.take(10, 60)
    assert batch is not None
    assert batch.entries == (A.encode(),)


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=40), max_size=30))
async def test_whatever_stands_there_every_entry_is_accounted_for(entries: list[bytes]) -> None:
    scene = Scene()
    scene.entries = entries

    await scene.run()

    taken = scene.intake.taken
    assert await scene.queue.size() == 0
    assert taken.entries == len(entries)
    assert taken.new + taken.again + taken.owed + taken.refused + taken.unreadable == len(entries)
