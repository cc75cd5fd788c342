"""Thousands of slow sites at once, pages of a gigabyte: what a client holds is bounded, and it lets go of all of it.

The client is a process of its own and is weighed alone; the farm is in this one. One loop is enough here.
"""

import asyncio
import json
import os
import resource
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
import uvloop

import outrider
from outrider.testing.webfarm import Behaviour, WebFarm, bomb, dribble, hang, page, slow_first_byte, text
from outrider.testing.webfarm.encodings import BombEncoding

CLIENT = Path(__file__).with_name("load_client.py")
MIB = 1_048_576
VISITS = 2_000
BOMBS: tuple[BombEncoding, ...] = ("gzip", "deflate", "raw-deflate", "br", "zstd")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n"


class Report:
    """What the client's process said of itself."""

    def __init__(self, told: bytes) -> None:
        said = json.loads(told)
        self.ends = Counter({(path, end): count for path, end, count in said["ends"]})
        self.grew: int = said["grew"]
        self.left_open: int = said["left_open"]


class Child:
    """The client's process, told what to visit."""

    def __init__(self, farm: WebFarm, urls: list[str], at_once: int, given: Mapping[str, object]) -> None:
        self._asked = json.dumps({"urls": urls, "port": farm.port, "given": given, "at_once": at_once}).encode()

    async def run(self) -> Report:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            str(CLIENT),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(outrider.__file__).parents[1])},
        )
        try:
            told, _ = await process.communicate(self._asked)
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0
        return Report(told)


@pytest.fixture(autouse=True)
def _many_descriptors() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def two_thousand_slow_sites() -> tuple[Report, int]:
    go_on = asyncio.Event()
    paths: dict[str, Behaviour] = {
        "/robots.txt": text("User-agent: *\nDisallow: /private"),
        "/page": page("<p>" + "x" * 30_000),
        "/slow": slow_first_byte(go_on),
        "/dribble": dribble(page("<p>" + "x" * 3_000), size=1_500, every=go_on),
        "/hang": hang(HEAD + b"<p>half a page"),
    }
    kinds = [path for path in paths if path != "/robots.txt"]
    async with WebFarm({"*": paths}, keeps_log=False) as farm:
        urls = [farm.url(f"s{number}.test", kinds[number % len(kinds)]) for number in range(VISITS)]
        # The silence after half a page ends by the limit, which all others outlive if they arrive within it.
        limits = {"first_byte_timeout": 60, "idle_timeout": 15, "timeout": 90, "max_retries": 0, "connect_timeout": 30}
        limits |= {"concurrency": VISITS, "min_rate": 0}  # silence is the subject here, not slowness
        running = asyncio.create_task(Child(farm, urls, VISITS, limits).run())
        arrived = asyncio.create_task(farm.until(lambda: farm.requests == 2 * VISITS))
        await asyncio.wait([running, arrived], return_when=asyncio.FIRST_COMPLETED)
        held = farm.connections.open
        go_on.set()
        report = await running
        await arrived
        return report, held


def test_two_thousand_visits_of_slow_sites_hold_steady_and_let_go() -> None:
    report, held = uvloop.run(two_thousand_slow_sites())

    print(f"{held} connections at once, {report.grew / MIB:.0f} MiB for them all")
    each = VISITS // 4
    assert report.ends == {
        ("/page", "200"): each,
        ("/slow", "200"): each,
        ("/dribble", "200"): each,
        ("/hang", "read_timeout"): each,
    }
    assert held >= VISITS * 3 / 4
    assert report.grew < 128 * MIB
    assert report.left_open == 0


async def bombs_of_a_gigabyte() -> Report:
    paths: dict[str, Behaviour] = {f"/{encoding}": bomb(encoding, 1024 * MIB) for encoding in BOMBS}
    async with WebFarm({"*": paths}, keeps_log=False) as farm:
        urls = [farm.url("evil.test", path) for path in paths]
        return await Child(farm, urls, 1, {"max_retries": 0}).run()


def test_a_bomb_of_a_gigabyte_costs_a_visit_and_little_memory() -> None:
    """H2-11: refused while it is decoded, not after."""
    report = uvloop.run(bombs_of_a_gigabyte())

    print(f"{report.grew / MIB:.0f} MiB for {len(BOMBS)} bombs")
    assert report.ends == {(f"/{encoding}", "body_too_large"): 1 for encoding in BOMBS}
    assert report.grew < 48 * MIB
    assert report.left_open == 0
