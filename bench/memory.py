"""How much memory does a crawl take? A farm of a million URLs, `--max-memory`, and the kernel's own count.

    python bench/memory.py --pages 100000 --max-memory 512M

What is counted is the resident memory of the supervisor and all its workers together, looked at twice a second; pages
that processes share are counted for each of them.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from outrider.testing.webfarm.world import World, vast
from outrider.testing.webfarm.world_server import Served, served

EVERY = 0.5
MIB = 1_048_576


def family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from family(int(child))


def resident(pid: int) -> int:
    total = 0
    for member in family(pid):
        try:
            total += int(Path(f"/proc/{member}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total


def command(farm: Served, folder: Path, pages: int, max_memory: str) -> list[str]:
    hosts = ",".join(f"{name}={';'.join(addresses)}" for name, addresses in farm.hosts.items())
    settings = {
        "hosts": hosts,
        "allow_ports": farm.port,
        "scope": "any",
        "delay": 0,
        "contact": "bench@example.org",
        "max_pages": pages,
        "max_memory": max_memory,
    }
    chosen = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(farm.seeds))
    where = ["--seeds", str(seeds), "--directory", str(folder / "crawl"), "--allow-private", "127.0.0.0/8"]
    return [sys.executable, "-m", "outrider", "crawl", *where, *chosen, "--json"]


async def measured(world: World, pages: int, max_memory: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        async with served(world, log=None) as farm:
            crawl = await asyncio.create_subprocess_exec(
                *command(farm, Path(name), pages, max_memory),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            peaks: list[int] = []
            ended = asyncio.create_task(crawl.communicate())
            try:
                while not ended.done():
                    peaks.append(resident(crawl.pid))
                    await asyncio.wait([ended], timeout=EVERY)
            finally:
                if crawl.returncode is None:
                    crawl.send_signal(signal.SIGKILL)
            output, _ = await ended
        summary = json.loads(output)
    seconds, census = summary["seconds"], summary["census"]
    print(f"limit                {max_memory}")
    print(f"highest              {max(peaks) / MIB:.0f} MiB of all processes, {len(peaks)} looks")
    for share in (0.25, 0.5, 0.75, 1.0):
        print(f"  after {share:4.0%}         {peaks[max(0, int(len(peaks) * share) - 1)] / MIB:.0f} MiB")
    print(f"pages                {summary['pages']:,} in {seconds:.0f} s, {summary['pages'] / seconds:.0f}/s")
    print(f"URLs known           {census['discovered']:,} on {census['sites']:,} sites")
    print(f"finish               {summary['finish']}, the ledger adds up: {summary['adds_up']}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    arguments.add_argument("--pages", type=int, default=100_000)
    arguments.add_argument("--max-memory", default="512M")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    asyncio.run(measured(vast(given.seed), given.pages, given.max_memory))


if __name__ == "__main__":
    main()
