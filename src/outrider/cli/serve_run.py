"""Run the dashboard until a signal comes, or until the crawl that it belongs to has ended."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

import typer

from outrider.app.serve import Door, View, serve_view
from outrider.cli.exit_codes import ExitCode
from outrider.loop import run
from outrider.observe.words import visible
from outrider.settings import Loaded


def run_serve(loaded: Loaded, view: View, door: Door, *, tells_token: bool = False) -> int:
    """0 when it was told to stop, and has."""
    with door.listening:
        run(_serve(loaded, view, door, tells_token=tells_token))
    return ExitCode.OK


async def _serve(loaded: Loaded, view: View, door: Door, *, tells_token: bool) -> None:
    until = asyncio.Event()

    def tell() -> None:
        typer.echo(f"the dashboard of {visible(view.name)} is at {url_of(door)}")
        if tells_token:
            typer.echo(f"the token, which is not shown again: {door.token}")
        sys.stdout.flush()

    with _ended_by_signals(until):
        await serve_view(loaded, view, door, until, tell)


def url_of(door: Door) -> str:
    """One that a browser on this machine understands."""
    host, port = door.address.rpartition(":")[::2]
    is_everywhere = ip_address(host.strip("[]")).is_unspecified
    return f"http://{'localhost' if is_everywhere else host}:{port}/"


@contextmanager
def _ended_by_signals(until: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, until.set)
    try:
        yield
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
