"""Fetch pages with `outrider.Client`: what the web does is a value, never an exception."""

import asyncio

import outrider
from outrider.testing.webfarm import WebFarm, page, redirect, text

SITE = {
    "/robots.txt": text("User-agent: *\nDisallow: /private\n"),
    "/old": redirect(301, "/new"),
    "/new": page("<!doctype html><title>Hello</title><p>Hello from the farm."),
}


async def main() -> None:
    async with (
        WebFarm({"shop.test": SITE}) as farm,
        # The names are only known here, and this machine is not visited unless it is named.
        outrider.Client(
            hosts={"*.test": ["127.0.0.1"]}, allow_private="127.0.0.0/8", contact="me@example.org", delay=0
        ) as client,
    ):
        for path in ("/old", "/missing", "/private/diary"):
            fetch = await client.fetch(farm.url("shop.test", path))
            match fetch.outcome:
                case outrider.Fetched(url, status, body):
                    print(f"{path}: {status}, {body.length} bytes from {url.target}, confidence {fetch.confidence}")
                    print(f"    {fetch.text}")
                case outrider.Skipped(reason, detail):
                    print(f"{path}: not asked for, {reason}: {detail}")
                case outrider.Failed(failure):
                    print(f"{path}: failed, {failure.reason}")


asyncio.run(main())
