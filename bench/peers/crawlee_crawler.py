"""Crawlee on the same web: its HTTP crawler with its Parsel parser, links of the seeds' hosts, storage in memory.

python crawlee_crawler.py SEEDS FETCHED     writes one URL a line
"""

import asyncio
import logging
import sys
from pathlib import Path

import uvloop
from crawlee import ConcurrencySettings
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import ImpitHttpClient
from crawlee.storage_clients import MemoryStorageClient


async def crawl(seeds: list[str], fetched: Path) -> None:
    crawler = ParselCrawler(
        http_client=ImpitHttpClient(verify=False),
        storage_client=MemoryStorageClient(),
        configuration=Configuration(log_level="ERROR"),
        concurrency_settings=ConcurrencySettings(min_concurrency=32, max_concurrency=128, desired_concurrency=64),
        max_request_retries=0,
        use_session_pool=False,
        configure_logging=False,
    )
    with fetched.open("w", buffering=1 << 16) as file:

        @crawler.router.default_handler
        async def handle(context: ParselCrawlingContext) -> None:
            file.write(f"{context.request.loaded_url}\n")
            await context.enqueue_links(strategy="same-hostname")

        await crawler.run(seeds)


def main() -> None:
    logging.disable(logging.WARNING)
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    asyncio.run(crawl(Path(sys.argv[1]).read_text().split(), Path(sys.argv[2])))


if __name__ == "__main__":
    main()
