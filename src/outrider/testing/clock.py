"""A clock whose time moves only when somebody sleeps on it, or when the test says so."""

import asyncio
import heapq
from itertools import count


class FakeClock:
    """Sleeping takes no real time: when all sleepers wait, time jumps to the earliest of their moments.

    Sleepers wake in the order of their moments, equal ones in the order in which they lay down.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._turning = False

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move time by hand; whoever slept until then wakes."""
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            self._wake_first()

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), woken))
        if not self._turning:
            self._turning = True
            loop.call_soon(self._turn, loop, 0)
        await woken

    def _turn(self, loop: asyncio.AbstractEventLoop, rounds: int) -> None:
        """Jump once everybody who could run has run: a few rounds of the loop without a new sleeper."""
        if rounds < 3:
            loop.call_soon(self._turn, loop, rounds + 1)
            return
        self._turning = False
        if not self._sleepers:
            return
        self._now = max(self._now, self._sleepers[0][0])
        self._wake_first()
        if self._sleepers:
            self._turning = True
            loop.call_soon(self._turn, loop, 0)

    def _wake_first(self) -> None:
        _, _, woken = heapq.heappop(self._sleepers)
        if not woken.done():
            woken.set_result(None)
