"""Workers forked before anything runs: what was imported once need not be imported again by each of them.

A process may be forked safely only while it has one thread and no event loop. So they are made first, and wait; whoever
takes the place of one that vanished is started anew (`processes`). Each waits for the descriptor of its log, which is
how it learns that it is wanted; when the socket closes instead, it is gone. The standard descriptors must be open: a
socket in the place of one would stay open in all of them, and nobody would ever hear that the other side is gone.
"""

import asyncio
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn, Self

from msgspec import Struct

from outrider.engine.messages import SocketChannel, Start
from outrider.engine.processes import ARENAS, leave_signals, output

_M_ARENA_MAX: Final = -8
"""mallopt(3), for what `processes` says by the environment."""
_WANTED: Final = b"!"
_MANY: Final = 1 << 20
"""Descriptors, where there is no limit."""


class Prepared(Struct, frozen=True):
    """One that waits."""

    pid: int
    socket: socket.socket

    def dismiss(self) -> None:
        """It goes as soon as nobody speaks to it any more."""
        self.socket.close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


@contextmanager
def prepared_workers(number: int, life: Callable[[int], None]) -> Iterator[list[Prepared]]:
    """So many, each of which lives its `life` with the descriptor of its socket. None where forking is not safe."""
    prepared: list[Prepared] = []
    try:
        if sys.platform == "linux":
            _flush()  # else it would be said by all of them
            # What is there now stays. Whoever looked through it would get a copy of its own.
            gc.collect()
            gc.freeze()
            with suppress(OSError):  # no process left: whoever starts one instead says so
                for _ in range(number):
                    prepared.append(_forked(life))  # noqa: PERF401 - those who are there are known when one is not
        yield prepared
    finally:
        for one in prepared:
            one.dismiss()


def _forked(life: Callable[[int], None]) -> Prepared:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _live(life, theirs.fileno())
    theirs.close()
    return Prepared(pid, ours)


def _live(life: Callable[[int], None], own: int) -> NoReturn:
    """Never goes back to where it was forked: what stands there belongs to another."""
    code = 1
    try:
        leave_signals()
        # Also the sockets of the others, which must close when the one who watches dies.
        os.closerange(3, own)
        most = os.sysconf("SC_OPEN_MAX")
        os.closerange(own + 1, most if most > 0 else _MANY)
        if _begins(own):
            _have_few_arenas()
            life(own)
        code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, this process ends here
        traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


def _have_few_arenas() -> None:
    import ctypes  # noqa: PLC0415 - in this process only

    with suppress(AttributeError, OSError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def _begins(own: int) -> bool:
    """Once it is wanted, whatever it says goes to its log."""
    line = socket.socket(fileno=own)
    try:
        said, descriptors, _, _ = socket.recv_fds(line, len(_WANTED), 1)
    finally:
        line.detach()
    if said != _WANTED or not descriptors:
        return False
    log, nothing = descriptors[0], os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    os.close(log)
    os.close(nothing)
    return True


class ForkedProcess:
    """One of those who waited, at work."""

    def __init__(self, pid: int, channel: SocketChannel) -> None:
        self._pid = pid
        self._code: int | None = None
        self.channel = channel

    @classmethod
    async def start(cls, prepared: Prepared, number: int, job: bytes, log: Path | None) -> Self | None:
        """As `Process.start`; None when it is gone already."""
        with output(log) as stderr:
            try:
                socket.send_fds(prepared.socket, [_WANTED], [stderr.fileno()])
            except ConnectionError:
                prepared.dismiss()
                return None
        reader, writer = await asyncio.open_connection(sock=prepared.socket)
        channel = SocketChannel(reader, writer)
        await channel.send(Start(number, job))
        return cls(prepared.pid, channel)

    async def wait(self) -> int:
        """As often as one likes."""
        if self._code is None:
            loop = asyncio.get_running_loop()
            descriptor = os.pidfd_open(self._pid)
            gone = asyncio.Event()
            loop.add_reader(descriptor, gone.set)
            try:
                await gone.wait()
            finally:
                loop.remove_reader(descriptor)
                os.close(descriptor)
            if self._code is None:
                _, status = os.waitpid(self._pid, 0)  # noqa: ASYNC222 - it is gone: only its code is still there
                self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def kill(self) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
