"""Scrapy on the same web: fetch, extract links, follow those of the seeds' hosts, once each; durable with `--jobdir`.

python scrapy_spider.py SEEDS FETCHED [--jobdir FOLDER]     writes one URL a line
"""

import argparse
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor

TUNED = {
    "CONCURRENT_REQUESTS": 128,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    "LOG_LEVEL": "ERROR",
    "DNSCACHE_ENABLED": True,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",  # its own advice for many domains
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
}


class Everything(Spider):
    name = "everything"

    def __init__(self, seeds: list[str], fetched: Path, **named: Any) -> None:  # noqa: ANN401 - Scrapy's own
        super().__init__(**named)
        self._seeds = seeds
        self._fetched = fetched.open("a", buffering=1 << 16)
        self._links = LinkExtractor(allow_domains={urlsplit(seed).netloc for seed in seeds})

    async def start(self) -> AsyncIterator[Request]:
        for seed in self._seeds:
            yield Request(seed)

    def parse(self, response: Response) -> Iterator[Request]:
        self._fetched.write(f"{response.url}\n")
        for link in self._links.extract_links(response):
            yield Request(link.url)

    def closed(self, _: str) -> None:
        self._fetched.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", type=Path)
    parser.add_argument("fetched", type=Path)
    parser.add_argument("--jobdir", type=Path)
    given = parser.parse_args()
    durable = {} if given.jobdir is None else {"JOBDIR": str(given.jobdir)}
    process = CrawlerProcess({**TUNED, **durable})
    process.crawl(Everything, seeds=given.seeds.read_text().split(), fetched=given.fetched)
    process.start()


if __name__ == "__main__":
    main()
