"""A world in a process of its own, so that a crawl under test shares nothing with it but the wire.

`served` starts it, waits until it listens and ends it; `main` is what runs there, until SIGTERM or SIGINT.
"""

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from outrider.testing.webfarm.certificates import Certificates
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import HERE, PRESETS, World
from outrider.testing.webfarm.world_farm import WorldFarm
from outrider.testing.webfarm.world_log import LogFile, Logged, read_log
from outrider.testing.webfarm.world_truth import Expected, Rules, truth

PATIENCE: Final = 30.0
"""Longest that a server may take to listen, and to end."""


class Ready(msgspec.Struct, frozen=True):
    """What a server says when it listens. `authority` is the PEM that a client must trust, when there is TLS."""

    port: int
    tls_port: int | None
    pid: int
    authority: str | None = None


class Served(msgspec.Struct, frozen=True):
    """A world that is being served. `hosts` is what the crawler must be told in place of the DNS."""

    world: World
    ready: Ready
    logs: tuple[Path, ...] = ()

    @property
    def port(self) -> int:
        return self.ready.port

    @property
    def place(self) -> Place:
        return Place((HERE,), self.ready.port, self.ready.tls_port)

    @property
    def hosts(self) -> dict[str, tuple[str, ...]]:
        return self.world.addresses

    @property
    def authority(self) -> str:
        """The PEM to trust. Raises `ValueError` when it is served without TLS."""
        if self.ready.authority is None:
            raise ValueError("this world is served without TLS")
        return self.ready.authority

    @property
    def seeds(self) -> list[str]:
        return [self.url(host) for host in self.world.seed_hosts]

    def url(self, host: str, path: str = "/", *, tls: bool = False) -> str:
        return self.place.url(host, path, tls=tls)

    def truth(self, rules: Rules | None = None) -> Mapping[str, Expected]:
        return truth(self.world, self.place, rules)

    def log(self) -> list[Logged]:
        """Every request so far, in the order of arrival."""
        return read_log(*self.logs)


@contextlib.asynccontextmanager
async def served(
    world: World, *, log: Path | None = None, processes: int = 1, tls: bool = False, port: int = 0
) -> AsyncIterator[Served]:
    """Start `processes` servers of one port; more than one only for a world that is steady.

    With several, each writes a log of its own beside `log`, and `Served.log` reads them all.
    """
    if tls and processes > 1:
        raise ValueError("each process makes its own certificates: TLS is served by one")
    logs = () if log is None else (log, *(log.with_name(f"{log.name}.{n}") for n in range(1, processes)))
    async with contextlib.AsyncExitStack() as running:
        ready: Ready | None = None
        for turn in range(processes):
            options = ["--world", msgspec.json.encode(world).decode(), "--ready", "-"]
            options += ["--port", str(ready.port if ready else port)]
            options += ["--log", str(logs[turn])] if logs else []
            options += ["--tls"] if tls else []
            options += ["--shared"] if processes > 1 else []
            another = await running.enter_async_context(_started(options))
            ready = ready or another
        if ready is None:
            raise ValueError("a world is served by at least one process")
        yield Served(world, ready, logs)


@contextlib.asynccontextmanager
async def _started(options: list[str]) -> AsyncIterator[Ready]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "outrider.testing.webfarm.world",
        *options,
        "--leashed",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        # Ctrl-C is for the crawl, which finishes what it has begun: the world must outlive it.
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            line = await process.stdout.readline() if process.stdout else b""
        if not line:
            raise RuntimeError(f"the server of the world ended with {await process.wait()} before it listened")
        yield msgspec.json.decode(line, type=Ready)
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(PATIENCE):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


# In the other process.


def main(arguments: list[str] | None = None) -> None:
    options = _parser().parse_args(arguments)
    if options.world is None:
        world = PRESETS[options.preset](options.seed)
    else:
        world = msgspec.json.decode(options.world, type=World)
    with contextlib.ExitStack() as open_files:
        log = open_files.enter_context(LogFile(options.log)) if options.log else None
        serving = _serve(world, options, log)
        try:
            import uvloop  # noqa: PLC0415  there is none on Windows, where asyncio will do
        except ImportError:
            asyncio.run(serving)
        else:
            uvloop.run(serving)


async def _serve(world: World, options: argparse.Namespace, log: LogFile | None) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    farm = WorldFarm(
        world,
        tell=log.write if log else None,
        port=options.port,
        tls_port=options.tls_port,
        certificates=Certificates() if options.tls else None,
        shared=options.shared,
    )
    if options.leashed:
        leash = asyncio.create_task(_held_to_the_end_of_input())
        leash.add_done_callback(lambda _: ended.set())
    async with farm:
        authority = farm.certificates.authority.decode() if farm.certificates else None
        _tell(options.ready, Ready(farm.port, farm.place.tls_port, os.getpid(), authority))
        await ended.wait()


async def _held_to_the_end_of_input() -> None:
    """Whoever started us holds the other end, and lets go of it however they die."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


def _tell(where: Path | None, ready: Ready) -> None:
    line = msgspec.json.encode(ready) + b"\n"
    if where is None or str(where) == "-":
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    # Whoever waits for the file must never see half of it.
    with tempfile.NamedTemporaryFile(dir=where.parent, delete=False) as half:
        half.write(line)
    Path(half.name).replace(where)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m outrider.testing.webfarm.world",
        description="Serve a generated web on loopback, until SIGTERM.",
    )
    parser.add_argument("--preset", choices=PRESETS, default="demo")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", help="all of its parameters as JSON, in place of a preset and a seed")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", action="store_true", help="serve https as well, on a port of its own")
    parser.add_argument("--tls-port", type=int, default=0)
    parser.add_argument("--shared", action="store_true", help="let other processes listen on the same port")
    parser.add_argument("--leashed", action="store_true", help="end with the standard input, too")
    parser.add_argument("--log", type=Path, help="append a line of JSON for every request")
    parser.add_argument("--ready", type=Path, help="where to say which port it is, as JSON; without it, or -: stdout")
    return parser
