"""A web on loopback: many host names behind one port, each path with its behaviour, and a log that does not lie."""

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from outrider.testing.webfarm.behaviours import status
from outrider.testing.webfarm.certificates import Certificates
from outrider.testing.webfarm.connection import Connection
from outrider.testing.webfarm.doorman import Doorman, bind_all
from outrider.testing.webfarm.kinds import Behaviour, Place, Site
from outrider.testing.webfarm.referee import Connections, Referee
from outrider.testing.webfarm.wire import Asked

ANY: Final = "*"
"""As a host: every name without a site of its own. As a path: every path that a site does not name."""

_NOT_FOUND: Final = status(404, "no such page")
_NO_SUCH_SITE: Final = status(421, "no such site")


class WebFarm:
    """Open it with `async with`. After that nothing of it is left: no task, no socket, and no bug in a behaviour.

    `sites` stays yours to change while the farm runs: that is how a site goes down and comes back.
    """

    def __init__(
        self,
        sites: Mapping[str, Site],
        *,
        addresses: Iterable[str] = ("127.0.0.1",),
        port: int = 0,
        tls_port: int = 0,
        certificates: Certificates | None = None,
        keeps_log: bool = True,
    ) -> None:
        self.sites: dict[str, Site] = dict(sites)
        self.referee = Referee(keeps_log=keeps_log)
        self._addresses = tuple(addresses)
        self._wanted_ports = port, tls_port
        self.certificates = certificates
        self._place: Place | None = None
        self._open: set[Connection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._doormen = AsyncExitStack()

    async def __aenter__(self) -> Self:
        port, tls_port = self._wanted_ports
        listeners = list(self.bind(self._addresses, port))
        for listener in listeners:
            self._doormen.push_async_callback(Doorman(self, listener).close)
        place = Place(self._addresses, listeners[0].getsockname()[1])
        if self.certificates is not None:
            context = self.certificates.server_context(self.referee.hellos.append)
            try:
                tls_listeners = list(self.bind(self._addresses, tls_port))
            except OSError:
                await self._doormen.aclose()
                raise
            for listener in tls_listeners:
                self._doormen.push_async_callback(Doorman(self, listener, context).close)
            place = Place(self._addresses, place.port, tls_listeners[0].getsockname()[1])
        self._place = place
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._doormen.aclose()
        finally:
            for connection in self._open:
                connection.transport.abort()
            await self._empty.wait()
        if self.referee.bugs and error is None:
            raise ExceptionGroup("behaviours of the farm broke", self.referee.bugs)

    # What a test asks.

    @property
    def place(self) -> Place:
        if self._place is None:
            raise RuntimeError("the farm is not open: use `async with`")
        return self._place

    @property
    def port(self) -> int:
        return self.place.port

    @property
    def tls_port(self) -> int:
        if self.place.tls_port is None:
            raise ValueError("this farm has no certificates, so no https")
        return self.place.tls_port

    def url(self, host: str, path: str = "/", *, tls: bool = False) -> str:
        return self.place.url(host, path, tls=tls)

    @property
    def log(self) -> list[Asked]:
        """Every request in the order of arrival; empty when the farm keeps no log."""
        return self.referee.log

    @property
    def requests(self) -> int:
        return self.referee.requests

    @property
    def connections(self) -> Connections:
        return self.referee.connections

    def asked(self, host: str | None = None, target: str | None = None, method: str | None = None) -> list[Asked]:
        """The part of the log that matches all that is given."""
        return [
            asked
            for asked in self.log
            if host in {None, asked.host} and target in {None, asked.target} and method in {None, asked.method}
        ]

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to be true of this farm, such as `lambda: farm.requests == 3`."""
        await self.referee.until(holds)

    # What a kind of farm may do its own way.

    def bind(self, addresses: Sequence[str], port: int) -> Iterable[socket.socket]:
        """The sockets to listen on, one an address."""
        return bind_all(addresses, port)

    # What a connection asks.

    def behaviour_for(self, asked: Asked) -> Behaviour:
        """By target with its query, else by path alone, else what the site does for any path."""
        site = self.sites.get(asked.host)
        if site is None:
            site = self.sites.get(ANY)
            if site is None:
                return _NO_SUCH_SITE
        return site.get(asked.target) or site.get(asked.path) or site.get(ANY) or _NOT_FOUND

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)
        self._empty.clear()

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)
        self.referee.left(connection.id)
        if not self._open:
            self._empty.set()
