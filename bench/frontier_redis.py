"""How fast is the Redis frontier, and how many bytes does a URL take?

    python bench/frontier_redis.py redis://127.0.0.1:6379/0 --urls 1000000 --sites 10000

Needs a server of its own: it empties the database on the way. Never point it at one that is in use.
"""

import argparse
import asyncio
import time
from collections.abc import Iterator
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


def tasks(urls: int, sites: int) -> Iterator[list[Task]]:
    """URLs of 80 bytes, spread over the sites as a crawl finds them: many of one site in a batch."""
    for start in range(0, urls, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, urls)):
            front = f"https://www.site-{number // 10 % sites:05d}.org/articles/{number:09d}/"
            batch.append(Task(Url(front + "a" * (80 - len(front))), depth=3, origin=Origin.LINK))
        yield batch


async def used(client: Redis) -> int:
    return int((await client.info("memory"))["used_memory"])


async def measure_add(frontier: FrontierStore, urls: int, sites: int) -> tuple[float, float]:
    """Candidates a second: all new, then nine in ten known. Making the tasks is not counted."""
    spent = 0.0
    for batch in tasks(urls, sites):
        began = time.perf_counter()
        await frontier.add(batch)
        spent += time.perf_counter() - began
    known_spent = 0.0
    sample = list(tasks(min(urls, 100_000), sites))
    for number, batch in enumerate(sample):
        fresh = [Task(Url(f"{task.url}/new{number}"), depth=3, origin=Origin.LINK) for task in batch[::10]]
        mixed = [task if place % 10 else fresh[place // 10] for place, task in enumerate(batch)]
        began = time.perf_counter()
        await frontier.add(mixed)
        known_spent += time.perf_counter() - began
    return urls / spent, sum(map(len, sample)) / known_spent


async def measure_visits(frontier: FrontierStore, most: int, tasks: int = 8) -> float:
    """Tasks a second, lent and settled as fetched, 64 sites with 8 tasks at a time."""
    visited = 0
    began = time.perf_counter()
    while visited < most:
        lent = await frontier.lease(sites=64, tasks=tasks, seconds=60)
        if not lent.leases:
            break
        await frontier.settle(
            [
                Settled(
                    lease,
                    lease.site,
                    tuple(
                        (task, Done(task.url, task.url, 200, Validators(), Changes(), "ab", visited_at=1.0))
                        for task in lease.tasks
                    ),
                )
                for lease in lent.leases
            ]
        )
        visited += sum(len(lease.tasks) for lease in lent.leases)
    return visited / (time.perf_counter() - began)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--sites", type=int, default=10_000)
    arguments = parser.parse_args()
    client = Redis.from_url(arguments.url.partition("?")[0], protocol=2)
    joint = "&" if "?" in arguments.url else "?"
    before = await used(client)
    rules = FrontierRules()
    url = f"{arguments.url}{joint}prefix=bench{uuid4().hex[:6]}"
    async with open_frontier(url, rules) as frontier:
        new, known = await measure_add(frontier, arguments.urls, arguments.sites)
        census = await frontier.census()
        queued = await used(client) - before
        print(f"add: {new:,.0f} new/s, {known:,.0f} candidates/s with 90 % known")
        print(f"queued: {queued / census.discovered:.1f} bytes per URL of {census.discovered:,}")
        visits = await measure_visits(frontier, arguments.sites * 8)
        print(f"lease and settle: {visits:,.0f} tasks/s")
        print(f"census: {await frontier.census()}")
        await measure_known(client, arguments)


async def measure_known(client: Redis, arguments: argparse.Namespace) -> None:
    """Bytes of URLs of which only the hash is left: the same number of sites, all visited, and nothing owed."""
    await client.flushdb()
    before = await used(client)
    # Sites that need no pause can be emptied in one go.
    rules = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0)))
    async with open_frontier(f"{arguments.url.partition('?')[0]}?prefix=known", rules) as frontier:
        for batch in tasks(arguments.urls, arguments.sites):
            await frontier.add(batch)
            await measure_visits(frontier, len(batch), tasks=100)
        await measure_visits(frontier, arguments.urls, tasks=100)
        census = await frontier.census()
        taken = await used(client) - before
        print(f"known: {taken / census.discovered:.1f} bytes per URL of {census.fetched:,} fetched")
    await client.aclose()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
