"""A crawl that looks again: when, how, and when it stops believing that a page is there."""

from itertools import pairwise

import pytest
from tests.unit.engine.crawling import ROOT, Scene

from outrider.model.event import PageFetched, PageUnchanged
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.record import PageStatus
from outrider.model.url import Url
from outrider.ports import Request, Response
from outrider.testing.site import Script, page

PAGE = f"{ROOT}/"
HOUR = 3_600.0


def looking(script: Script, **keys: object) -> Scene:
    usual: dict[str, object] = {"recrawl_first": HOUR, "recrawl_min": HOUR, "recrawl_max": 100 * HOUR}
    return Scene({PAGE: script}, **{"recrawl": True, **usual, **keys})  # type: ignore[arg-type]  # settings only


async def look(scene: Scene, times: int) -> list[Request]:
    """Crawl until the page was asked for so often."""
    await scene.propose()
    async with scene.running():
        for _ in range(5_000):
            asked = [request for _, request in scene.web.began if request.url == PAGE]
            if len(asked) >= times:
                break
            # Time goes by hand where nothing happens, else the worker would have to look up every quarter second.
            entry = await scene.memory.find(Url(PAGE))
            due = entry.task.due_at if entry is not None and entry.task is not None else 0.0
            if due > scene.clock.now() + 2.0:
                scene.clock.advance(due - scene.clock.now() - 1.0)
            await scene.clock.sleep(0.5)
            if entry is not None and entry.state is State.DEAD:
                break
        await scene.clock.sleep(1.0)
    return [request for _, request in scene.web.began if request.url == PAGE]


def waits(scene: Scene) -> list[float]:
    return [later - earlier for earlier, later in pairwise(scene.asked_at(PAGE))]


async def test_the_second_look_is_conditional_and_a_304_is_a_success() -> None:
    """C16: the validators are those of the last answer, and they are kept when a 304 does not repeat them."""
    scene = looking([page("x", etag='"1"', last_modified="Mon, 01 Jan 2024 00:00:00 GMT"), Response(304, (), b"")])

    first, *others = await look(scene, 3)

    assert not [name for name in first.headers if name.startswith("If-")]
    assert len(others) == 2
    for request in others:
        assert request.headers["If-None-Match"] == '"1"'
        assert request.headers["If-Modified-Since"] == "Mon, 01 Jan 2024 00:00:00 GMT"
    assert len(scene.told(PageFetched)) == 1
    assert len(scene.told(PageUnchanged)) == 2
    tally = await scene.kept.tally()
    assert tally.pages == {PageStatus.FETCHED: 1, PageStatus.NOT_MODIFIED: 2}


async def test_the_first_second_look_is_at_its_due_time() -> None:
    scene = looking(page("x"))

    await look(scene, 2)

    assert waits(scene)[0] == pytest.approx(HOUR, abs=2.0)


async def test_a_page_that_never_changes_is_looked_at_less_and_less() -> None:
    scene = looking(page("always"))

    await look(scene, 5)

    seen = waits(scene)
    assert seen == sorted(seen)
    assert seen[-1] > 3 * seen[0]


async def test_a_page_that_always_changes_is_looked_at_often() -> None:
    scene = looking([page(f"number {number}") for number in range(9)], recrawl_min=60, recrawl_first=HOUR)

    await look(scene, 6)

    seen = waits(scene)
    assert seen[-1] < seen[0]
    assert seen[-1] >= 60.0


async def test_a_site_may_have_its_own_interval() -> None:
    scene = looking([page("a"), page("b"), page("b"), page("c")], recrawl_sites={"example.com": 600})

    await look(scene, 4)

    assert waits(scene) == pytest.approx([600.0] * 3, abs=2.0)


@pytest.mark.parametrize("status", [404, 410])
async def test_a_page_is_gone_only_when_it_was_missing_several_times(status: int) -> None:
    """One 404 may be an accident. Each look has a record of its own."""
    scene = looking([page("x"), page("", status)])

    asked = await look(scene, 9)

    assert len(asked) == 4
    entry = await scene.entry(PAGE)
    assert (entry.state, entry.reason) == (State.DEAD, Reason.of_status(status))
    assert (await scene.kept.tally()).pages == {PageStatus.FETCHED: 1, PageStatus.FAILED: 3}


async def test_a_page_that_comes_back_is_as_if_it_had_never_been_away() -> None:
    missing = page("", 404)
    scene = looking([page("x"), missing, missing, page("x"), missing, missing, page("x")])

    asked = await look(scene, 7)

    assert len(asked) == 7
    assert (await scene.entry(PAGE)).state is State.WAITING


async def test_without_recrawl_a_page_is_looked_at_once() -> None:
    scene = looking(page("x"), recrawl=False, recrawl_sites={"example.com": 60})

    await scene.crawl()

    assert len(scene.asked_at(PAGE)) == 1
