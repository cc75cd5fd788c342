"""Watch a crawl with `outrider.Crawl`: every refusal and every failure is an event, and the ledger closes."""

import asyncio
from collections import Counter

import outrider
from outrider.testing.webfarm import WebFarm, flaky, loop, page

SITE = {
    "/": page('<a href="/ring">ring</a> <a href="/weak">weak</a> <a href="/map.pdf">map</a> <a href="/gone">gone</a>'),
    **loop("/ring", 2),
    "/weak": flaky([500]),
}


async def main() -> None:
    seen: Counter[str] = Counter()
    async with WebFarm({"site.test": SITE}) as farm:
        crawl = outrider.Crawl(
            [farm.url("site.test")],
            on_event=lambda event: seen.update([type(event).__name__]),
            contact="me@example.org",
            delay=0.01,
            retry_backoff=0.01,
            revisit_backoff=0.01,
            hosts="site.test=127.0.0.1",
            allow_private="127.0.0.0/8",
            allow_ports=[farm.port],
        )
        result = await crawl.run()
    for name, count in sorted(seen.items()):
        print(f"{count:3} {name}")
    census = result.census
    print(f"{result.finish}: {census.discovered} URLs, {census.fetched} fetched, adds up: {census.adds_up}")


asyncio.run(main())
