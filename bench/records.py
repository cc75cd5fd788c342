"""How fast are visits put on record, does it stay so as the store grows, and how many bytes does a visit take?

    .venv/bin/python bench/records.py [--quick] [--backend NAME]... [--rows 200k]

Batches of 100 visits with a request and 5 pieces of evidence each (robots, response, eleven headers, timing, error),
written one by one to an empty store, and again once it holds `--rows` visits; then all pages are read. Making the
records is not counted. CPU is that of this process, with all its threads, and of the server.
"""

import argparse
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

import uvloop
from frontier_places import Place, open_place
from msgspec import Struct

from outrider.model.asked import Asked, AskedFor
from outrider.model.record import (
    Confidence,
    Evidence,
    EvidenceContent,
    FetchError,
    FetchTiming,
    HttpHeaders,
    HttpResponse,
    Page,
    PageFilter,
    PageMetadata,
    PageStatus,
    Record,
    RobotsCheck,
)
from outrider.model.url import Url
from outrider.ports import Records
from outrider.stores.records import open_records

BATCH: Final = 100
SAMPLE: Final = 20_000
TARGET: Final = 15_000
"""Records a second on one core, in SQLite."""
NAME: Final = "bench_records"
HEADERS: Final = (
    ("Date", "Mon, 16 Nov 2026 00:42:14 GMT"),
    ("Server", "nginx/1.22.1"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Content-Length", "30412"),
    ("Connection", "keep-alive"),
    ("Last-Modified", "Sun, 15 Nov 2026 10:00:00 GMT"),
    ("ETag", '"65f1c2aa-76cc"'),
    ("Cache-Control", "public, max-age=3600, stale-while-revalidate=60"),
    ("Vary", "Accept-Encoding"),
    ("Strict-Transport-Security", "max-age=63072000; includeSubDomains; preload"),
    ("X-Content-Type-Options", "nosniff"),
)


class Rate(Struct, frozen=True):
    """Microseconds a record: by the clock, and of CPU here and at the server."""

    clock: float
    client: float
    server: float


def url_of(n: int) -> Url:
    return Url.trusted(f"https://www.site{n % 997}.example.org/articles/2026/11/{n}/a-title-in-the-path.html")


def record(n: int) -> Record:
    url = str(url_of(n))
    fetch_id, at = secrets.token_hex(8), "2026-11-16T00:42:14.123Z"
    contents: tuple[EvidenceContent, ...] = (
        RobotsCheck(True, Confidence.HIGH, "allowed", ("/admin/", "/cart/"), 12, "Allow: /", "*", "ab" * 32),
        HttpResponse(200, url, "text/html; charset=utf-8", 30_412, 0, success=True),
        HttpHeaders(HEADERS),
        FetchTiming(at, at, 184, 1.2, 20.5, 61.7, 170.1, 183.9),
        FetchError("http_500: the server failed", "fetch_error", 500, "http_500"),
    )
    data: dict[str, str | int | float | bool | None] = {
        "statusCode": 200,
        "contentType": "text/html; charset=utf-8",
        "success": True,
    }
    page = Page(
        fetch_id,
        "scan-1",
        url,
        200,
        184,
        PageMetadata(
            PageStatus.FETCHED,
            url,
            "text/html; charset=utf-8",
            30_412,
            0,
            robots_blocked=False,
            confidence=Confidence.HIGH,
            skip_content_extraction=False,
            fetched_at=at,
            content_hash=secrets.token_hex(32),
            attempts=1,
            wire_length=8_211,
            content_key=f"crawl-00001.warc.gz:{n * 9_000}",
            depth=3,
            origin="link",
            parent="https://www.site1.example.org/articles/",
            title="A title of a page, as long as most of them are",
            links=84,
        ),
    )
    evidence = tuple(Evidence(fetch_id, url, content, dict(data)) for content in contents)
    sent_at = 1_794_790_000.0 + n * 0.001_234_5
    request = Asked(
        at=sent_at,
        visit=fetch_id,
        turn=n % 16,
        site=f"site{n % 997}.example.org",
        url=url,
        method="GET",
        kind=AskedFor.PAGE,
        ended_at=sent_at + 0.183_912,
        status=200,
        reason=None,
        retry_after=None,
        not_before=sent_at,
        interval=1.0,
        manners="0123456789ab",
    )
    return Record(page, evidence, requests=(request,))


def batches(start: int, count: int) -> Iterator[list[Record]]:
    for first in range(start, start + count, BATCH):
        yield [record(n) for n in range(first, first + BATCH)]


async def written(store: Records, place: Place, start: int, count: int) -> Rate:
    clock = client = 0.0
    server = place.server_seconds()
    for batch in batches(start, count):
        began, spent = perf_counter(), process_time()
        await store.write(batch)
        clock += perf_counter() - began
        client += process_time() - spent
    server = place.server_seconds() - server
    return Rate(*(seconds / count * 1e6 for seconds in (clock, client, server)))


async def measure(place: Place, rows: int) -> None:
    async with open_records(place.url(NAME)) as store:
        empty = await written(store, place, 0, SAMPLE)
        begin = place.bytes_taken(NAME)
        for batch in batches(SAMPLE, rows - SAMPLE):
            await store.write(batch)
        size = (place.bytes_taken(NAME) - begin) / (rows - SAMPLE)
        full = await written(store, place, rows, SAMPLE)
        began = perf_counter()
        read = sum([len(pages) async for pages in store.pages(PageFilter())])
        reading = (perf_counter() - began) / read * 1e6
        began = perf_counter()
        for n in range(0, rows, max(1, rows // 500)):
            await store.find(url_of(n))
        finding = (perf_counter() - began) / 500 * 1e6
    for name, rate in ((f"at {0:>9,} rows", empty), (f"at {rows:>9,} rows", full)):
        verdict = ""
        if place.backend == "sqlite":
            verdict = "  goal met" if rate.clock <= 1e6 / TARGET else "  goal missed"
        print(
            f"{place.backend:<9} {name}: {rate.clock:6.1f} µs a record ({1e6 / rate.clock:8,.0f}/s), "
            f"CPU {rate.client:6.1f} + {rate.server:5.1f} µs{verdict}"
        )
    print(f"{place.backend:<9} {size:,.0f} bytes a record; a page read in {reading:.1f} µs, found in {finding:.0f} µs")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", action="append", choices=["memory", "sqlite", "postgres"])
    parser.add_argument("--rows", default="200k")
    parser.add_argument("--quick", action="store_true", help="40k rows")
    asked = parser.parse_args()
    rows = 40_000 if asked.quick else int(asked.rows.lower().replace("k", "000").replace("m", "000000"))
    for backend in asked.backend or ["sqlite", "postgres"]:
        with tempfile.TemporaryDirectory() as folder, open_place(backend, Path(folder)) as place:
            if isinstance(place, str):
                print(f"{backend}: left out: {place}")
                continue
            uvloop.run(measure(place, rows))


if __name__ == "__main__":
    main()
