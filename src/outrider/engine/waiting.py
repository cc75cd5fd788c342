"""Until something happens, or for so long: by the clock that everybody goes by, so that tests can move time."""

import asyncio

from outrider.ports import Clock


async def wait_for(news: asyncio.Event, seconds: float, clock: Clock) -> None:
    waits = [asyncio.ensure_future(_set(news)), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _set(news: asyncio.Event) -> None:
    await news.wait()
