"""One client's connection: requests in, answers out, one at a time. What to answer is the farm's to say.

A protocol and not a stream, because this is also the server of the benches: an `Instant` is answered inside the call
that brought its last byte; only a `Scripted` behaviour costs a task.
"""

import asyncio
import socket
import struct
from typing import Protocol, assert_never, cast

from outrider.testing.webfarm.kinds import Behaviour, Choice, Instant, Place, Scripted, Until
from outrider.testing.webfarm.referee import Referee
from outrider.testing.webfarm.wire import LONGEST_BODY, LONGEST_HEAD, Asked, Malformed, Reply, parse, render, with_close

_LINGER_ZERO = struct.pack("ii", 1, 0)


class ClientLeft(ConnectionError):
    """Nobody is there any more to finish the script for."""


class Host(Protocol):
    """What a connection needs of its farm."""

    @property
    def referee(self) -> Referee: ...

    @property
    def place(self) -> Place: ...

    def behaviour_for(self, asked: Asked) -> Behaviour: ...

    def opened(self, connection: "Connection") -> None: ...

    def closed(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    def __init__(self, farm: Host, connection_id: int, peer: str, *, tls: bool) -> None:
        self.farm = farm
        self._id = connection_id
        self._peer = peer
        self._tls = tls
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._act: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._stale: str | None = None
        self._is_lost = False

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.farm.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  how they left makes no difference
        self._is_lost = True
        if self._act is None:
            self.farm.closed(self)
        else:
            self._act.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._act is None:
            self._answer_all()
        elif len(self._buffer) > LONGEST_HEAD + LONGEST_BODY:
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # Called by the farm and by the wires.

    @property
    def transport(self) -> asyncio.Transport:
        if self._transport is None:
            raise RuntimeError("not connected yet")
        return self._transport

    @property
    def id(self) -> int:
        return self._id

    def go_stale(self, *, reset: bool) -> None:
        self._stale = "reset" if reset else "close"

    def reset(self) -> None:
        # Closing with a linger time of zero throws away what is unsent and sends an RST.
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        self.transport.abort()

    async def send(self, data: bytes) -> None:
        if self.transport.is_closing():
            raise ClientLeft
        self.transport.write(data)
        await self._writable.wait()

    # The work.

    def _answer_all(self) -> None:
        """Every whole request in the buffer, until one of them needs time."""
        while self._buffer and self._act is None and not self.transport.is_closing():
            try:
                request = parse(self._buffer)
            except Malformed as wrong:
                self.farm.referee.malformed += 1
                self._write(render(wrong.status).whole, keep_alive=False)
                return
            if request is None:
                return
            del self._buffer[: request.size]
            asked = self.farm.referee.saw(request, self._id, self._peer, tls=self._tls)
            if self._stale is not None:
                self.reset() if self._stale == "reset" else self.transport.close()
                return
            try:
                self._answer(asked, keep_alive=request.keep_alive)
            except Exception as bug:  # noqa: BLE001  a behaviour's bug must not pass for a fault: the farm raises it
                self.farm.referee.bugs.append(bug)
                self.transport.abort()

    def _answer(self, asked: Asked, *, keep_alive: bool) -> None:
        wire = ConnectionWire(self, asked)
        behaviour = wire.settled(self.farm.behaviour_for(asked))
        if isinstance(behaviour, Instant):
            self._write(_as_asked(behaviour.reply(asked, self.farm.place), asked), keep_alive=keep_alive)
        else:
            # With no room in the buffer, "writable" means that the kernel has taken every byte.
            self.transport.set_write_buffer_limits(0)
            self._act = asyncio.get_running_loop().create_task(behaviour.play(wire))
            self._act.add_done_callback(lambda act: self._played(act, keep_alive=keep_alive))

    def _write(self, whole: bytes, *, keep_alive: bool) -> None:
        if keep_alive:
            self.transport.write(whole)
        else:
            self.transport.write(with_close(whole))
            self.transport.close()

    def _played(self, act: asyncio.Task[None], *, keep_alive: bool) -> None:
        self._act = None
        if self._is_lost:
            # Nobody is left behind: a connection is closed when its script has ended as well.
            self.farm.closed(self)
        if act.cancelled() or isinstance(act.exception(), ClientLeft):
            self.transport.abort()
        elif (bug := act.exception()) is not None:
            self.farm.referee.bugs.append(bug if isinstance(bug, Exception) else RuntimeError(repr(bug)))
            self.transport.abort()
        elif not keep_alive:
            self.transport.close()
        elif not self.transport.is_closing():
            self.transport.set_write_buffer_limits()
            self.transport.resume_reading()
            self._answer_all()


class ConnectionWire:
    """The `Wire` of a real connection."""

    __slots__ = ("_connection", "_nth", "asked")

    def __init__(self, connection: Connection, asked: Asked) -> None:
        self.asked = asked
        self._connection = connection
        self._nth: int | None = None

    @property
    def place(self) -> Place:
        return self._connection.farm.place

    def settled(self, behaviour: Behaviour) -> Instant | Scripted:
        """Follow choices to their end; one request is one turn, however many choices it meets."""
        while isinstance(behaviour, Choice):
            if self._nth is None:
                self._nth = self._connection.farm.referee.turn(self.asked)
            behaviour = behaviour.choose(self.asked, self._nth)
        if not isinstance(behaviour, Instant | Scripted):
            raise TypeError(f"{behaviour!r} is of no kind that a farm can play")
        return behaviour

    async def play(self, behaviour: Behaviour) -> None:
        settled = self.settled(behaviour)
        match settled:
            case Instant():
                await self.send(_as_asked(settled.reply(self.asked, self.place), self.asked))
            case Scripted():
                await settled.play(self)
            case _:
                assert_never(settled)

    async def send(self, data: bytes) -> None:
        await self._connection.send(data)

    async def wait(self, until: Until) -> None:
        await (until.wait() if isinstance(until, asyncio.Event) else asyncio.sleep(until))

    def close(self) -> None:
        self._connection.transport.close()

    def reset(self) -> None:
        self._connection.reset()

    def go_stale(self, *, reset: bool) -> None:
        self._connection.go_stale(reset=reset)


def _as_asked(reply: Reply, asked: Asked) -> bytes:
    return reply.head if asked.method == "HEAD" else reply.whole
