"""Run a schedule until a signal ends it: SIGHUP reads its file again, SIGINT and SIGTERM end it, nothing half fed."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

import typer

from outrider.app.schedule import Target, next_turns, open_scheduler, reader_of
from outrider.app.sources import Schedule, read_schedule
from outrider.cli.exit_codes import ExitCode
from outrider.cli.saying import say
from outrider.clock import SystemClock
from outrider.engine.schedule import ScheduleCounts, Scheduler
from outrider.errors import OutriderError, StoreError
from outrider.loop import run
from outrider.observe.endpoint import Pulse, Watch, serve
from outrider.observe.exposition import schedule_exposition
from outrider.observe.words import counted, duration, moment, visible
from outrider.policy.schedule import Due, forecast

_SHOWN: Final = 10
_PATIENCE: Final = 2.0
"""How long a step may take after a signal. One that is not waited for is whole all the same, or did not happen."""
_SILENCE: Final = 120.0
"""A round may wait for a server that does not answer, twice, and naps between."""
_ENDING: Final = (signal.SIGINT, signal.SIGTERM)


def print_forecast(target: Target, schedule: Schedule) -> int:
    """The next turns, from what was fed before as far as that can be asked."""
    try:
        turns = run(next_turns(target, schedule, _SHOWN))
    except StoreError as error:
        say(f"{error}; what follows is as if nothing had been fed yet")
        turns = forecast(schedule.sources, {}, SystemClock().now(), _SHOWN)
    for due in turns:
        typer.echo(visible(_line(due)))
    if not turns:
        typer.echo("nothing: every source is fed once, and was")
    return ExitCode.OK


class How(NamedTuple):
    """`metrics` is where they are served; when nobody chose it, it `may_move` to a port that is free."""

    note: Callable[[str], None]
    metrics: str | None = None
    may_move: bool = False
    once: bool = False
    wait: bool = False


def run_schedule(target: Target, schedule: Schedule, how: How) -> int:
    """To its end: a signal, or with `once` when what is due was fed."""
    run(_Run(target, how).to_its_end(schedule))
    return ExitCode.OK


class _Run:
    def __init__(self, target: Target, how: How) -> None:
        self._target = target
        self._how = how
        self._note = how.note
        self._pulse = Pulse(time.monotonic, _SILENCE)
        self._scheduler: Scheduler | None = None
        self._newer: Schedule | None = None
        self._reloads: set[asyncio.Task[None]] = set()
        self._one_at_a_time = asyncio.Lock()

    async def to_its_end(self, schedule: Schedule) -> None:
        """Raises what went wrong, unless a signal had come before."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in _ENDING:
            loop.add_signal_handler(number, ended.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        working = asyncio.ensure_future(self._work(schedule))
        ending = asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait({working, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await self._end(working)
            else:
                await working
        finally:
            ending.cancel()
            for number in (*_ENDING, signal.SIGHUP):
                loop.remove_signal_handler(number)

    async def _work(self, schedule: Schedule) -> None:
        # Served first: who waits for a store is alive, and not ready.
        opening = open_scheduler(self._target, schedule, self._note, wait=self._how.wait)
        async with self._served(), opening as scheduler:
            if self._newer is not None:  # the file was read again while nobody was there to feed
                schedule = self._newer
                scheduler.reload(schedule.sources, reader_of(schedule))
            self._scheduler = scheduler
            scheduler.beat = self._pulse.beat
            scheduler.beat()
            self._note(f"feeding {counted(len(schedule.sources), 'source')} of {self._target.file} into {self._target}")
            await scheduler.run(once=self._how.once)

    async def _end(self, working: "asyncio.Future[None]") -> None:
        """At once where it only waits; a step that is under way gets a moment to be whole."""
        if self._scheduler is not None:
            self._scheduler.stop()
            await asyncio.wait({working}, timeout=_PATIENCE)
        working.cancel()
        # Whatever went wrong in that moment, nothing of it is half done; the next start will tell.
        with suppress(asyncio.CancelledError, OutriderError):
            await working

    def _reload(self) -> None:
        task = asyncio.ensure_future(self._read_again())
        self._reloads.add(task)
        task.add_done_callback(self._reloads.discard)

    async def _read_again(self) -> None:
        """A file that is wrong is told of, and the schedule goes on as it was."""
        async with self._one_at_a_time:
            try:
                self._newer = await asyncio.to_thread(read_schedule, self._target.file)
            except OutriderError as error:
                self._note(f"the schedule stays as it was: {error}")
                return
            if self._scheduler is not None:
                self._scheduler.reload(self._newer.sources, reader_of(self._newer))
            self._note(f"read {self._target.file} again: {counted(len(self._newer.sources), 'source')}")

    @asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        address = None if self._how.once else self._how.metrics
        exposition = schedule_exposition(self._counts, self._trouble) if address is not None else bytes
        watch = Watch(exposition, self._trouble, lambda: self._scheduler is None or self._pulse.is_alive())
        async with serve(address, watch, may_move=self._how.may_move) as where:
            if where is not None:
                self._note(f"metrics are at http://{where}/metrics")
            yield

    def _counts(self) -> ScheduleCounts:
        return self._scheduler.counts if self._scheduler is not None else ScheduleCounts()

    def _trouble(self) -> str | None:
        return self._scheduler.trouble if self._scheduler is not None else "the store is not there yet"


def _line(due: Due) -> str:
    every = "once" if due.source.every is None else f"every {duration(due.source.every)}"
    return f"{moment(due.at)[:19]}Z  {due.source}  ({every})"
