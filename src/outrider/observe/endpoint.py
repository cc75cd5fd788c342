"""Who watches from outside: /metrics, /healthz and /readyz over HTTP, and nothing else.

It runs in the loop that it tells about: a loop that hangs does not answer, which is an answer. Whoever connects gets
one short answer and is hung up on. Nobody can stop it by being slow, silent or many: a request is small and has little
time, and when all places are taken the one that has waited longest goes.
"""

import asyncio
import errno
import os
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from http import HTTPStatus
from typing import Final, cast

from msgspec import Struct

from outrider.errors import ConfigError

TEXT: Final = "text/plain; charset=utf-8"
EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The Prometheus text format."""
_MOST_HEAD: Final = 8_192
_MOST_CONNECTIONS: Final = 32
_PATIENCE: Final = 5.0
"""Seconds from the connection to its end."""
_REQUEST: Final = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.[01]")


class Watch(Struct, frozen=True):
    """What is asked for each answer; none of them may wait or raise. `ready`: None, or in one line why not."""

    metrics: Callable[[], bytes]
    ready: Callable[[], str | None]
    alive: Callable[[], bool]


class Pulse:
    """Does the loop still go round? Whoever goes round says `beat`; silence for `most` seconds is death."""

    def __init__(self, now: Callable[[], float], most: float = 30.0) -> None:
        self._now = now
        self._most = most
        self._at = now()

    def beat(self) -> None:
        self._at = self._now()

    def is_alive(self) -> bool:
        return self._now() - self._at <= self._most


class Answer(Struct, frozen=True):
    status: HTTPStatus
    body: bytes
    kind: str = TEXT
    allow: str = ""


def answer(head: bytes, watch: Watch) -> tuple[Answer, bool]:
    """To a request, given its head; and whether it wants the body, too."""
    line = _REQUEST.fullmatch(head.partition(b"\r\n")[0])
    if line is None:
        return _plain(HTTPStatus.BAD_REQUEST), True
    method, target = line[1], line[2].partition(b"?")[0]
    if target not in {b"/metrics", b"/healthz", b"/readyz"}:
        return _plain(HTTPStatus.NOT_FOUND), method != b"HEAD"
    if method not in {b"GET", b"HEAD"}:
        return _plain(HTTPStatus.METHOD_NOT_ALLOWED, allow="GET, HEAD"), True
    return _told(target, watch), method != b"HEAD"


@asynccontextmanager
async def serve(address: str | None, watch: Watch, *, may_move: bool = False) -> AsyncIterator[str | None]:
    """Answers until the end of the block; the value is where (None: nowhere, as asked).

    `may_move`: nobody chose this address, so that a free port will do as well where this one is taken.
    Raises `ConfigError` where it cannot listen.
    """
    if address is None:
        yield None
        return
    listening = listen_at(address, may_move=may_move)
    connections: dict[_Connection, None] = {}
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(watch, connections), sock=listening)
    try:
        yield spelled(listening)
    finally:
        server.close()
        for connection in list(connections):
            connection.end()
        await server.wait_closed()


class _Connection(asyncio.Protocol):
    def __init__(self, watch: Watch, connections: "dict[_Connection, None]") -> None:
        self._watch = watch
        self._all = connections
        self._head = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's behaves as one, and is none by type
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE, self.end)
        if len(self._all) >= _MOST_CONNECTIONS:
            next(iter(self._all)).end()
        self._all[self] = None

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._head += data
        head, end, _ = self._head.partition(b"\r\n\r\n")
        if end:
            told, whole = answer(head, self._watch)
        elif len(self._head) > _MOST_HEAD:
            told, whole = _plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE), True
        else:
            return
        transport.write(_wire(told, whole=whole))
        transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - whoever hangs up may do so in any way
        self._all.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def end(self) -> None:
        """Now, also when it does not read what it was sent."""
        self._all.pop(self, None)
        if self._transport is not None:
            self._transport.abort()


def _told(target: bytes, watch: Watch) -> Answer:
    if target == b"/metrics":
        return Answer(HTTPStatus.OK, watch.metrics(), EXPOSITION)
    if target == b"/healthz":
        if watch.alive():
            return Answer(HTTPStatus.OK, b"alive\n")
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, b"nothing has been heard of the work for too long\n")
    why = watch.ready()
    if why is None:
        return Answer(HTTPStatus.OK, b"ready\n")
    line = " ".join(why.split())
    return Answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{line or 'not ready'}\n".encode())


def _plain(status: HTTPStatus, allow: str = "") -> Answer:
    return Answer(status, f"{status.phrase}\n".encode(), allow=allow)


def _wire(told: Answer, *, whole: bool) -> bytes:
    lines = [
        f"HTTP/1.1 {told.status.value} {told.status.phrase}",
        f"Date: {formatdate(usegmt=True)}",
        f"Content-Type: {told.kind}",
        f"Content-Length: {len(told.body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        *([f"Allow: {told.allow}"] if told.allow else []),
        "Connection: close",
    ]
    return "\r\n".join([*lines, "\r\n"]).encode() + (told.body if whole else b"")


def listen_at(
    address: str,
    *,
    may_move: bool,
    key: str = "metrics_address",
    way_out: str = "name another one (port 0 is any that is free), or none to do without",
) -> socket.socket:
    """A socket that listens there, as `serve` describes it; `key` is who named the address."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    both = host == "::" and socket.has_dualstack_ipv6()
    try:
        return socket.create_server((host, int(port)), family=family, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE and may_move:
            return socket.create_server((host, 0), family=family, dualstack_ipv6=both)
        taken = error.errno == errno.EADDRINUSE
        why = "another program listens there" if taken else os.strerror(error.errno or errno.EADDRNOTAVAIL)
        raise ConfigError(f"{key} = {address!r}: {why}; {way_out}") from error


def spelled(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
