"""How fast is each frontier, does it stay so when it grows, and how many bytes does a URL take?

    .venv/bin/python bench/frontier.py [--quick] [--backend NAME]... [--urls 10k,1M] [--sites 1,10k]

A crawl's own mix: `add` is handed batches of 2,000 links of which nine in ten are known, from all over the frontier;
`lease` and `settle` go through 64 sites with 8 tasks each. Every case has a process of its own and an empty store.
Making the tasks is not counted. Nothing here waits for politeness: the delay is zero.
"""

import argparse
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from math import inf
from multiprocessing import get_context
from pathlib import Path
from platform import python_version
from time import perf_counter, process_time
from typing import Final, TypeVar

import uvloop
from frontier_places import BACKENDS, Place, open_place
from msgspec import Struct

from outrider.model.ledger import Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.pace import PaceLimits
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.registry import FrontierStore, open_frontier

T = TypeVar("T")

RULES: Final = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=0.0)))
BATCH: Final = 2_000
RUN: Final = 10
"""Links of one page lead to few sites: that many of a site come in a row, and one of them is new."""
LENT: Final = 64
MOST_SECONDS: Final = 10.0
"""Of visits: enough to know their rate."""
MOST_KNOWN: Final = 100_000
"""Enough to see what a URL takes once it was visited; visiting all of a large frontier would take most of the time."""

TARGETS: Final = {"sqlite": (150_000, 25_000), "redis": (100_000, 20_000), "bloom": (0, 0), "postgres": (25_000, 4_000)}
"""Candidates added and tasks leased and settled a second; memory, the reference, is held to those of SQLite.

Redis with a Bloom filter saves memory, and is held to nothing else.
"""


class Case(Struct, frozen=True):
    place: Place
    urls: int
    sites: int
    sample: int

    @property
    def name(self) -> str:
        return f"bench_{self.urls}_{self.sites}"

    @property
    def sites_reached(self) -> int:
        """Few URLs do not reach all sites."""
        return min(self.sites, self.urls // RUN)


class Rate(Struct, frozen=True):
    """Items, and what they took: seconds by the clock, CPU seconds of the client and of the server."""

    items: int = 0
    seconds: float = 0.0
    client: float = 0.0
    server: float = 0.0

    @property
    def per_second(self) -> float:
        return self.items / self.seconds if self.seconds else 0.0

    def each(self, seconds: float) -> float:
        """Microseconds an item."""
        return seconds / self.items * 1e6 if self.items else 0.0


class Figures(Struct, frozen=True):
    case: Case
    new: Rate
    known: Rate
    cold: Rate
    visits: Rate
    queued_bytes: float
    known_bytes: float


class Meter:
    """Counts only what happens inside `with`; the server is asked at the beginning and at the end."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._server = place.server_seconds()
        self.seconds = 0.0
        self._items, self._client = 0, 0.0

    def __enter__(self) -> None:
        self.seconds -= perf_counter()
        self._client -= process_time()

    def __exit__(self, *_: object) -> None:
        self._client += process_time()
        self.seconds += perf_counter()

    def count(self, items: int) -> int:
        self._items += items
        return self._items

    def rate(self) -> Rate:
        return Rate(self._items, self.seconds, self._client, self._place.server_seconds() - self._server)


def link(number: int, sites: int, end: str = "") -> Task:
    """80 bytes, as URLs are; neighbours by tens belong to one site."""
    front = f"https://www.site-{number // RUN % sites:05d}.org/articles/{number:09d}/{end}"
    return Task(Url(front + "a" * (80 - len(front))), depth=3, origin=Origin.LINK)


def all_links(urls: int, sites: int) -> Iterator[list[Task]]:
    for start in range(0, urls, BATCH):
        yield [link(number, sites) for number in range(start, min(start + BATCH, urls))]


def mostly_known(case: Case, luck: random.Random, name: str) -> Iterator[list[Task]]:
    """Runs from anywhere in the frontier, each with one link that nobody has seen."""
    for batch in range(-(-case.sample // BATCH)):
        tasks: list[Task] = []
        for run in range(BATCH // RUN):
            start = luck.randrange(case.urls // RUN) * RUN
            tasks += [link(number, case.sites) for number in range(start, start + RUN - 1)]
            tasks.append(link(start + RUN - 1, case.sites, f"{name}{batch}-{run}"))
        yield tasks


async def add(frontier: FrontierStore, place: Place, batches: Iterator[list[Task]]) -> Rate:
    meter = Meter(place)
    for batch in batches:
        with meter:
            await frontier.add(batch)
        meter.count(len(batch))
    return meter.rate()


async def visit(
    frontier: FrontierStore, place: Place, most: int, tasks: int = 8, longest: float = MOST_SECONDS
) -> Rate:
    meter = Meter(place)
    for _ in range(most):
        if meter.seconds > longest:
            break
        with meter:
            lent = await frontier.lease(sites=LENT, tasks=tasks, seconds=60)
        accounts = [
            Settled(lease, lease.site, tuple((task, _fetched(task)) for task in lease.tasks)) for lease in lent.leases
        ]
        if not accounts:
            break
        with meter:
            await frontier.settle(accounts)
        if meter.count(sum(len(account.settlements) for account in accounts)) >= most:
            break
    return meter.rate()


def _fetched(task: Task) -> Done:
    return Done(task.url, task.url, 200, Validators(), Changes(), "ab", visited_at=1.0)


async def measure_speed(case: Case) -> tuple[Rate, Rate, Rate, Rate, float]:
    place, luck = case.place, random.Random(7)  # noqa: S311 - the same every time, on purpose
    url = place.url(case.name)
    async with open_frontier(url, RULES) as frontier:
        before = place.bytes_taken(case.name)
        new = await add(frontier, place, all_links(case.urls, case.sites))
        queued = (place.bytes_taken(case.name) - before) / (await frontier.census()).discovered
        known = await add(frontier, place, mostly_known(case, luck, "w"))
        visits = await visit(frontier, place, min(case.urls, case.sample) // 2)
    if place.backend == "memory":
        return new, known, Rate(), visits, queued
    async with open_frontier(url, RULES) as frontier:  # which has seen nothing yet
        cold = await add(frontier, place, mostly_known(case, luck, "c"))
    return new, known, cold, visits, queued


async def measure_known(case: Case) -> float:
    """Bytes of a URL that was visited: all of them are, soon after they were added, and nothing is owed."""
    place, name = case.place, f"{case.name}_known"
    async with open_frontier(place.url(name), RULES) as frontier:
        before = place.bytes_taken(name)
        for batch in all_links(min(case.urls, MOST_KNOWN), case.sites):
            await frontier.add(batch)
            await visit(frontier, place, len(batch), tasks=100, longest=inf)
        census = await frontier.census()
        if census.fetched != census.discovered:
            raise RuntimeError(f"not all was visited: {census}")
        place.tidy(name)
        taken = place.bytes_taken(name) - before
    place.drop(name)
    return taken / census.discovered


def speed(case: Case) -> tuple[Rate, Rate, Rate, Rate, float]:
    found = uvloop.run(measure_speed(case))
    case.place.drop(case.name)
    return found


def known_bytes(case: Case) -> float:
    return uvloop.run(measure_known(case))


def alone(work: Callable[[Case], T], case: Case) -> T:
    """In a process of its own, which remembers nothing of the case before."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, case).result()


def measure(case: Case) -> Figures:
    new, known, cold, visits, queued = alone(speed, case)
    return Figures(case, new, known, cold, visits, queued, alone(known_bytes, case))


def show_header() -> None:
    print(f"\n{'':24} {'a second':^41}   {'CPU µs each, client + server':^29}   {'bytes a URL':^13}")
    print(
        f"{'backend':9}{'URLs':>8}{'sites':>7} {'add new':>9} {'90% known':>10} {'cold':>9} {'visits':>9}"
        f"   {'90% known':^14} {'visits':^14}   {'queued':>6} {'known':>6}"
    )


def show(found: Figures) -> None:
    case, known, visits = found.case, found.known, found.visits
    cold = f"{found.cold.per_second:,.0f}" if found.cold.items else "-"
    rates = f"{found.new.per_second:9,.0f} {known.per_second:10,.0f} {cold:>9}"
    costs = "  ".join(f"{rate.each(rate.client):5.1f} + {rate.each(rate.server):5.1f}" for rate in (known, visits))
    print(
        f"{case.place.backend:9}{short(case.urls):>8}{short(case.sites_reached):>7} {rates} {visits.per_second:9,.0f}"
        f"   {costs}   {found.queued_bytes:6.0f} {found.known_bytes:6.1f}",
        flush=True,
    )


def show_targets(all_found: list[Figures]) -> None:
    """The slowest case of each backend is the one that counts; for visits, of those with sites enough to lend."""
    print(f"\n{'':10} {'add, 90 % known, a second':^30}   {'lease and settle, a second':^30}   most URLs ÷ fewest URLs")
    print(f"{'backend':10} {'target':>9} {'reached':>9} {'':10}   {'target':>9} {'reached':>9} {'':10}   add, visits")
    for backend in dict.fromkeys(found.case.place.backend for found in all_found):
        ours = [found for found in all_found if found.case.place.backend == backend]
        added = min(found.known.per_second for found in ours)
        lending = [found for found in ours if found.case.sites_reached >= LENT]
        visited = min((found.visits.per_second for found in lending), default=0.0)
        to_add, to_visit = TARGETS.get(backend, TARGETS["sqlite"])
        print(
            f"{backend:10} {to_add:9,} {added:9,.0f} {verdict(added, to_add):10}"
            f"   {to_visit:9,} {visited:9,.0f} {verdict(visited, to_visit):10}   {growth(ours)}"
        )


def verdict(reached: float, target: float) -> str:
    return "met" if reached >= target else "MISSED"


def growth(ours: list[Figures]) -> str:
    """How much of its speed is left in the largest frontier, at each number of sites."""
    said: list[str] = []
    for sites in dict.fromkeys(found.case.sites for found in ours):
        sizes = sorted((found for found in ours if found.case.sites == sites), key=lambda found: found.case.urls)
        few, many = sizes[0], sizes[-1]
        if few is not many:
            ratios = (getattr(many, name).per_second / getattr(few, name).per_second for name in ("known", "visits"))
            said.append(f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} ({short(sites)} sites)")
    return "; ".join(said) or "one size only"


def short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size and number % size == 0:
            return f"{number // size}{letter}"
    return str(number)


def numbers(text: str) -> list[int]:
    """`10k,1M`."""
    sizes = {"k": 1_000, "M": 1_000_000}
    return [int(word.rstrip("kM")) * sizes.get(word[-1], 1) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and size of every frontier backend.")
    parser.add_argument("--quick", action="store_true", help="10k and 20k URLs on 1k sites: a first look")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="only this one; may be repeated")
    parser.add_argument("--urls", type=numbers, help="such as 10k,1M,10M")
    parser.add_argument("--sites", type=numbers, help="such as 1,100,10k")
    given = parser.parse_args()
    urls = given.urls or ([10_000, 20_000] if given.quick else [10_000, 1_000_000])
    sites = given.sites or ([1_000] if given.quick else [1, 10_000])
    if min(urls) < RUN:
        parser.error(f"--urls: at least {RUN}")
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"Python {python_version()}, {os.cpu_count()} cores, load before: {load}")
    show_header()
    found: list[Figures] = []
    for backend in given.backend or BACKENDS:
        with (
            tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder,
            open_place(backend, Path(folder)) as place,
        ):
            if isinstance(place, str):
                print(f"{backend:9} left out: {place}")
                continue
            for case in (
                Case(place, many, over, 10_000 if given.quick else 100_000) for over in sites for many in urls
            ):
                found.append(measure(case))
                show(found[-1])
    show_targets(found)


if __name__ == "__main__":
    main()
