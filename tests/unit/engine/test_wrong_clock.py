"""A worker steers by the clock of whoever lends (H4-7): how wrong its own is changes nothing of what it does."""

from itertools import pairwise

import pytest
from tests.unit.engine.crawling import ROOT, START, Scene, linking
from tests.unit.engine.wrapped import Acts, WrappedFrontier

from outrider.app.rules import frontier_rules
from outrider.model.event import PageFetched
from outrider.model.ledger import Leased
from outrider.ports import Clock, Frontier
from outrider.settings import settings_of
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.clock import FakeClock

PAGES = {f"{ROOT}/{number}": linking() for number in range(6)}
WRONG = pytest.mark.parametrize("wrong_by", [-120.0, 0.0, 90.0])


class Apart:
    """Runs as the other clock does, so far ahead of it."""

    def __init__(self, clock: Clock, by: float) -> None:
        self._clock = clock
        self._by = by

    def now(self) -> float:
        return self._clock.now() + self._by

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


class Lending(WrappedFrontier):
    """Says what was lent, and until when."""

    def __init__(self, inner: Frontier, acts: Acts) -> None:
        super().__init__(inner, acts)
        self.lent: list[Leased] = []

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        leased = await super().lease(sites=sites, tasks=tasks, seconds=seconds)
        self.lent.append(leased)
        return leased


def _scene(wrong_by: float, acts: Acts, lease: float = 30.0) -> tuple[Scene, MemoryFrontier, Lending]:
    """The worker's clock is the fake one, and the store's is right: so far from it as the worker's is wrong."""
    clock = FakeClock(START)
    rules = frontier_rules(settings_of(delay=4, scope="any"))
    memory = MemoryFrontier(rules, Apart(clock, -wrong_by))
    lending = Lending(memory, acts)
    scene = Scene(PAGES, PAGES, clock=clock, frontier=lending, delay=4, lease=lease)
    scene.memory = memory
    return scene, memory, lending


@WRONG
async def test_no_pause_is_shortened_or_drawn_out_by_a_wrong_clock(wrong_by: float) -> None:
    scene, memory, _ = _scene(wrong_by, Acts())

    await scene.crawl()

    moments = [at for at, _ in scene.web.began]
    assert [later - earlier for earlier, later in pairwise(moments)] == pytest.approx([4.0] * 6)
    census = await memory.census()
    assert (census.fetched, census.stale) == (6, 0)


@WRONG
async def test_events_carry_the_time_of_the_store(wrong_by: float) -> None:
    scene, _, _ = _scene(wrong_by, Acts())

    await scene.crawl()

    asked_at = [at - wrong_by for at, request in scene.web.began if not request.url.endswith("robots.txt")]
    assert [event.at for event in scene.told(PageFetched)] == pytest.approx(asked_at)


@WRONG
async def test_a_wrong_clock_neither_outlives_a_lease_nor_gives_it_up_early(wrong_by: float) -> None:
    acts = Acts()
    scene, _, lending = _scene(wrong_by, acts, lease=9.0)
    await scene.propose()

    async with scene.running() as worker:
        await scene.until(lambda: worker.in_flight == 1)
        acts.away = dict.fromkeys(("extend", "lease", "settle"), 1_000)
        ends_at = next(leased for leased in lending.lent if leased.leases).leases[0].deadline + wrong_by
        await scene.until(lambda: scene.clock.now() > ends_at + 20)
        asked_at = [at for at, _ in scene.web.began]
        acts.away = {}

    assert ends_at - 5 < max(asked_at) < ends_at
