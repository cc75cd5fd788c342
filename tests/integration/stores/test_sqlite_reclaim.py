"""A crawl that was killed begins again at once: nobody waits for leases of processes that are known to be dead."""

from pathlib import Path

from outrider.model.ledger import State
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.sqlite.frontier import SqliteFrontier
from outrider.testing.clock import FakeClock

A = Url("http://a.test/")


async def test_leases_of_the_dead_are_ended_and_their_sites_rest_as_if_asked_just_now(tmp_path: Path) -> None:
    """DESIGN 1: peek, do not pop. S2-21, H0-4."""
    clock = FakeClock(start=1_000.0)
    place = f"sqlite://{tmp_path}/crawl.db"
    async with SqliteFrontier.open(Place(place), FrontierRules(), clock) as frontier:
        await frontier.add([Task(A)])
        await frontier.lease(sites=1, tasks=1, seconds=60.0)

    async with SqliteFrontier.open(Place(place), FrontierRules(), clock) as frontier:
        ended = await frontier.reclaim()
        at_once = await frontier.lease(sites=1, tasks=1, seconds=60.0)
        clock.advance(1.0)
        later = await frontier.lease(sites=1, tasks=1, seconds=60.0)
        census = await frontier.census()
        entry = await frontier.find(A)

    assert ended == 1
    assert at_once.leases == ()
    assert at_once.next_at == 1_001.0
    assert [task.url for task in later.leases[0].tasks] == [A]
    assert later.leases[0].tasks[0].recoveries == 0
    assert census.leased == 1
    assert entry is not None
    assert entry.state is State.PENDING


async def test_a_holder_that_was_not_dead_after_all_is_refused(tmp_path: Path) -> None:
    clock = FakeClock(start=1_000.0)
    async with SqliteFrontier.open(Place(f"sqlite://{tmp_path}/crawl.db"), FrontierRules(), clock) as frontier:
        await frontier.add([Task(A)])
        leased = await frontier.lease(sites=1, tasks=1, seconds=60.0)
        await frontier.reclaim()

        extended = await frontier.extend(leased.leases, 60.0)

    assert extended == [None]
