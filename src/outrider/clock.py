"""The clock of this machine, and one that is set by the store that many machines share."""

import asyncio
import time
from typing import Final

from outrider.ports import Clock

_BOOT: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", None)


class SystemClock:
    def now(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class SteadyClock:
    """Begins with the time of day, and then goes by itself: who sets the machine's clock moves no pause and no lease.

    Where the kernel can tell, the time that a machine slept has passed, too: leases have run out meanwhile.
    """

    def __init__(self) -> None:
        self._began_at = time.time() - _since_boot()

    def now(self) -> float:
        return self._began_at + _since_boot()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _since_boot() -> float:
    return time.clock_gettime(_BOOT) if _BOOT is not None else time.monotonic()


class SharedClock:
    """Another's time, told by ours: pauses and leases are promises to others, who go by the store's clock (H4-7).

    What the store said lies somewhere between question and answer. As long as our guess does too, it stays as it is: so
    a slow answer moves nothing, and a clock that is right is never touched. One that is wrong is set to the latest that
    it can be, and quicker answers set it back: who is ahead ends leases early and pauses late, never the other way.
    """

    def __init__(self, own: Clock) -> None:
        self._own = own
        self._ahead = 0.0
        self._was_set = False

    def now(self) -> float:
        return self._own.now() + self._ahead

    async def sleep(self, seconds: float) -> None:
        await self._own.sleep(seconds)

    def hear(self, said: float, *, asked_at: float, heard_at: float) -> None:
        """`said` is the other's time; the two moments are of this clock."""
        if said < asked_at or (said > heard_at and not self._was_set):
            self._ahead += said - asked_at
            self._was_set = True
        elif said > heard_at:
            self._ahead += said - heard_at  # the other goes a little faster
