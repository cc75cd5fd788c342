"""The service, put together: URLs from a Redis list, pages to a cache, events to Kafka, as many machines as one likes.

Every process that is started with the same places works on the same frontier. Here is one of them: its intake, its
workers, and the one who watches over them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from math import ceil
from typing import Final

from msgspec import Struct
from msgspec.json import encode

from outrider.app.crawl import worker_count
from outrider.app.rules import frontier_rules, intake_rules
from outrider.app.workers import KEEPS_NOTHING, Job, Places
from outrider.clock import SystemClock
from outrider.engine.finish import Finish
from outrider.engine.intake import Intake, Proposing, Stores, Taken
from outrider.engine.mates import Mate, Terms
from outrider.engine.processes import Process
from outrider.engine.supervisor import Supervisor
from outrider.engine.waiting import wait_for
from outrider.errors import ConfigError, StoreUnavailable
from outrider.model.progress import Progress
from outrider.model.url import Url
from outrider.observe.heard import Both, Heard
from outrider.observe.log import LogFormat, log_to_stderr
from outrider.observe.memory import resident
from outrider.ports import Clock, DeadLetters, InputQueue
from outrider.settings import Settings, require_contact
from outrider.settings.describe import spoken
from outrider.settings.load import Loaded
from outrider.stores.contents import open_contents
from outrider.stores.events import open_events
from outrider.stores.letters import open_letters
from outrider.stores.place import Place, with_option
from outrider.stores.queues import open_queue
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier

_LAST_WORDS: Final = 5.0
"""After the limit of a drain, workers are told to go at once; so much later they are gone."""
_MEASURED_EVERY: Final = 2.0
_ANYWHERE: Final = Url("https://example.org/")


class ServicePlaces(Struct, frozen=True):
    """Where everything is; queue and dead letters are lists of one Redis."""

    stores: Places
    queue: str


class Sizes(Struct, frozen=True):
    """Of the lists, as they were lately; None while nobody knows."""

    queue: int | None = None
    letters: int | None = None


def service_places(loaded: Loaded) -> ServicePlaces:
    """What is not said is in the service's own Redis and Kafka; without those, the queue is where the frontier is."""
    settings, provenance = loaded
    queue = settings.redis_url
    if provenance["redis_url"] == "default":
        named = [url for url in (settings.frontier, settings.contents) if url and url.startswith("redis")]
        queue = _without_options(named[0]).replace("+files", "") if named else queue
    letters = _without_options(queue)
    return ServicePlaces(
        Places(
            frontier=settings.frontier or settings.redis_url,
            records=settings.records or KEEPS_NOTHING,
            contents=_with_ttl(settings.contents or settings.redis_url, settings.cache_ttl),
            events=_with_failures(
                settings.events or f"kafka://{settings.kafka_servers}/{settings.webpage_topic}", settings.failure_topic
            ),
            letters=letters,
        ),
        letters,
    )


def _without_options(url: str) -> str:
    return url.partition("?")[0]


def _with_ttl(url: str, seconds: float) -> str:
    return with_option(url, "ttl", str(ceil(seconds))) if url.startswith("redis") else url


def _with_failures(url: str, topic: str) -> str:
    return with_option(url, "failures", topic) if url.startswith("kafka") else url


class Service:
    """`run` until `drain`."""

    def __init__(
        self, supervisor: Supervisor, intake: Intake, queue: InputQueue, letters: DeadLetters, clock: Clock
    ) -> None:
        self._supervisor = supervisor
        self._intake = intake
        self._queue = queue
        self._letters = letters
        self._clock = clock
        self._over = asyncio.Event()
        self._is_draining = False
        self.sizes = Sizes()

    @property
    def taken(self) -> Taken:
        return self._intake.taken

    def waits_for(self) -> str | None:
        """Why nothing new is visited, if that is so, apart from what the workers say."""
        if self._is_draining:
            return "it was told to stop, and finishes what is under way"
        return self._intake.waits_for or None

    def drain(self, why: Finish, limit: float) -> None:
        """Take nothing more in, finish what is under way, but not for longer than `limit`. A second time: now."""
        limit = 0.0 if self._is_draining else limit
        self._is_draining = True
        self._intake.stop()
        self._supervisor.drain(why)
        loop = asyncio.get_running_loop()
        if limit:
            loop.call_later(limit, self._supervisor.drain, why)
        loop.call_later(limit + _LAST_WORDS, self._supervisor.drain, why)

    async def run(self) -> Progress:
        """Raises `StoreError` when a store is broken, or away for longer than a drain may take; nothing is lost."""
        try:
            async with asyncio.TaskGroup() as group:
                taking_in = group.create_task(self._intake.run())
                measuring = group.create_task(self._measure())
                try:
                    return await self._supervisor.run()
                finally:
                    self._intake.stop()
                    self._over.set()
                    measuring.cancel()
                    await asyncio.wait([taking_in], timeout=_LAST_WORDS)
                    taking_in.cancel()
        except BaseExceptionGroup as broken:
            raise broken.exceptions[0] from broken

    async def _measure(self) -> None:
        while not self._over.is_set():
            with suppress(StoreUnavailable):  # those who need them wait for them, and say so
                self.sizes = Sizes(await self._queue.size(), await self._letters.size())
            await wait_for(self._over, _MEASURED_EVERY, self._clock)


def refuse_limits(settings: Settings) -> None:
    """Raises `ConfigError`: what counts for a whole crawl means nothing to one of many machines without an end."""
    for key in ("max_pages", "size_limit", "time_limit"):
        value = getattr(settings, key)
        if value is not None:
            raise ConfigError(f"{key} = {value}: a service has no end; leave it out, or use outrider crawl")


@asynccontextmanager
async def open_service(
    settings: Settings, where: ServicePlaces, *, shown: Callable[[Progress], None], log_format: LogFormat
) -> AsyncIterator[Service]:
    """Raises `ConfigError` for what cannot be meant, `StoreError` for a store that cannot be used: before any visit."""
    require_contact(settings, [_ANYWHERE])
    refuse_limits(settings)
    workers, clock = worker_count(settings), SystemClock()
    places = where.stores
    async with AsyncExitStack() as stack:
        log = stack.enter_context(log_to_stderr(log_format))
        frontier = await stack.enter_async_context(open_frontier(places.frontier, frontier_rules(settings)))
        queue = await stack.enter_async_context(open_queue(where.queue, settings.input_queue))
        letters = await stack.enter_async_context(open_letters(where.queue, settings.dlq_queue))
        records = await stack.enter_async_context(open_records(places.records))
        # Opened and closed: what a worker could not use either is told here, in one sentence.
        async with open_contents(places.contents):
            pass
        sink = await stack.enter_async_context(open_events(places.events))
        events = Heard(Both(sink, letters), log)
        if not isinstance(frontier, Proposing):
            raise ConfigError(
                f"{Place(places.frontier)}: this frontier cannot owe again what it has had, as a service must"
            )
        rules = intake_rules(settings)
        intake = Intake(Stores(queue, letters, frontier, events, records), rules, clock)

        async def spawn(number: int) -> Mate:
            job = Job(spoken(settings), workers, places=places, log_format=log_format)
            return await Process.start(number, encode(job), None)

        async def nothing() -> str:
            return ""

        supervisor = Supervisor(
            Terms(workers=workers, recrawls=settings.recrawl, resumed=True, endless=True),
            frontier,
            events,
            clock,
            spawn=spawn,
            keeper=None,
            tally=records.tally,
            memory=resident,
            shown=shown,
            waits_for=nothing,
        )
        yield Service(supervisor, intake, queue, letters, clock)
