"""Workers as processes of their own: one Python each, a socket to talk, and a file for whatever they say on stderr."""

import asyncio
import os
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final, Self

from outrider.engine.messages import SocketChannel, Start

MODULE: Final = "outrider.app.worker_process"
ARENAS: Final = 2
"""For glibc: an arena for each thread keeps what others could use, and a worker has a thread for each store."""


class Process:
    """A worker process. When we die, its socket closes and it stops."""

    def __init__(self, process: asyncio.subprocess.Process, channel: SocketChannel) -> None:
        self._process = process
        self.channel = channel

    @classmethod
    async def start(cls, number: int, job: bytes, log: Path | None) -> Self:
        """What it says on stderr goes to `log`, or where ours goes.

        Raises `OSError` when the machine has no process, file or memory left for it.
        """
        with ExitStack() as on_failure:
            ours, theirs = socket.socketpair()
            on_failure.enter_context(ours)
            with theirs, output(log) as stderr:
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    "-m",
                    MODULE,
                    str(theirs.fileno()),
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, "MALLOC_ARENA_MAX": str(ARENAS)},
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=stderr,
                    stderr=stderr,
                )
            reader, writer = await asyncio.open_connection(sock=ours)
            on_failure.pop_all()
        channel = SocketChannel(reader, writer)
        await channel.send(Start(number, job))
        return cls(process, channel)

    async def wait(self) -> int:
        return await self._process.wait()

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)


def leave_signals() -> None:
    """To the one who watches: Ctrl-C reaches the whole group, and so does a stop by systemd.

    It tells us what to do, and its death ends us too.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def output(log: Path | None) -> IO[bytes]:
    return log.open("ab") if log is not None else os.fdopen(os.dup(2), "ab")


async def connected(descriptor: int) -> SocketChannel:
    """The worker's end."""
    reader, writer = await asyncio.open_connection(sock=socket.socket(fileno=descriptor))
    return SocketChannel(reader, writer)
