"""How does libcurl get its turn? Its multi interface, woken when its sockets are ready and by one timer.

The law: a handle leaves here exactly once, either through `done` or through `remove`. Both take it out of libcurl
before anything else happens, and libcurl forgets its unread message with it; so a request that is cancelled in the very
moment in which it ends is neither lost nor told twice, and its handle can serve no second request by accident.

libcurl's callbacks, those of the loop and those of a `Line`, only note and judge what they are told. Nothing in them
calls back into libcurl, which forbids it.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

import pycurl

from outrider.errors import Phase, TransportError
from outrider.fetch.answer import Answer
from outrider.fetch.limits import Watch
from outrider.fetch.readiness import readiness

Easy: TypeAlias = Any
"""A `pycurl.Curl`: the package ships no types."""

Done: TypeAlias = Callable[[Easy, int, str], None]
"""Told of each transfer that has ended: its handle, libcurl's error number (0: none) and its words."""

_NO_SOCKET: Final[int] = pycurl.SOCKET_BAD
_LATE: Final = 0.001
"""A timer that fires a hair early is ignored by libcurl and never set again: better a millisecond late."""


class _Lent(socket.socket):
    """pycurl takes a duplicate of the descriptor; ours tells how far it is, and is closed as soon as we let go."""

    def __del__(self) -> None:
        self.close()

    def is_connected(self) -> bool:
        # libcurl tells the time of the TCP connection only after the handshake that follows it.
        try:
            self.getpeername()
        except OSError:
            return False
        return True


class Line:
    """One easy handle, its callbacks and the request it carries now. The callbacks only note what they see."""

    def __init__(self, easy: Easy, answer: Answer, check: Callable[[str, int], bool] | None) -> None:
        self.easy = easy
        self.answer = answer
        self.watch = Watch()
        self._check = check
        # What the handle was told last, so that it is told only what is new.
        self._pinned = ""
        self.header_lines: tuple[bytes, ...] | None = None
        self.target: str | None = None
        self.is_head = False
        self.verifies: bool | None = None
        easy.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        easy.setopt(pycurl.PREREQFUNCTION, self._before_request)
        easy.setopt(pycurl.HEADERFUNCTION, answer.add_line)
        easy.setopt(pycurl.WRITEFUNCTION, answer.add_chunk)

    def start(
        self, pin: str, ended: "asyncio.Future[TransportError | None]", real_deadline: float, connect_budget: float
    ) -> None:
        self.pin = pin
        self.ended = ended
        self.real_deadline = real_deadline
        self.connect_budget = connect_budget
        self.address: str | None = None
        self.opened = 0
        self.resent = False
        self.veto: str | None = None
        self._lent: _Lent | None = None
        self.socket_error: OSError | None = None
        self.watch.phase = None
        if pin != self._pinned and self._check is not None:
            self.easy.setopt(pycurl.CONNECT_TO, [f"::[{pin}]:" if ":" in pin else f"::{pin}:"])
            self._pinned = pin

    def end(self, error: TransportError | None) -> None:
        self._lent = None
        # Done already when the caller was cancelled a moment ago and has not had its turn yet.
        if not self.ended.done():
            self.ended.set_result(error)

    def phase(self) -> Phase:
        """Where are we? Asked by the sweep only."""
        if not self.answer.ready:
            return Phase.TLS if self._lent is not None and self._lent.is_connected() else Phase.CONNECT
        return Phase.IDLE if self.answer.header_bytes else Phase.FIRST_BYTE

    def _open(self, _purpose: int, address: Any) -> socket.socket | int:  # noqa: ANN401 - pycurl has no types
        host, port = address.addr[:2]
        if self.answer.ready:
            self.resent = True
            return _NO_SOCKET
        if not self._is_pinned(host) or (self._check is not None and not self._check(host, port)):
            self.veto = f"{host} port {port}"
            return _NO_SOCKET
        self.opened += 1
        try:
            self._lent = _Lent(address.family, address.socktype, address.protocol)
        except OSError as error:
            self.socket_error = error
            return _NO_SOCKET
        return self._lent

    def _before_request(self, address: str, _own: str, port: int, _own_port: int) -> int:
        if self.answer.ready:
            self.resent = True
            return int(pycurl.PREREQFUNC_ABORT)
        if not self._is_pinned(address):
            self.veto = f"a kept connection to {address} port {port}"
            return int(pycurl.PREREQFUNC_ABORT)
        self.answer.ready = True
        self.address = address
        self._lent = None
        return int(pycurl.PREREQFUNC_OK)

    def _is_pinned(self, address: str) -> bool:
        if self._check is None or address == self.pin:
            return True
        return ip_address(address) == ip_address(self.pin)


class CurlLoop:
    def __init__(self, done: Done, max_connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._done = done
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._schedule)
        self._multi.setopt(pycurl.M_MAXCONNECTS, max_connections)
        self._readiness = readiness(self._loop, self._ready)
        self._watched: dict[int, int] = {}
        self._timer: asyncio.Handle | None = None
        self._handles = 0
        self._closed = False

    def add(self, easy: Easy) -> None:
        self._multi.add_handle(easy)
        self._handles += 1

    def remove(self, easy: Easy) -> None:
        """Take back a handle that has not been told of; its connection is closed unless others use it."""
        self._multi.remove_handle(easy)
        self._handles -= 1

    def turn(self) -> None:
        """Let libcurl look at its own timeouts, and tell of whatever has ended."""
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._tell()

    def close(self) -> None:
        """Close every connection. Handles must have been removed before."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._readiness.close()
        self._multi.close()

    def _ready(self, sockets: Sequence[tuple[int, int]]) -> None:
        running = self._handles
        for fd, events in sockets:
            # One that was closed meanwhile is unknown to libcurl, and one in its place has nothing to say yet.
            _, running = self._multi.socket_action(fd, events)
        if running != self._handles:
            self._tell()

    def _on_timer(self) -> None:
        self._timer = None
        _, running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        if running != self._handles:
            self._tell()

    def _tell(self) -> None:
        queued = 1
        while queued:
            queued, good, bad = self._multi.info_read()
            for easy in good:
                self.remove(easy)
                self._done(easy, 0, "")
            for easy, number, message in bad:
                self.remove(easy)
                self._done(easy, number, message)

    def _watch(self, event: int, fd: int, _multi: object, _data: object) -> None:
        if self._closed:
            return
        before = self._watched.pop(fd, 0)
        after = 0 if event == pycurl.POLL_REMOVE else event
        if after:
            self._watched[fd] = after
        if before != after:
            self._readiness.change(fd, before, after)

    def _schedule(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds < 0 or self._closed:
            return
        if milliseconds == 0:
            self._timer = self._loop.call_soon(self._on_timer)
        else:
            self._timer = self._loop.call_later(milliseconds / 1000 + _LATE, self._on_timer)
