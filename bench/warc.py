"""What does it cost to keep a page?

    .venv/bin/python bench/warc.py [--rounds 15] [--pages 200]

Pages of 30 to 35 KB of HTML-like text, each as a response, its request and its metadata. Writers take turns over the
same pages, another one first in each round; the table shows the median of each writer's rounds, CPU microseconds a
page, all threads of this process. Files are in memory-backed storage where there is one, so that the disk is not what
is measured. `warcio` and `fastwarc` write the same response and request with their own means, and no metadata.
"""

import argparse
import asyncio
import random
import shutil
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from platform import python_version
from statistics import median
from time import perf_counter, process_time
from typing import Final

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType
from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped]  # it ships no types
from warcio.warcwriter import WARCWriter  # type: ignore[import-untyped]  # the same

from outrider.model.capture import Capture
from outrider.model.url import Url
from outrider.stores.contents import open_contents
from outrider.stores.warc.cdxj import index_line
from outrider.stores.warc.records import capture_records, packed, payload_digest

HEADERS: Final = (
    ("Date", "Mon, 01 Jan 2024 00:00:00 GMT"),
    ("Server", "nginx/1.22.1"),
    ("Content-Type", "text/html; charset=utf-8"),
    ("Transfer-Encoding", "chunked"),
    ("Last-Modified", "Sun, 31 Dec 2023 11:12:13 GMT"),
    ("ETag", 'W/"65914f1d-7c00"'),
    ("Cache-Control", "max-age=600"),
    ("Strict-Transport-Security", "max-age=31536000"),
)
REQUEST: Final = (
    b"GET /articles/%d HTTP/1.1\r\nHost: www.example.com\r\nAccept: */*\r\n"
    b"User-Agent: outrider/0.1 (+https://example.com/bot)\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n"
)
GOAL: Final = 150
"""Microseconds a page."""


def make_pages(count: int) -> list[Capture]:
    luck = random.Random(7)  # noqa: S311 - repeatable on purpose
    words = ["".join(luck.choices("etaoinshrdlucmfwyp", k=luck.randint(2, 9))) for _ in range(2_000)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]

    def text(length: int) -> str:
        pieces: list[str] = []
        size = 0
        while size < length:
            words_here = " ".join(luck.choices(words, weights, k=luck.randint(8, 40)))
            link = luck.choice(words)
            anchor = f'<a href="/{link}/{luck.randrange(9_999)}">{link}</a>'
            piece = f'<p class="{luck.choice(words[:20])}">{words_here} {anchor}</p>\n'
            pieces.append(piece)
            size += len(piece)
        return "".join(pieces)

    return [
        Capture(
            fetch_id=f"{luck.getrandbits(128):032x}",
            url=Url(f"https://www.example.com/articles/{number}?page=2&author=x"),
            at=1_700_000_000.123456 + number,
            status=200,
            headers=HEADERS,
            body=text(luck.randint(30_000, 35_000)).encode(),
            request=REQUEST % number,
            http_version="1.1",
            address="127.0.0.1",
        )
        for number in range(count)
    ]


def by_framing(pages: list[Capture]) -> int:
    """Ours without the disk: records, index line, compression."""
    size = 0
    for page in pages:
        digest = payload_digest(page)
        members = [packed(record) for record in capture_records(page, digest)]
        index_line(page, digest, "x", size, len(members[0]))
        size += sum(map(len, members))
    return size


def by_store(pages: list[Capture], batch: int = 50) -> int:
    """Ours whole: `put` and `confirm` in batches, synced."""
    folder = Path(tempfile.mkdtemp(dir=_memory()))

    async def write() -> None:
        async with open_contents(f"warc://{folder}") as contents:
            for start in range(0, len(pages), batch):
                await contents.confirm(await contents.put(pages[start : start + batch]))

    try:
        asyncio.run(write())
        return sum(path.stat().st_size for path in folder.glob("*.warc.gz"))
    finally:
        shutil.rmtree(folder)


def by_warcio(pages: list[Capture]) -> int:
    out = BytesIO()
    writer = WARCWriter(out, gzip=True)
    for page in pages:
        head = StatusAndHeaders("200 OK", list(page.headers), protocol="HTTP/1.1")
        response = writer.create_warc_record(str(page.url), "response", payload=BytesIO(page.body), http_headers=head)
        lines = [tuple(line.split(": ", 1)) for line in page.request.decode().split("\r\n")[1:-2]]
        asked = StatusAndHeaders("GET / HTTP/1.1", lines, is_http_request=True)
        request = writer.create_warc_record(str(page.url), "request", http_headers=asked)
        writer.write_request_response_pair(request, response)
    return out.tell()


def by_fastwarc(pages: list[Capture], level: int) -> int:
    out = BytesIO()
    for page in pages:
        head = "".join(("HTTP/1.1 200 OK\r\n", *(f"{name}: {value}\r\n" for name, value in page.headers), "\r\n"))
        for kind, block in (
            (WarcRecordType.response, head.encode() + page.body),
            (WarcRecordType.request, page.request),
        ):
            record = WarcRecord()
            record.init_headers(kind)
            record.headers["WARC-Target-URI"] = page.url
            record.is_http = True
            record.set_bytes_content(block)
            writer = GzipWriter(out, compression_level=level)
            record.write(writer, checksum_data=True)
            writer.finish()
    return out.tell()


WRITERS: Final[dict[str, Callable[[list[Capture]], int]]] = {
    "outrider, framing and gzip": by_framing,
    "outrider, the whole store": by_store,
    "warcio, default": by_warcio,
    "fastwarc, gzip 1": lambda pages: by_fastwarc(pages, 1),
    "fastwarc, default": lambda pages: by_fastwarc(pages, 9),
}


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a folder of our own is made in it


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--pages", type=int, default=200)
    given = parser.parse_args()
    pages = make_pages(given.pages)
    raw = sum(len(page.body) for page in pages)
    cpu: dict[str, list[float]] = {name: [] for name in WRITERS}
    wall: dict[str, list[float]] = {name: [] for name in WRITERS}
    sizes: dict[str, int] = {}
    names = list(WRITERS)
    for turn in range(given.rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started, busy = perf_counter(), process_time()
            sizes[name] = WRITERS[name](pages)
            cpu[name].append((process_time() - busy) / len(pages) * 1e6)
            wall[name].append((perf_counter() - started) / len(pages) * 1e6)
    print(f"Python {python_version()}, {len(pages)} pages of {raw / len(pages) / 1000:.1f} KB, {given.rounds} rounds\n")
    print("| writer | CPU µs a page | least to most | by the clock | smaller by | times warcio |")
    print("|---|---|---|---|---|---|")
    for name in names:
        middle = median(cpu[name])
        print(
            f"| {name} | {middle:.0f} | {min(cpu[name]):.0f} to {max(cpu[name]):.0f} | {median(wall[name]):.0f} "
            f"| {raw / sizes[name]:.2f} | {middle / median(cpu['warcio, default']):.2f} |"
        )
    verdict = "met" if median(cpu["outrider, the whole store"]) <= GOAL else "missed"
    print(f"\nThe goal of {GOAL} µs for the whole store: {verdict}.")


if __name__ == "__main__":
    main()
