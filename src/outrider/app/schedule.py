"""A schedule, put together: which file, which outlet, which clock. It visits nothing itself."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Protocol, cast

from msgspec import Struct
from msgspec.structs import replace

from outrider.app.rules import admission, frontier_rules
from outrider.app.sources import Schedule, read_list
from outrider.clock import SystemClock
from outrider.engine.schedule import Outlet, Read, Scheduler, Tell
from outrider.engine.schedule_frontier import FrontierSchedule, SourceRules
from outrider.errors import ConfigError, SchemaMismatch, StoreError
from outrider.policy.admit import Reach
from outrider.policy.schedule import Due, Kind, Listed, Source, forecast
from outrider.ports import Clock
from outrider.settings import Settings
from outrider.stores.files.turns import held, read_turns
from outrider.stores.place import Place
from outrider.stores.registry import backend_for, open_frontier

_SHORTEST_WAIT, _LONGEST_WAIT = 1.0, 15.0
_KEPT: Final = 60.0
"""How long a list is kept that nobody asks for."""
_QUEUES: Final[Mapping[str, str]] = dict.fromkeys(
    ("redis", "rediss", "redis+cluster", "rediss+cluster"), "outrider.stores.redis.schedule:RedisSchedule"
)


class QueueBackend(Protocol):
    """A class that can open an outlet: at most so many entries wait in the queue."""

    def open(self, place: Place, queue: str, most: int) -> AbstractAsyncContextManager[Outlet]: ...


class Target(Struct, frozen=True):
    """Where a schedule feeds to: the queue of the settings, or this frontier; its turns then lie beside the file."""

    settings: Settings
    file: Path
    frontier: str | None = None

    def __str__(self) -> str:
        if self.frontier is not None:
            return str(Place(self.frontier))
        return f"{self.settings.input_queue} at {Place(self.settings.redis_url)}"

    @property
    def turns(self) -> Path:
        return self.file.with_name(f"{self.file.name}.fed.json")


class Lists:
    """The lists of a schedule, read again only when their files have changed, or when nobody asked for a while."""

    def __init__(self, schedule: Schedule, clock: Clock) -> None:
        self._schedule = schedule
        self._clock = clock
        self._read: dict[str, tuple[tuple[int, int, int], Listed]] = {}
        self._used: dict[str, float] = {}

    async def read(self, source: Source) -> Listed:
        self._forget(self._clock.now())
        if source.kind is not Kind.SEEDS:
            return read_list(self._schedule, source)
        file = self._schedule.file_of(source)
        try:
            found = file.stat()
        except OSError as error:
            raise ConfigError(f"{file}: the seeds cannot be read: {error.strerror}") from None
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        self._used[source.name] = self._clock.now()
        known = self._read.get(source.name)
        if known is None or known[0] != state:
            # A million lines take a while, in which a signal should be heard.
            known = self._read[source.name] = (state, await asyncio.to_thread(read_list, self._schedule, source))
        return known[1]

    def _forget(self, now: float) -> None:
        """A million URLs that were given take up the memory of those that come."""
        for name in [name for name, at in self._used.items() if now - at > _KEPT]:
            del self._used[name]
            self._read.pop(name, None)


def reader_of(schedule: Schedule, clock: Clock | None = None) -> Read:
    return Lists(schedule, clock or SystemClock()).read


@asynccontextmanager
async def open_scheduler(
    target: Target, schedule: Schedule, tell: Tell, *, wait: bool = False, clock: Clock | None = None
) -> AsyncIterator[Scheduler]:
    """Raises `StoreError` when the store is away, unless it is to `wait` for it; that is told once."""
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        outlet = await _reached(stack, lambda: _open_outlet(target, clock), tell if wait else None, clock)
        yield Scheduler(schedule.sources, reader_of(schedule, clock), outlet, clock, tell)


async def next_turns(target: Target, schedule: Schedule, most: int) -> list[Due]:
    """What would be fed when, from what is remembered; nothing is written. Raises `StoreError` when that is away."""
    clock = SystemClock()
    if target.frontier is not None:
        return forecast(schedule.sources, read_turns(target.turns), clock.now(), most)
    async with _open_outlet(target, clock) as outlet:
        look = await outlet.look(schedule.sources)
    return forecast(schedule.sources, look.turns, look.now, most)


@asynccontextmanager
async def _open_outlet(target: Target, clock: Clock) -> AsyncIterator[Outlet]:
    settings, most = target.settings, target.settings.max_queue_size
    if target.frontier is None:
        place = Place(settings.redis_url)
        backend = cast("QueueBackend", backend_for(place, "queue for a schedule", _QUEUES, "outrider.schedules"))
        async with backend.open(place, settings.input_queue, most) as queue:
            yield queue
        return
    # Somebody named them one by one: no scope is measured from anywhere, and a sitemap may be called .xml.
    pages = admission(settings, Reach.ANY)
    rules = SourceRules(pages, replace(pages, extensions=frozenset(), include=(), max_depth=None))
    with held(target.turns):
        async with open_frontier(target.frontier, frontier_rules(settings)) as frontier:
            yield FrontierSchedule(frontier, rules, target.turns, most, clock)


async def _reached(
    stack: AsyncExitStack,
    open_outlet: Callable[[], AbstractAsyncContextManager[Outlet]],
    tell: Tell | None,
    clock: Clock,
) -> Outlet:
    """Open, and looked at once: only then is it known to be there. Without `tell` nobody waits for it."""
    pause = _SHORTEST_WAIT
    while True:
        try:
            async with AsyncExitStack() as attempt:
                outlet = await attempt.enter_async_context(open_outlet())
                await outlet.look()
                stack.push_async_exit(attempt.pop_all())
                return outlet
        except SchemaMismatch:
            raise
        except StoreError as error:
            if tell is None:
                raise
            if pause == _SHORTEST_WAIT:
                tell(f"{error}; waiting until it is there")
        await clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_WAIT)
