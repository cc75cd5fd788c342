"""What did the client really do? The farm's own account of it, which no client can colour."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from outrider.testing.webfarm.wire import Asked, Head


class Connections(Struct, frozen=True):
    """TCP connections: `accepted` ever, `open` now, `peak` at once. A failed TLS handshake was accepted too."""

    accepted: int = 0
    open: int = 0
    peak: int = 0
    failed_handshakes: int = 0


class Referee:
    """Written by the connections of a farm, in the order of arrival."""

    def __init__(self, *, keeps_log: bool) -> None:
        self.log: list[Asked] = []
        self.hellos: list[str | None] = []
        self.requests = 0
        self.malformed = 0
        self.bugs: list[Exception] = []
        self._keeps_log = keeps_log
        self._accepted = 0
        self._open: set[int] = set()
        self._peak = 0
        self._failed_handshakes = 0
        self._waiters: list[asyncio.Future[None]] = []
        self._turns: Counter[tuple[str, str]] = Counter()

    @property
    def connections(self) -> Connections:
        return Connections(self._accepted, len(self._open), self._peak, self._failed_handshakes)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Returns as soon as `holds`: asked again after every arrival, handshake, request and departure."""
        while not holds():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    def arrived(self) -> int:
        """A number for the new connection, from 1."""
        self._accepted += 1
        self._open.add(self._accepted)
        self._peak = max(self._peak, len(self._open))
        self._changed()
        return self._accepted

    def left(self, connection_id: int) -> None:
        self._open.discard(connection_id)
        self._changed()

    def failed_handshake(self) -> None:
        self._failed_handshakes += 1
        self._changed()

    def saw(self, head: Head, connection_id: int, peer: str, *, tls: bool) -> Asked:
        asked = Asked(
            time.time(),
            time.monotonic(),
            head.host,
            head.method,
            head.target,
            head.raw,
            connection_id,
            peer,
            tls,
        )
        self.requests += 1
        if self._keeps_log:
            self.log.append(asked)
        self._changed()
        return asked

    def turn(self, asked: Asked) -> int:
        """How often this host and path were asked before; counted only where a behaviour depends on it."""
        key = asked.host, asked.path
        self._turns[key] += 1
        return self._turns[key] - 1

    def _changed(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
