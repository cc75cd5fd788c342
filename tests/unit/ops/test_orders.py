"""An operator acts on a site: the order is written, told, and what an excluded site owes is ended."""

from typing import Final

import pytest

from outrider.errors import ConfigError
from outrider.model.event import Event, SiteOrdered, UrlDismissed
from outrider.model.identity import Identity
from outrider.model.ledger import Filter, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ops.orders import Act, act_on_site, operable, order_site, revised
from outrider.ports import Browsable, FrontierRules
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.clock import FakeClock

NOW: Final = 1_000.0
SITE: Final = "a.org"


def pages(count: int, site: str = SITE, due_at: float = 0.0) -> list[Task]:
    kind = "later" if due_at else "now"
    return [Task(Url(f"http://{site}/{kind}/{n}"), due_at=due_at) for n in range(count)]


class Plain(MemoryFrontier):
    """A frontier that takes orders and cannot be browsed: somebody else's, or an older one."""

    browse = survey = None  # type: ignore[assignment]  # it has none of them


@pytest.fixture(params=[MemoryFrontier])
def frontier(request: pytest.FixtureRequest) -> MemoryFrontier:
    kind: type[MemoryFrontier] = request.param
    return kind(FrontierRules(Identity(seed=7)), FakeClock(NOW))


@pytest.mark.parametrize(
    ("before", "act", "delay", "after"),
    [
        (SiteOrder(SITE), Act.PAUSE, None, SiteOrder(SITE, paused=True, at=NOW)),
        (SiteOrder(SITE, delay=2.0), Act.PAUSE, None, SiteOrder(SITE, paused=True, delay=2.0, at=NOW)),
        (SiteOrder(SITE, paused=True, delay=2.0), Act.RESUME, None, SiteOrder(SITE, delay=2.0, at=NOW)),
        (SiteOrder(SITE, paused=True), Act.EXCLUDE, None, SiteOrder(SITE, paused=True, excluded=True, at=NOW)),
        (SiteOrder(SITE, excluded=True), Act.INCLUDE, None, SiteOrder(SITE, at=NOW)),
        (SiteOrder(SITE, paused=True), Act.DELAY, 0.0, SiteOrder(SITE, paused=True, delay=0.0, at=NOW)),
        (SiteOrder(SITE, paused=True, delay=5.0), Act.DELAY, None, SiteOrder(SITE, paused=True, at=NOW)),
    ],
)
def test_one_act_leaves_alone_what_else_was_said(
    before: SiteOrder, act: Act, delay: float | None, after: SiteOrder
) -> None:
    assert revised(before, act, NOW, delay) == after


@pytest.mark.parametrize("delay", [-1.0, 86_401.0, float("nan"), float("inf")])
def test_a_delay_that_nobody_can_keep_is_refused(delay: float) -> None:
    with pytest.raises(ConfigError, match="expected 0 to 86400"):
        revised(SiteOrder(SITE), Act.DELAY, NOW, delay)


async def test_an_act_is_written_and_told(frontier: MemoryFrontier) -> None:
    events = MemoryEvents()

    await act_on_site(frontier, events, Act.DELAY, SITE, by="a test", now=NOW, delay=2.5)
    done = await act_on_site(frontier, events, Act.PAUSE, SITE, by="a test", now=NOW + 1)

    assert await frontier.orders() == [done.order] == [SiteOrder(SITE, paused=True, delay=2.5, at=NOW + 1)]
    assert list(events.events) == [
        SiteOrdered(at=NOW, site=SITE, delay=2.5, by="a test"),
        SiteOrdered(at=NOW + 1, site=SITE, paused=True, delay=2.5, by="a test"),
    ]


async def test_an_order_that_is_taken_back_is_told_too(frontier: MemoryFrontier) -> None:
    events = MemoryEvents()
    await order_site(frontier, events, SiteOrder(SITE, paused=True, at=NOW), "a test")

    await act_on_site(frontier, events, Act.RESUME, SITE, by="a test", now=NOW + 9)

    assert await frontier.orders() == []
    assert events.events[-1] == SiteOrdered(at=NOW + 9, site=SITE, by="a test")


@pytest.mark.parametrize("frontier", [MemoryFrontier, Plain], indirect=True)
async def test_excluding_ends_all_that_the_site_owes_for_good(frontier: MemoryFrontier) -> None:
    """Due now or later, in several batches; what other sites owe is left alone."""
    await frontier.add([*pages(4_100), *pages(30, due_at=NOW + 500), *pages(3, "b.org")])
    events = MemoryEvents()
    store = operable(frontier)

    done = await act_on_site(store, events, Act.EXCLUDE, SITE, by="a test", now=NOW)
    again = await act_on_site(store, events, Act.EXCLUDE, SITE, by="a test", now=NOW)

    census = await frontier.census()
    assert isinstance(store, Browsable) is not isinstance(frontier, Plain)
    assert (done.dismissed, again.dismissed) == (4_130, 0)
    assert (census.pending, census.waiting, census.skipped) == (3, 0, {Reason.EXCLUDED_SITE: 4_130})
    assert census.adds_up
    assert await frontier.revive(Filter()) == 0
    ended = [event for event in events.events if isinstance(event, UrlDismissed)]
    assert {(event.site, event.reason, event.by) for event in ended} == {(SITE, Reason.EXCLUDED_SITE, "a test")}
    assert len({event.url for event in ended}) == len(ended) == 4_130


async def test_who_includes_a_site_again_gets_new_urls_and_not_those_that_ended(frontier: MemoryFrontier) -> None:
    events = MemoryEvents()
    await frontier.add(pages(2))
    await act_on_site(frontier, events, Act.EXCLUDE, SITE, by="a test", now=NOW)

    await act_on_site(frontier, events, Act.INCLUDE, SITE, by="a test", now=NOW)
    await frontier.add(pages(3))

    states = [await frontier.find(task.url) for task in pages(3)]
    assert [entry and entry.state for entry in states] == [State.SKIPPED, State.SKIPPED, State.PENDING]


class Sink:
    """Keeps nothing: a place without an event log."""

    async def publish(self, events: list[Event]) -> None:
        """Nobody listens."""


def test_a_frontier_that_takes_no_orders_is_refused() -> None:
    with pytest.raises(ConfigError, match="Sink takes no orders"):
        operable(Sink())
