"""A worker process of a crawl or a service: `python -m outrider.app.worker_process FD`. Never started by hand."""

import gc
import signal
import sys

from outrider.app.workers import work
from outrider.engine.processes import connected
from outrider.loop import run


async def main(descriptor: int) -> None:
    await work(await connected(descriptor))


if __name__ == "__main__":
    # Ctrl-C reaches the whole group, and so does a stop by systemd. Both are for the one who watches, who tells us what
    # to do, and whose death ends us too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What was imported stays; looking through it again and again costs a tenth of a busy crawl.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    run(main(int(sys.argv[1])))
