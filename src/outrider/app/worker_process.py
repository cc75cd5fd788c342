"""A worker process of a crawl or a service: `python -m outrider.app.worker_process FD`. Never started by hand."""

import asyncio
import ctypes
import gc
import sys
from contextlib import suppress
from typing import Final

from outrider.app.workers import work
from outrider.engine.common import Common
from outrider.engine.processes import connected, leave_signals
from outrider.garbage import collect_seldom
from outrider.loop import run

EVERY: Final = 10.0
"""Seconds after which freed memory is given back."""


def live(descriptor: int, common: Common | None = None) -> None:
    """From the first word of the one who watches to the last of ours. `common` came with us when we were forked."""
    collect_seldom()
    run(_work(descriptor, common))


async def _work(descriptor: int, common: Common | None) -> None:
    giving = asyncio.create_task(give_memory_back())
    try:
        await work(await connected(descriptor), common)
    finally:
        giving.cancel()


async def give_memory_back() -> None:
    """While the disk stalls, pages wait in memory. Once they are written they lie between what is still in use, and
    glibc keeps them all unless it is told.
    """
    with suppress(AttributeError, OSError):  # not glibc
        trim = ctypes.CDLL(None).malloc_trim
        while True:
            await asyncio.sleep(EVERY)
            trim(0)


if __name__ == "__main__":
    leave_signals()
    gc.collect()
    gc.freeze()
    live(int(sys.argv[1]))
