"""The dashboard of a crawl that runs: `python -m outrider.cli.serve_process`. Never started by hand.

It reads what it has to do, says one line once it answers, and ends when nobody holds the other end of the pipe.
"""

import asyncio
import signal
import socket
import sys
from pathlib import Path

import typer
from msgspec.json import decode

from outrider.app.directory import CrawlDirectory
from outrider.app.serve import Door, serve_view, view_of
from outrider.cli.serve_beside import ServeJob
from outrider.loop import run
from outrider.settings import Loaded, settings_of


async def main() -> None:
    loop = asyncio.get_running_loop()
    pipe = asyncio.StreamReader(limit=1 << 24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(pipe), sys.stdin)
    job = decode(await pipe.readline(), type=ServeJob)
    loaded = Loaded(settings_of(**job.settings), job.provenance)
    view = view_of(loaded, CrawlDirectory(Path(job.directory)))
    door = Door(socket.socket(fileno=job.descriptor), job.token, job.names)
    until = asyncio.Event()

    async def outlive() -> None:
        await pipe.read()
        until.set()

    watching = asyncio.create_task(outlive())
    try:
        await serve_view(loaded, view, door, until, lambda: typer.echo("ready"))
    finally:
        watching.cancel()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run(main())
