"""Does a page of the ledger, or of the records, cost the same when there is a hundred times as much to look at?

    .venv/bin/python bench/browse.py [--backend NAME]... [--urls 10k,1M] [--sites 10k] [--records 10k,100k]

Each frontier is filled so that every tenth line has ended, nearly all of those dead. Then the same pages are asked for,
in turns, in the small one and in the large one: the middle of many tries, and the ratio of both. A page has 100 lines.
`looks at 5,000` is a search that matches nothing, and stops there. Fetched URLs are left out: most stores keep no line
of them.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from platform import python_version
from statistics import median
from time import perf_counter
from typing import Final

from frontier_places import Place, open_place
from msgspec.structs import replace

from outrider.model.ledger import Entry, Search, State
from outrider.model.reason import Reason
from outrider.model.record import PageFilter, Record
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import Browsable, BrowsablePages, FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.contracts.records import visit

FRONTIERS: Final = ("sqlite", "redis", "postgres")
RECORDS: Final = ("sqlite", "postgres")
BATCH: Final = 5_000
TRIES: Final = 15
PATIENCE: Final = 5_000
Look = Callable[[], Awaitable[object]]


def count(text: str) -> int:
    return int(text.removesuffix("k").removesuffix("M")) * {"k": 1_000, "M": 1_000_000}.get(text[-1], 1)


def line(n: int, sites: int) -> Entry:
    """Ten of a site in a row, as links come; one reason of the dead is rare."""
    site = f"site-{n // 10 % sites}.org"
    task = Task(Url.trusted(f"https://{site}/articles/{n}?page={n % 7}"), priority=-(n % 3))
    if n % 10:
        return Entry(task.url, State.PENDING, site, task)
    reason = Reason.TOO_MANY_REDIRECTS if n % 2_000 == 0 else Reason.HTTP_404
    return Entry(task.url, State.DEAD, site, task, reason, "gone", status=404, visits=1)


async def fill(frontier: FrontierStore, urls: int, sites: int) -> None:
    for start in range(0, urls, BATCH):
        lines = [line(n, sites) for n in range(start, min(start + BATCH, urls))]
        await frontier.add([one.task for one in lines if one.task and one.state is State.PENDING])
        await frontier.restore([one for one in lines if one.state is State.DEAD])


async def looks(frontier: Browsable, urls: int) -> dict[str, Look]:
    """What is asked, by name. A search that finds nothing is how to come to the middle quickly."""
    nowhere = Search(text="nowhere")
    middle = (await frontier.browse(nowhere, look=urls * 9 // 20)).after
    dead = Search(state=State.DEAD)
    further: str | None = None
    for _ in range(5):
        further = (await frontier.browse(dead, further)).after
    return {
        "the first page": lambda: frontier.browse(Search()),
        "a page in the middle": lambda: frontier.browse(Search(), middle),
        "a page of one site": lambda: frontier.browse(Search(site="site-7.org")),
        "dead, the sixth page": lambda: frontier.browse(dead, further),
        "dead for a rare reason": lambda: frontier.browse(
            Search(state=State.DEAD, reason=Reason.TOO_MANY_REDIRECTS), most=5, look=PATIENCE
        ),
        "a common part of the URL": lambda: frontier.browse(Search(text="page=3")),
        f"looks at {PATIENCE:,}": lambda: frontier.browse(nowhere, most=100, look=PATIENCE),
    }


async def fill_records(records: object, pages: int) -> None:
    write = getattr(records, "write")  # noqa: B009 - any store of records has it
    for start in range(0, pages, BATCH):
        numbers = range(start, min(start + BATCH, pages))
        await write([_visit(n) for n in numbers])


def _visit(n: int) -> Record:
    made = visit(n, f"https://site-{n % 1_000}.org/articles/{n}?page={n % 7}", code=404 if n % 2_000 == 0 else 200)
    return replace(made, evidence=made.evidence[:2])


async def record_looks(records: BrowsablePages, pages: int) -> dict[str, Look]:
    middle = (await records.browse_pages(PageFilter(text="nowhere"), look=pages // 2)).before
    return {
        "records: the latest": lambda: records.browse_pages(PageFilter()),
        "records: in the middle": lambda: records.browse_pages(PageFilter(), middle),
        "records: a rare reason": lambda: records.browse_pages(PageFilter(reason="http_404"), most=5),
        "records: a common part": lambda: records.browse_pages(PageFilter(text="page=3")),
    }


async def compare(small: dict[str, Look], large: dict[str, Look]) -> None:
    for name, look in small.items():
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(TRIES):
            for into, asked in zip(times, (look, large[name]), strict=True):
                start = perf_counter()
                await asked()
                into.append(perf_counter() - start)
        few, many = (median(into) * 1e3 for into in times)
        print(f"  {name:26} {few:9.2f} ms {many:9.2f} ms   {many / few:5.2f}", flush=True)


async def frontiers(place: Place, urls: Sequence[int], sites: int) -> None:
    async with AsyncExitStack() as stack:
        asked: list[dict[str, Look]] = []
        for number in urls:
            name = f"browse_{number}"
            frontier = await stack.enter_async_context(open_frontier(place.url(name), FrontierRules()))
            start = perf_counter()
            # As many tasks to a site in the small one as in the large one, or a page would be of other sites.
            await fill(frontier, number, max(1, min(sites, number // 100)))
            print(f"  {number:,} lines made in {perf_counter() - start:.0f} s", flush=True)
            if not isinstance(frontier, Browsable):
                raise TypeError(f"{place.backend} is not looked at page by page")
            asked.append(await looks(frontier, number))
        await compare(*asked)


async def all_records(place: Place, pages: Sequence[int]) -> None:
    async with AsyncExitStack() as stack:
        asked: list[dict[str, Look]] = []
        for number in pages:
            records = await stack.enter_async_context(open_records(place.url(f"records_{number}")))
            await fill_records(records, number)
            if not isinstance(records, BrowsablePages):
                raise TypeError(f"{place.backend} is not looked at page by page")
            asked.append(await record_looks(records, number))
        await compare(*asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", action="append", choices=FRONTIERS)
    parser.add_argument("--urls", default="10k,1M", type=lambda text: [count(one) for one in text.split(",")])
    parser.add_argument("--records", default="10k,100k", type=lambda text: [count(one) for one in text.split(",")])
    parser.add_argument("--sites", default="10k", type=count)
    chosen = parser.parse_args()
    print(f"Python {python_version()}; a page of 100 lines, the median of {TRIES}")
    for backend in chosen.backend or FRONTIERS:
        with tempfile.TemporaryDirectory() as folder, open_place(backend, Path(folder)) as place:
            if isinstance(place, str):
                print(f"{backend}: {place}")
                continue
            print(f"{backend}: {' and '.join(f'{number:,}' for number in chosen.urls)} lines, and the ratio")
            asyncio.run(frontiers(place, chosen.urls, chosen.sites))
            if backend in RECORDS:
                print(f"{backend}: {' and '.join(f'{number:,}' for number in chosen.records)} records, and the ratio")
                asyncio.run(all_records(place, chosen.records))


if __name__ == "__main__":
    main()
