"""A program that takes a batch, says which, and never comes to be done with it: it waits to be killed."""

import asyncio
import sys

from outrider.stores.queues import open_queue


async def main(url: str, name: str, most: str, seconds: str) -> None:
    async with open_queue(url, name) as queue:
        batch = await queue.take(int(most), float(seconds))
        print(len(batch.entries) if batch else 0, flush=True)
        await asyncio.get_running_loop().create_future()


asyncio.run(main(*sys.argv[1:]))
