"""One desk over stores of this process: what it shows without a crawl beside it, and what it refuses."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from outrider.app.why import terms_of
from outrider.errors import StoreError
from outrider.model.ledger import Search, Settled, State
from outrider.model.progress import Counts, Progress
from outrider.model.reason import Reason
from outrider.model.settlement import Dead
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.observe.status_file import write_status
from outrider.ports import FrontierRules
from outrider.settings import load
from outrider.stores.events import open_events
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.clock import FakeClock
from outrider.web.access import Access
from outrider.web.app import create_app
from outrider.web.desk import Desk, OrderChange, ReadOnly, Sources

URLS = [Url(f"http://{name}.test/") for name in "abc"]


class Without:
    """A frontier that cannot do some of what ours can, as one of somebody else's; or that is away."""

    def __init__(self, frontier: object, *missing: str) -> None:
        self._frontier = frontier
        self._missing = missing
        self.is_away = False

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        if name in self._missing:
            raise AttributeError(name)
        if name == "census" and self.is_away:
            return self._away
        return getattr(self._frontier, name)

    async def _away(self) -> None:
        raise StoreError("the store is away")


@asynccontextmanager
async def sources() -> AsyncIterator[Sources]:
    """One of three URLs has been given up."""
    clock = FakeClock(1_000.0)
    loaded = load({}, environment={})
    async with AsyncExitStack() as stack:
        frontier = await stack.enter_async_context(open_frontier("memory:", FrontierRules(), clock))
        records = await stack.enter_async_context(open_records("none:"))
        events = await stack.enter_async_context(open_events("memory:"))
        await frontier.add([Task(url) for url in URLS])
        leased = await frontier.lease(sites=1, tasks=1, seconds=30)
        lease = leased.leases[0]
        await frontier.settle(
            [Settled(lease, lease.site, ((lease.tasks[0], Dead(Reason.HTTP_404, visits=1, status=404)),))]
        )
        yield Sources(frontier, records, events, loaded, terms_of(loaded.settings, ()), clock, name="memory")


async def test_without_a_crawl_beside_it_the_stores_are_counted() -> None:
    async with sources() as known:
        told = await Desk(known).overview()

    assert (told.is_watched, told.running, told.finish) == (False, None, None)
    assert (told.states.discovered, told.states.pending, told.states.dead) == (3, 2, 1)
    assert [(one.name, one.count) for one in told.dead] == [("http_404", 1)]


async def test_a_crawl_that_tells_of_itself_is_shown_as_it_tells(tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    write_status(status, Progress(900.0, 800.0, workers=2, in_flight=3, rate=1.5, counts=Counts(pages=7, bytes=70)))

    async with sources() as known:
        told = await Desk(replace(known, status=status)).overview()

    assert (told.is_watched, told.running, told.in_flight, told.workers) == (True, True, 3, 2)
    assert (told.totals.pages, told.totals.bytes, told.rate) == (7, 70, 1.5)


async def test_of_a_crawl_that_is_over_the_frontier_knows_best(tmp_path: Path) -> None:
    status = tmp_path / "status.json"
    write_status(status, Progress(900.0, 800.0, finish="finished", workers=2, in_flight=3, rate=1.5))

    async with sources() as known:
        told = await Desk(replace(known, status=status)).overview()

    assert (told.running, told.finish, told.in_flight, told.rate) == (False, "finished", 0, 0.0)
    assert told.states.discovered == 3


async def test_a_store_that_is_away_is_told_and_asked_again() -> None:
    async with sources() as known:
        frontier = Without(known.frontier)
        desk = Desk(replace(known, frontier=frontier))
        frontier.is_away = True

        with pytest.raises(StoreError, match="the store is away"):
            await desk.overview()
        frontier.is_away = False

        assert (await desk.overview()).states.discovered == 3


async def test_a_bug_is_one_shape_for_who_asks_and_a_traceback_for_who_serves() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:  # noqa: ANN401 - ASGI's own
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async with sources() as known:
        app = create_app(Desk(replace(known, frontier=Without(known.frontier, "census"))), Access("127.0.0.1", 1))
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/overview",
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"localhost:1")],
            "scheme": "http",
            "http_version": "1.1",
        }

        with pytest.raises(AttributeError):
            await app(scope, receive, send)

    assert sent[0]["status"] == 500
    assert json.loads(sent[1]["body"])["code"] == "bug"
    assert b"Attribute" not in sent[1]["body"]
    assert (b"cache-control", b"no-store") in sent[0]["headers"]


async def test_who_acts_while_the_desk_looks_is_not_shown_what_was_before() -> None:
    async with sources() as known:
        desk = Desk(known)

        await asyncio.gather(desk.look(), desk.order("a.test", OrderChange(paused=True), "test"), desk.look())

        assert (await desk.overview()).ordered == 1


async def test_a_frontier_that_takes_no_orders_is_only_looked_at() -> None:
    async with sources() as known:
        desk = Desk(replace(known, frontier=Without(known.frontier, "order", "dismiss")))

        assert not (await desk.overview()).can_act
        assert not (await desk.letters(Search())).can_act
        with pytest.raises(ReadOnly):
            await desk.order("a.test", OrderChange(paused=True), "test")
        with pytest.raises(ReadOnly):
            await desk.replay(URLS, "test")
        with pytest.raises(ReadOnly):
            await desk.drop(URLS, "test")


async def test_an_order_changes_what_is_said_and_leaves_the_rest() -> None:
    async with sources() as known:
        desk = Desk(known)

        await desk.order("b.test", OrderChange(paused=True, delay=3.0), "test")
        await desk.order("b.test", OrderChange(excluded=False), "test")
        site = await desk.site("b.test")
        ordered = (await desk.overview()).ordered
        undone = await desk.order("b.test", OrderChange(paused=False, excluded=UNSET, delay=None), "test")

    assert site.row.order is not None
    assert (site.row.order.paused, site.row.order.delay) == (True, 3.0)
    assert ordered == 1
    assert (undone.paused, undone.excluded, undone.delay) == (False, False, None)
    assert isinstance(known.events, MemoryEvents)
    assert [event.by for event in known.events.events if hasattr(event, "by")] == ["test"] * 3


async def test_what_a_frontier_without_records_fetched_is_told_by_the_ledger() -> None:
    async with sources() as known:
        desk = Desk(known)
        page = await desk.urls(Search())
        dead = await desk.letters(Search(reason=Reason.HTTP_404))

    assert {row.url: row.state for row in page.rows} == {
        str(row.url): State.DEAD if row.url == dead.rows[0].url else State.PENDING for row in page.rows
    }
    assert len(page.rows) == 3
    assert (len(dead.rows), dead.total, dead.counts[0].name) == (1, 1, "http_404")


async def test_a_frontier_that_cannot_be_browsed_has_no_rows_to_show() -> None:
    async with sources() as known:
        desk = Desk(replace(known, frontier=Without(known.frontier, "browse", "survey")))

        assert (await desk.urls(Search())).rows == ()
        assert (await desk.story(URLS[0])).standing.state is not None
