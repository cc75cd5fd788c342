"""A worker as a task of this process."""

import asyncio

import pytest

from outrider.engine.inside import Inside
from outrider.engine.messages import Channel, Done, Drain


async def test_it_has_its_end_of_the_wire_and_is_gone_when_its_work_is_done() -> None:
    async def work(channel: Channel) -> None:
        assert isinstance(await channel.receive(), Drain)
        await channel.send(Done())

    inside = Inside(work)
    await inside.channel.send(Drain())

    assert isinstance(await inside.channel.receive(), Done)
    assert await inside.channel.receive() is None
    assert await inside.wait() == 0


async def test_what_it_raises_is_raised_to_whoever_waits() -> None:
    async def work(_: Channel) -> None:
        raise LookupError("a bug")

    inside = Inside(work)

    assert await inside.channel.receive() is None
    with pytest.raises(LookupError, match="a bug"):
        await inside.wait()


async def test_it_can_be_killed() -> None:
    async def work(channel: Channel) -> None:
        await channel.receive()

    inside = Inside(work)
    await asyncio.sleep(0)

    inside.kill()

    assert await inside.wait() == 0
    assert await inside.channel.receive() is None


async def test_it_can_be_killed_before_it_has_begun() -> None:
    """Whoever listens must learn of it all the same."""

    async def work(channel: Channel) -> None:
        await channel.receive()

    inside = Inside(work)

    inside.kill()

    assert await inside.wait() == 0
    async with asyncio.timeout(5):
        assert await inside.channel.receive() is None


async def test_who_stops_waiting_does_not_stop_it() -> None:
    async def work(channel: Channel) -> None:
        await channel.receive()

    inside = Inside(work)
    waiting = asyncio.ensure_future(inside.wait())
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.wait([waiting])
    await inside.channel.send(Drain())

    assert await inside.wait() == 0
    assert await inside.channel.receive() is None
