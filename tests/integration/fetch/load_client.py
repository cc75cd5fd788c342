"""A client in a process of its own, to be weighed: what to visit on standard input, how it went on standard output."""

import asyncio
import json
import resource
import sys
from collections import Counter
from pathlib import Path

import uvloop

from outrider import Client
from outrider.client import Fetch
from outrider.model.outcome import Failed, Fetched, Skipped
from outrider.settings import settings_of


def weight(field: str) -> int:
    """Bytes in memory, now (VmRSS) or at most so far (VmHWM)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{field}:"))


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def end_of(fetch: Fetch) -> str:
    match fetch.outcome:
        case Fetched(status=status):
            return str(status)
        case Failed(failure):
            return str(failure.reason)
        case Skipped(reason):
            return str(reason)
        case other:
            return type(other).__name__


async def visit_all(urls: list[str], port: int, given: dict[str, object], at_once: int) -> dict[str, object]:
    settings = settings_of(
        contact="test@example.org", delay=0, allow_private=["127.0.0.0/8"], allow_ports=[port], **given
    )
    ends: Counter[tuple[str, str]] = Counter()
    descriptors, before = open_descriptors(), weight("VmHWM")
    places = asyncio.Semaphore(at_once)
    async with Client(settings=settings, hosts={"*.test": ("127.0.0.1",)}) as client:

        async def visit(url: str) -> None:
            async with places:
                fetched = await client.fetch(url)
            ends[fetched.visit.requested.path, end_of(fetched)] += 1

        await asyncio.gather(*map(visit, urls))
    return {
        "ends": [[path, end, count] for (path, end), count in ends.items()],
        "grew": weight("VmHWM") - before,
        "left_open": open_descriptors() - descriptors,
    }


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asked = json.load(sys.stdin)
    json.dump(uvloop.run(visit_all(asked["urls"], asked["port"], asked["given"], asked["at_once"])), sys.stdout)
