"""A worker on the end of a wire: it does as it is told, and tells how it goes."""

import asyncio

from tests.unit.engine.crawling import ROOT, Scene, linking
from tests.unit.engine.wrapped import Acts, WrappedFrontier

from outrider.engine.messages import Broke, Done, Drain, Grant, LocalChannel, Message, Report, Stop, local_pair
from outrider.engine.reporting import Reporting
from outrider.errors import StoreError
from outrider.testing.site import page

WEB = {f"{ROOT}/": linking("/a", "/b"), f"{ROOT}/a": page("a"), f"{ROOT}/b": page("b")}


async def heard_until(channel: LocalChannel, kind: type[Message]) -> list[Message]:
    heard: list[Message] = []
    async with asyncio.timeout(20):
        while not (heard and isinstance(heard[-1], kind)):
            message = await channel.receive()
            assert message is not None
            heard.append(message)
    return heard


async def test_it_reports_until_it_is_drained_and_its_last_word_is_that_all_is_written() -> None:
    scene = Scene(WEB)
    await scene.propose()
    ours, theirs = local_pair()
    running = asyncio.ensure_future(Reporting(theirs, lambda: 7).run(scene.worker))
    await scene.until_finished()

    await ours.send(Drain())
    *reports, done = await heard_until(ours, Done)
    await running

    assert isinstance(done, Done)
    last = reports[-1]
    assert isinstance(last, Report)
    assert (last.counts.pages, last.memory) == (3, 7)
    assert (await scene.memory.census()).leased == 0


async def test_that_nothing_is_left_to_do_is_told_at_once() -> None:
    scene = Scene({})
    ours, theirs = local_pair()
    running = asyncio.ensure_future(Reporting(theirs, lambda: 0).run(scene.worker))
    await ours.receive()
    asked_at = scene.clock.now()
    scene.worker.fell_idle()
    report = await ours.receive()
    told_at = scene.clock.now()
    await ours.send(Drain())
    await running

    assert isinstance(report, Report)
    assert told_at == asked_at


async def test_permits_come_over_the_wire_and_their_use_goes_back() -> None:
    scene = Scene(WEB)
    await scene.propose()
    ours, theirs = local_pair()
    reporting = Reporting(theirs, lambda: 0)
    running = asyncio.ensure_future(reporting.run(scene.another(reporting.purse())))
    out = granted = pages = 0

    async with asyncio.timeout(20):
        while pages < 3:
            message = await ours.receive()
            assert isinstance(message, Report)
            out -= message.account.returned
            pages += message.account.pages
            if message.account.wants:
                await ours.send(Grant(2))
                out, granted = out + 2, granted + 1
    await ours.send(Stop())
    returned = [message for message in await heard_until(ours, Done) if isinstance(message, Report)]
    await running

    assert granted >= 2
    assert out - sum(message.account.returned for message in returned) >= 0


async def test_permits_of_a_worker_with_nothing_to_do_come_back() -> None:
    scene = Scene(WEB)
    await scene.propose()
    ours, theirs = local_pair()
    reporting = Reporting(theirs, lambda: 0)
    running = asyncio.ensure_future(reporting.run(scene.another(reporting.purse())))
    await ours.send(Grant(10))
    returned = 0

    async with asyncio.timeout(20):
        while returned < 10:
            message = await ours.receive()
            assert isinstance(message, Report)
            returned += message.account.returned
    await ours.send(Stop())
    await running

    assert returned == 10


async def test_when_nobody_watches_any_more_it_stops() -> None:
    scene = Scene(WEB, seconds=50.0)
    await scene.propose()
    ours, theirs = local_pair()
    running = asyncio.ensure_future(Reporting(theirs, lambda: 0).run(scene.worker))
    await scene.until(lambda: scene.worker.in_flight == 1)

    ours.close()

    async with asyncio.timeout(20):
        await running
    assert (await scene.memory.census()).leased == 0


async def test_a_store_that_is_broken_is_told_and_not_raised() -> None:
    acts = Acts()
    acts.broken = {"lease"}
    scene = Scene(WEB)
    broken = Scene(WEB, clock=scene.clock, frontier=WrappedFrontier(scene.memory, acts))
    ours, theirs = local_pair()

    await Reporting(theirs, lambda: 0).run(broken.worker)

    assert (await heard_until(ours, Broke))[-1] == Broke(StoreError.__name__, "lease is broken")


async def test_a_worker_that_takes_too_much_memory_is_told_to_take_less() -> None:
    scene = Scene(WEB)
    ours, theirs = local_pair()
    running = asyncio.ensure_future(Reporting(theirs, lambda: 11, most_memory=10).run(scene.worker))

    await heard_until(ours, Report)
    is_short = scene.worker.memory_is_short
    await ours.send(Stop())
    await running

    assert is_short
