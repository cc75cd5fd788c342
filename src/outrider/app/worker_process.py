"""A worker process of a crawl or a service: `python -m outrider.app.worker_process FD`. Never started by hand."""

import gc
import sys

from outrider.app.workers import work
from outrider.engine.processes import connected, leave_signals
from outrider.loop import run


def live(descriptor: int) -> None:
    """From the first word of the one who watches to the last of ours. What was imported is out of the collector's way:
    looking through it again and again costs a tenth of a busy crawl.
    """
    gc.set_threshold(50_000, 20, 50)
    run(_work(descriptor))


async def _work(descriptor: int) -> None:
    await work(await connected(descriptor))


if __name__ == "__main__":
    leave_signals()
    gc.collect()
    gc.freeze()
    live(int(sys.argv[1]))
