"""What does one site with a very long queue cost, in Redis and in files?

    python bench/frontier_hot_site.py 'redis+files://127.0.0.1:6379/0?files=/var/spool/crawl' --urls 300000

The same with `redis://127.0.0.1:6379/0` shows what it costs without files. Needs a server of its own.
"""

import argparse
import asyncio
import time
from uuid import uuid4

import uvloop
from redis.asyncio import Redis

from outrider.model.ledger import Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.pace import PaceLimits
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

BATCH = 2_000
RULES = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0)))


def batch_of(start: int, end: int) -> list[Task]:
    """URLs of 80 bytes, as in `frontier_redis.py`."""
    front = "https://www.site-00000.org/articles/"
    return [
        Task(Url(f"{front}{number:09d}/".ljust(80, "a")), depth=3, origin=Origin.LINK) for number in range(start, end)
    ]


async def visit(frontier: FrontierStore, most: int) -> float:
    """Tasks a second, lent eight at a time and settled as fetched."""
    visited = 0
    began = time.perf_counter()
    while visited < most:
        for lease in (await frontier.lease(sites=1, tasks=8, seconds=60)).leases:
            ends = tuple((task, Done(task.url, task.url, 200, Validators(), Changes())) for task in lease.tasks)
            await frontier.settle([Settled(lease, lease.site, ends)])
            visited += len(lease.tasks)
    return visited / (time.perf_counter() - began)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--urls", type=int, default=300_000)
    arguments = parser.parse_args()
    server = arguments.url.partition("?")[0].replace("+files", "")
    joint = "&" if "?" in arguments.url else "?"
    async with Redis.from_url(server, protocol=2) as client:
        before = int((await client.info("memory"))["used_memory"])
        async with open_frontier(f"{arguments.url}{joint}prefix=hot{uuid4().hex[:6]}", RULES) as frontier:
            spent = 0.0
            for start in range(0, arguments.urls, BATCH):
                batch = batch_of(start, min(start + BATCH, arguments.urls))
                began = time.perf_counter()
                await frontier.add(batch)
                spent += time.perf_counter() - began
            taken = int((await client.info("memory"))["used_memory"]) - before
            print(f"add: {arguments.urls / spent:,.0f} new/s")
            print(f"queued: {taken / arguments.urls:.1f} bytes of Redis per URL of {arguments.urls:,}")
            print(f"lease and settle: {await visit(frontier, min(20_000, arguments.urls)):,.0f} tasks/s")
            print(await frontier.census())


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
