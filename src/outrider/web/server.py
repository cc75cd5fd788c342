"""Run the web application on a socket until somebody says that it is enough. Nothing is logged of who asks for what.

Signals are whoever's who runs it: uvicorn's own handlers would take them away from a crawl.
"""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn

from outrider.web.guard import App

_GRACE: Final = 2
"""Seconds for answers that are under way."""
_MOST_AT_ONCE: Final = 256
_MOST_HEAD: Final = 262_144
"""Bytes of a request before its body: a long URL of which every character is escaped, and what a browser adds."""


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(app: App, listening: socket.socket, until: asyncio.Event) -> None:
    """Answers until `until` is set. The socket is closed then."""
    server = _Server(
        uvicorn.Config(
            app,
            access_log=False,
            h11_max_incomplete_event_size=_MOST_HEAD,
            http="h11",
            lifespan="off",
            limit_concurrency=_MOST_AT_ONCE,
            log_config=None,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=_GRACE,
            ws="none",
        )
    )

    async def end() -> None:
        await until.wait()
        server.should_exit = True

    ending = asyncio.create_task(end())
    try:
        await server.serve(sockets=[listening])
    finally:
        ending.cancel()
        listening.close()
