"""Until something happens, or for so long: by the clock that everybody goes by, so that tests can move time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from outrider.errors import StoreUnavailable
from outrider.ports import Clock

T = TypeVar("T")

PATIENCE: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Waits between tries of a store that is away; the last one is repeated."""


async def wait_for(news: asyncio.Event, seconds: float, clock: Clock) -> None:
    waits = [asyncio.ensure_future(_set(news)), asyncio.ensure_future(clock.sleep(seconds))]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def insist(
    act: Callable[[], Awaitable[T]], stop: asyncio.Event, clock: Clock, away: Callable[[str | None], None]
) -> T:
    """Until the store is there, or `stop` is set: then its `StoreUnavailable` is raised. The act may be repeated.

    `away` hears each time what is waited for, and None once that is over.
    """
    tries = 0
    while True:
        try:
            answer = await act()
        except StoreUnavailable as error:
            away(str(error))
            if stop.is_set():
                raise
            await wait_for(stop, PATIENCE[min(tries, len(PATIENCE) - 1)], clock)
            tries += 1
        else:
            away(None)
            return answer


async def _set(news: asyncio.Event) -> None:
    await news.wait()
