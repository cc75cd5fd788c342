"""Run an extractor while somebody watches: its log, its signals, and what it counted."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

from msgspec.json import encode
from msgspec.structs import asdict

from outrider.app.extract import ExtractPlaces, extract_places, open_extractor
from outrider.cli.crawl_run import say_as_json
from outrider.cli.exit_codes import ExitCode
from outrider.cli.saying import say
from outrider.cli.waiting import opened_when_possible
from outrider.clock import SystemClock
from outrider.engine.extractor import ExtractCounts, Extractor
from outrider.loop import run
from outrider.observe.endpoint import Watch, serve
from outrider.observe.exposition import extract_exposition
from outrider.observe.log import LogFormat, log_to_stderr
from outrider.observe.words import counted
from outrider.settings import Loaded
from outrider.stores.place import Place

_SIGNALS: Final = ((signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED))
_TOLD_EVERY: Final = 30.0
_SILENCE: Final = 120.0
"""A store has half a minute for an answer, and a batch is read in seconds: who asks nobody for so long hangs."""


def run_extract(
    loaded: Loaded, group: str, log_format: LogFormat, *, wait: bool, until_idle: float | None = None
) -> int:
    """0 when it was told to stop, and has: nothing that it took is half done. A second signal does not wait."""
    where = extract_places(loaded.settings, group)
    return run(_extract(loaded, where, log_format, wait=wait, until_idle=until_idle))


async def _extract(
    loaded: Loaded, where: ExtractPlaces, log_format: LogFormat, *, wait: bool, until_idle: float | None
) -> ExitCode:
    note = say_as_json if log_format == "json" else say
    tell = _tell_json if log_format == "json" else _tell
    watched = Watched()
    async with AsyncExitStack() as stack:
        log = stack.enter_context(log_to_stderr(log_format))
        at = await stack.enter_async_context(watched.served(loaded))
        opening = partial(open_extractor, loaded.settings, where, log.listen)
        extractor = await stack.enter_async_context(opened_when_possible(opening, note, wait=wait))
        if extractor is None:
            return ExitCode.OK
        watched.extractor = extractor
        await stack.enter_async_context(_told_now_and_then(extractor, tell))
        beginning = _beginning(where) + (f"; metrics at http://{at}/metrics" if at else "")
        return await _run_until_signalled(extractor, until_idle, lambda: note(beginning))


class Watched:
    """What is told to whoever asks from outside, also while the stores are not there yet."""

    def __init__(self) -> None:
        self.extractor: Extractor | None = None

    def served(self, loaded: Loaded) -> AbstractAsyncContextManager[str | None]:
        address = loaded.settings.metrics_address
        metrics = extract_exposition(self.counts, self.ready) if address is not None else lambda: b""
        watch = Watch(metrics, self.ready, self.is_alive)
        return serve(address, watch, may_move=loaded.provenance["metrics_address"] == "default")

    def counts(self) -> ExtractCounts:
        return self.extractor.counts() if self.extractor is not None else ExtractCounts()

    def ready(self) -> str | None:
        return self.extractor.paused or None if self.extractor is not None else "its stores cannot be used yet"

    def is_alive(self) -> bool:
        return self.extractor is None or SystemClock().now() - self.extractor.asked_at <= _SILENCE


def _beginning(where: ExtractPlaces) -> str:
    places = f"{Place(where.events)} into {Place(where.frontier)}; pages are in {Place(where.contents)}"
    return f"following the links of {places}"


async def _run_until_signalled(extractor: Extractor, until_idle: float | None, begin: Callable[[], None]) -> ExitCode:
    """The first signal lets the batch in hand be finished, a second does not: what was not done with comes again."""
    running = asyncio.create_task(extractor.run(until_idle))
    signalled: list[ExitCode] = []

    def stop(code: ExitCode) -> None:
        signalled.append(code)
        extractor.stop()
        if len(signalled) > 1:
            running.cancel()

    loop = asyncio.get_running_loop()
    for number, code in _SIGNALS:
        loop.add_signal_handler(number, stop, code)
    begin()
    try:
        await asyncio.wait([running])
        if running.cancelled():
            return signalled[-1]
        running.result()
    finally:
        for number, _ in _SIGNALS:
            loop.remove_signal_handler(number)
    return ExitCode.OK


@asynccontextmanager
async def _told_now_and_then(extractor: Extractor, tell: Callable[[ExtractCounts], None]) -> AsyncIterator[None]:
    """What was counted: when that changed, and at the end."""

    async def tell_on() -> None:
        told = extractor.counts()
        while True:
            await asyncio.sleep(_TOLD_EVERY)
            counts = extractor.counts()
            if counts != told:
                tell(counts)
                told = counts

    telling = asyncio.create_task(tell_on())
    try:
        yield
    finally:
        telling.cancel()
        tell(extractor.counts())


def _tell(counts: ExtractCounts) -> None:
    parts = [
        f"{counted(counts.pages, 'page')} read",
        f"{counted(counts.links, 'link')} found",
        f"{counted(counts.new_urls, 'URL')} new",
        f"{counted(counts.refused, 'link')} refused",
    ]
    odd = (("contents gone", counts.missing), ("malformed", counts.malformed), ("bugs", counts.bugs))
    parts += [f"{number:,} {what}" for what, number in odd if number]
    to_come = "" if counts.lag is None else f"; {counted(counts.lag, 'page')} to come"
    say(", ".join(parts) + to_come)


def _tell_json(counts: ExtractCounts) -> None:
    sys.stderr.write(encode({"type": "extract_counts", **asdict(counts)}).decode() + "\n")
