"""Crawl a small shop with `outrider.crawl`: the pages come as they are settled, and robots.txt is obeyed."""

import asyncio

import outrider
from outrider.testing.webfarm import WebFarm, page, redirect, text

SHOP = {
    "/robots.txt": text("User-agent: *\nDisallow: /basket\n"),
    "/": page('<title>Shop</title><a href="/tea">tea</a> <a href="/old">cups</a> <a href="/basket">basket</a>'),
    "/tea": page('<title>Tea</title><a href="/">home</a>'),
    "/old": redirect(301, "/cups"),
    "/cups": page("<title>Cups</title>"),
}


async def main() -> None:
    async with WebFarm({"shop.test": SHOP}) as farm:
        pages = outrider.crawl(
            [farm.url("shop.test")],
            contact="me@example.org",
            delay=0.01,
            # The name is only known here, and this machine is not visited unless it is named.
            hosts="shop.test=127.0.0.1",
            allow_private="127.0.0.0/8",
            allow_ports=[farm.port],
        )
        async for found in pages:
            print(f"{found.status} {found.url.target:6} {found.title}, {len(found.links)} links, depth {found.depth}")


asyncio.run(main())
