"""A process that publishes events, for tests that kill it or take its disk away.

`event_writer.py URL COUNT BATCH LIMIT`: COUNT batches (0: without end) of BATCH events each; with a LIMIT of bytes for
every file, as a full disk would have it. Prints one letter for each batch: `.` published, `x` refused.
"""

import asyncio
import resource
import sys
from itertools import count

from outrider.errors import StoreError
from outrider.stores.events import open_events
from outrider.testing.contracts.events import skipped


async def write(url: str, batches: int, size: int) -> None:
    async with open_events(url) as sink:
        for number in range(batches) if batches else count():
            try:
                await sink.publish([skipped(number * size + n) for n in range(size)])
            except StoreError as error:
                print("x", error, file=sys.stderr)
                print("x", end="", flush=True)
            else:
                print(".", end="", flush=True)


if __name__ == "__main__":
    place, batches, size, limit = sys.argv[1], *map(int, sys.argv[2:])
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    asyncio.run(write(place, batches, size))
