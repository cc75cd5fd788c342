"""A crawl of a site that has much to show, with its dashboard beside it: `python crawl_beside.py DIR`."""

import asyncio
import signal
import sys
import threading

from outrider.cli import main
from outrider.testing.webfarm import WebFarm, page


def crawl(directory: str) -> int:
    """The web is in a thread: the crawl is the process's own."""
    ready = threading.Event()
    farm_at: list[tuple[str, int]] = []
    loop = asyncio.new_event_loop()
    over = asyncio.Event()

    async def serve() -> None:
        links = "".join(f"<a href='/{number}'>{number}</a>" for number in range(500))
        site = {"/": page(f"<title>Home</title>{links}"), **{f"/{number}": page("a page") for number in range(500)}}
        async with WebFarm({"site.test": site}) as farm:
            farm_at.append((farm.url("site.test"), farm.port))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    ready.wait(30)
    url, port = farm_at[0]
    keys = [
        "contact=me@example.org",
        "hosts=*.test=127.0.0.1",
        "allow_private=127.0.0.0/8",
        f"allow_ports={port}",
        "workers=1",
    ]
    flags = [part for key in keys for part in ("--set", key)]
    try:
        return main(["crawl", url, "-d", directory, "--listen", "127.0.0.1:0", "--delay", "0.2", *flags])
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(30)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(crawl(sys.argv[1]))
