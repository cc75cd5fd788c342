"""Thousands of requests, good and bad, cancelled at any moment: each ends once, and nothing is left behind."""

import asyncio
import os
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from outrider.errors import AddressRefused, ConnectError, ConnectionLost, ProtocolError, TimedOut, TransportError
from outrider.fetch.limits import Limits
from outrider.fetch.transport import CurlTransport, Pin
from outrider.model.url import Url
from outrider.ports import Request

if TYPE_CHECKING:
    from tests.integration.fetch.conftest import Kit, Make, RawServer

SEED = int(os.environ.get("OUTRIDER_TEST_SEED", "7"))
REQUESTS = 3_000
PAGES = {f"/{size}": b"%d" % (size % 7) * size for size in (0, 10, 30_003, 300_001)}
FAULTS: dict[str, type[TransportError]] = {
    "/refused": ConnectError,
    "/vetoed": AddressRefused,
    "/cut": ConnectionLost,
    "/empty": ConnectionLost,
    "/reset": ConnectionLost,
    "/hole": TimedOut,
    "/stall": TimedOut,
    "/garbage": ProtocolError,
}
VETOED = "127.0.0.9"


class Storm:
    """Draws the requests and judges their ends. The draw depends on the seed alone."""

    def __init__(self, seed: int, port: int, closed_port: int) -> None:
        self._luck = random.Random(seed)  # noqa: S311 - a test's dice
        self._port = port
        self._closed_port = closed_port

    async def resolve(self, url: Url) -> Pin:
        return Pin((VETOED,)) if url.path == "/vetoed" else Pin(("127.0.0.1", "127.0.0.1"))

    async def run(self, transport: CurlTransport) -> Counter[str]:
        places = asyncio.Semaphore(100)
        return Counter(await asyncio.gather(*(self._one(transport, places) for _ in range(REQUESTS))))

    async def _one(self, transport: CurlTransport, places: asyncio.Semaphore) -> str:
        path = self._luck.choice(list(PAGES) if self._luck.random() < 0.7 else list(FAULTS))
        port = self._closed_port if path == "/refused" else self._port
        url = Url(f"http://host{self._luck.randrange(20)}.test:{port}{path}")
        turns = self._luck.randrange(12) if self._luck.random() < 0.1 else None
        delay = self._luck.random() / 20 if self._luck.random() < 0.05 else None
        async with places:
            task = asyncio.create_task(transport.request(Request(url)))
            if turns is not None:
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
            elif delay is not None:
                asyncio.get_running_loop().call_later(delay, task.cancel)
            await asyncio.wait([task])
        return self._judge(path, task)

    @staticmethod
    def _judge(path: str, task: "asyncio.Task[object]") -> str:
        if task.cancelled():
            return "cancelled"
        error = task.exception()
        if error is None:
            return "fetched" if getattr(task.result(), "body", None) == PAGES[path] else f"{path}: wrong body"
        if path in FAULTS:
            return "failed" if isinstance(error, FAULTS[path]) else f"{path}: {error!r}"
        # A connection that the server has just closed: told, never hidden.
        return "stale" if isinstance(error, ConnectionLost) and error.reused else f"{path}: {error!r}"


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_of_thousands_of_mixed_requests_each_ends_once_and_nothing_is_left(
    make: "Make", server: "RawServer", kit: "Kit", closed_port: int
) -> None:
    print(f"seed {SEED}")
    storm = Storm(SEED, server.port, closed_port)
    part = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\npart"
    for path, body in PAGES.items():
        server.routes[path] = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    server.routes |= {"/cut": kit.cut(part), "/empty": kit.cut(b""), "/reset": kit.reset(part), "/hole": server.hang}
    server.routes |= {"/stall": kit.stall(server, part), "/garbage": kit.cut(b"garbage\r\n\r\n")}
    before = open_descriptors()

    async with make(
        resolve=storm.resolve,
        check_address=lambda address, _port: address != VETOED,
        limits=Limits(first_byte=0.4, idle=0.4),
        max_connections=50,
    ) as transport:
        ends = await storm.run(transport)
    await server.forget()

    print(dict(ends))
    assert ends.total() == REQUESTS
    assert set(ends) <= {"fetched", "failed", "cancelled", "stale"}
    assert ends["fetched"] > REQUESTS / 2
    assert open_descriptors() <= before
