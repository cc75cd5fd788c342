"""Any story, told to a backend and to the memory frontier side by side: the same answers, and the invariants each time.

`machine(open)` makes a hypothesis state machine; run it with `run_state_machine_as_test`. What is lent while nobody
holds anything is also compared with the pure `policy.select`, so that the memory frontier has a judge of its own.
"""

# ruff: noqa: S101 - a contract asserts

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from outrider.model.lease import Lease
from outrider.model.ledger import Filter, Search, Settled, State
from outrider.model.outcome import Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.site import Site
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.search import is_wanted
from outrider.policy.select import Turn, select
from outrider.policy.settle import SettleRules
from outrider.ports import Browsable, Clock, FrontierRules, OwesAgain, TakesOrders
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.registry import FrontierStore
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.frontier.browsing import browsed, by_url

Open = Callable[[str, FrontierRules, Clock], AbstractAsyncContextManager[FrontierStore]]

RULES = FrontierRules(site_quota=12, settle=SettleRules(max_recoveries=2))
START = 1_000.0

urls = st.builds(
    lambda site, path: Url(f"http://{site}.org/{path}"),
    st.sampled_from(["a", "b", "c", "www.a"]),
    st.integers(0, 12).map(str) | st.sampled_from(["x|y", "q?a=|&b", "%7e", "~"]),
)
tasks = st.builds(
    Task,
    urls,
    depth=st.integers(0, 3),
    priority=st.integers(-2, 2),
    due_at=st.sampled_from([0.0, 0.0, 0.0, START - 10, START + 15]),
)
searches = st.builds(
    Search,
    st.sampled_from([None, None, *State]),
    st.sampled_from([None, None, None, Reason.HTTP_404, Reason.SITE_UNREACHABLE, Reason.TOO_DEEP]),
    st.sampled_from([None, None, "a.org", "b.org"]),
    text=st.sampled_from([None, None, "", "/1", "www", "org/x|", "nowhere"]),
)


def settlements(task: Task, now: float) -> st.SearchStrategy[Settlement]:
    final = st.sampled_from([task.url, task.url, Url(f"{task.url.origin}/final"), Url(f"{task.url.origin}/1")])
    return st.one_of(
        st.builds(lambda url: Done(url, task.url, 200, Validators(), Changes()), final),
        st.builds(lambda url: Done(url, task.url, 200, Validators('"1"'), Changes(1), "f", now + 30, now), final),
        st.builds(MovedTo, urls),
        st.just(Skip(Reason.ROBOTS_DISALLOWED)),
        st.just(Dead(Reason.HTTP_404, task.visits + 1)),
        st.builds(lambda wait: Later(now + wait, Reason.HTTP_500, task.visits + 1), st.sampled_from([0.5, 5.0, 60.0])),
    )


class FrontierMachine(RuleBasedStateMachine):
    """One store, its model, and a referee who remembers when every site was last lent."""

    open_store: Open

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        self.clock = FakeClock(START)
        self.model = MemoryFrontier(RULES, self.clock)
        self.held: list[Lease] = []
        self.lent_at: dict[str, float] = {}

    @initialize()
    def begin(self) -> None:
        name = f"m{uuid4().hex[:12]}"
        self.store = self.run(self.stack.enter_async_context(type(self).open_store(name, RULES, self.clock)))

    def teardown(self) -> None:
        self.run(self.stack.aclose())
        self.loop.close()

    def run(self, awaitable: Any) -> Any:  # noqa: ANN401 - whatever the port returns
        return self.loop.run_until_complete(awaitable)

    def both(self, call: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - what some stores offer besides, too
        """Ask the store and the model; they must answer alike."""
        expected = self.run(call(self.model))
        answered = self.run(call(self.store))
        assert answered == expected
        return answered

    @rule(batch=st.lists(tasks, max_size=8), refused=st.lists(st.tuples(urls, st.just(Reason.TOO_DEEP)), max_size=2))
    def add(self, batch: list[Task], refused: list[tuple[Url, Reason]]) -> None:
        self.both(lambda frontier: frontier.add(batch, refused))

    @rule(sites=st.integers(1, 4), tasks=st.integers(1, 4), seconds=st.sampled_from([5.0, 40.0]))
    def lease(self, sites: int, tasks: int, seconds: float) -> None:
        turns = self.run(self.turns(sites, tasks))
        leased = self.both(lambda frontier: frontier.lease(sites=sites, tasks=tasks, seconds=seconds))
        if turns is not None:
            assert [(lease.site, lease.tasks) for lease in leased.leases] == [(turn.site, turn.tasks) for turn in turns]
        now = self.clock.now()
        for lease in leased.leases:
            last = self.lent_at.get(lease.site.key)
            assert last is None or now >= last + lease.site.pace.interval, "a politeness gap was shortened"
            self.lent_at[lease.site.key] = now
        self.held += leased.leases

    async def turns(self, sites: int, tasks: int) -> list[Turn] | None:
        """Whose turn it is by the policy alone; None while some site is held."""
        if (await self.model.census()).leased:
            return None
        queues: dict[str, tuple[Site, list[Task]]] = {}
        async for batch in self.model.sites():
            queues |= {site.key: (site, []) for site in batch}
        async for entries in self.model.entries():
            for entry in entries:
                if entry.task is not None and entry.state in {State.PENDING, State.WAITING}:
                    queues[entry.site][1].append(entry.task)
        return select(queues.values(), self.clock.now(), sites=sites, tasks=tasks)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        """Any lease that was ever lent, stale ones too, in whole or in part."""
        lease = data.draw(st.sampled_from(self.held))
        now = self.clock.now()
        account = Settled(
            lease,
            replace(
                lease.site,
                not_before=now + data.draw(st.sampled_from([-50.0, 0.0, 1.0, 20.0])),
                fetched=lease.site.fetched + 1,
                set_aside=data.draw(st.integers(0, 7)) == 0,
            ),
            tuple(
                (task, data.draw(settlements(task, now))) for task in lease.tasks if data.draw(st.integers(0, 3)) > 0
            ),
            keep=data.draw(st.booleans()),
        )
        self.both(lambda frontier: frontier.settle([account]))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), seconds=st.sampled_from([5.0, 40.0]))
    def extend(self, data: st.DataObject, seconds: float) -> None:
        leases = data.draw(st.lists(st.sampled_from(self.held), max_size=3, unique_by=id))
        self.both(lambda frontier: frontier.extend(leases, seconds))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.held))
        self.both(lambda frontier: frontier.release([lease]))

    @rule(
        wanted=st.builds(
            Filter,
            st.sampled_from([None, State.DEAD, State.SKIPPED]),
            st.sampled_from([None, Reason.HTTP_404, Reason.SITE_UNREACHABLE, Reason.SITE_QUOTA]),
            st.sampled_from([None, "a.org"]),
        )
    )
    def revive(self, wanted: Filter) -> None:
        self.both(lambda frontier: frontier.revive(wanted))

    @precondition(lambda self: isinstance(self.store, OwesAgain))
    @rule(batch=st.lists(tasks, max_size=8), ended=st.booleans())
    def owe_again(self, batch: list[Task], *, ended: bool) -> None:
        """Only what a compact store can tell apart: of an alias, and of a refused URL, it has the bare hash."""
        batch = [task for task in batch if self.run(self.is_told_apart(task.url))]
        self.both(lambda frontier: frontier.owe_again(batch, ended=ended))

    @precondition(lambda self: isinstance(self.store, TakesOrders))
    @rule(batch=st.lists(st.tuples(urls, st.sampled_from([Reason.DISMISSED, Reason.EXCLUDED_SITE])), max_size=5))
    def dismiss(self, batch: list[tuple[Url, Reason]]) -> None:
        self.both(lambda frontier: frontier.dismiss(batch))

    async def is_told_apart(self, url: Url) -> bool:
        entry = await self.model.find(url)
        return entry is None or entry.state is State.FETCHED or entry.task is not None

    @precondition(lambda self: isinstance(self.store, Browsable))
    @rule(search=searches, most=st.integers(1, 7), look=st.integers(1, 20))
    def browse(self, search: Search, most: int, look: int) -> None:
        """Page by page the same lines are found as by a walk over all."""
        found = self.run(browsed(self.store, search, most=most, look=look))
        lines = self.run(by_url(self.store))
        assert {line.url: line for line in found} == {
            url: line for url, line in lines.items() if is_wanted(search, line)
        }
        assert len({line.url for line in found}) == len(found)

    @rule(seconds=st.sampled_from([0.3, 1.0, 7.0, 50.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def the_ledger_closes(self) -> None:
        if hasattr(self, "store"):
            census = self.both(lambda frontier: frontier.census())
            assert census.adds_up


def machine(open_store: Open) -> type[FrontierMachine]:
    return type("Machine", (FrontierMachine,), {"open_store": staticmethod(open_store)})
