"""What the archive says that we sent is, byte for byte, what went over the wire."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from outrider.app import open_visits
from outrider.fetch.hold import Hold
from outrider.fetch.sent import RequestHeads
from outrider.model.outcome import Validators
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.settings import settings_of

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"


@asynccontextmanager
async def ear() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A port, and all heads that came to it."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(ANSWER)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], heads


@pytest.mark.parametrize(
    "validators", [None, Validators('"abc"', "Mon, 01 Jan 2024 00:00:00 GMT"), Validators('W/"\xe9"')]
)
@pytest.mark.parametrize("path", ["/", "/a%20b/c?d=e&f=%C3%A9", "/*~!$'()"])
async def test_the_head_in_the_archive_is_the_one_that_was_sent(path: str, validators: Validators | None) -> None:
    async with ear() as (port, heads):
        settings = settings_of(
            delay=0,
            respect_robots=False,
            allow_private="127.0.0.0/8",
            allow_ports=str(port),
            contact="https://us.test/bot",
            hosts="shop.test=127.0.0.1",
        )
        task = Task(Url(f"http://shop.test:{port}{path}"), validators=validators)

        async with open_visits(settings) as visits:
            hold = Hold(Site("shop.test"), visits.clock, visits.clock.now() + 60.0)
            haul = await visits.visitor.visit(task, hold)

    assert haul.visit.requests == 1
    assert heads == [RequestHeads(settings.agent).of(task.url, validators)]
