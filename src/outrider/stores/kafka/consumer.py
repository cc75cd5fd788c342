"""Pages from Kafka, for whoever follows their links: `kafka://host:9092/webpage_log?group=outrider-extract`.

Taking is not acknowledging. Only `done` moves the group's place in the topic, and only past what was taken and is still
ours: whoever dies before that leaves it to be taken again, so a page may come twice, and none is passed over.

Options: `group`, `timeout` (seconds for the first answer of the broker), `session` (seconds of silence after which a
member of the group counts as dead), `create`, `partitions`, `replication` (see `topics`), `sasl`, `ca`, `certificate`,
`key` (see `broker`).
"""

# ruff: noqa: SLF001 - the driver's names of its own errors begin with an underscore

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Final, Self, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from outrider.errors import ConfigError, StoreError
from outrider.model.event import PageFetched
from outrider.stores.kafka.broker import Trouble, error_of, settings_of
from outrider.stores.kafka.messages import page_of
from outrider.stores.kafka.topics import Making, require, topic_of
from outrider.stores.place import Place

T = TypeVar("T")

_NOT_OURS: Final = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError._NO_OFFSET,
    }
)
"""The group is being shared out anew. What is taken from us is taken again by another; the rest is confirmed later."""
_PASSING: Final = frozenset({KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED})
"""The end of a partition is no error, and who was away for too long joins again by asking."""

_GLANCE: Final = 0.5
"""Seconds for an answer of a broker that was away, and until we look whether we are to leave."""


class KafkaPages:
    """One member of a group. The driver is only touched on a thread of its own, one call after the other.

    `malformed` counts messages that were no pages: they are passed over, and confirmed with the others.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._topic = topic_of(place, place.path.strip("/") or "webpage_log")
        self._group = place.text("group", "outrider-extract")
        self._timeout = place.number("timeout", 30)
        self._session = place.number("session", 10)
        self._making = Making.of(place)
        self._settings = settings_of(place)
        place.end()
        self.malformed = 0
        self._trouble = Trouble()
        self._taken: dict[int, int] = {}
        self._came: list[Message] = []
        self._asking: asyncio.Future[list[Message]] | None = None
        self._taking = asyncio.Lock()
        self._closing = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="outrider-pages")
        self._consumer: Consumer | None = None

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place) -> AsyncIterator[Self]:
        """The group is joined by the first `take`, and left at the end."""
        pages = cls(place)
        try:
            await require(place, pages._settings, [pages._topic], pages._making, pages._timeout)
            yield pages
        finally:
            pages._closing = True
            if pages._asking is not None:
                pages._asking.cancel()
            await asyncio.get_running_loop().run_in_executor(pages._thread, pages._leave)
            pages._thread.shutdown(wait=False)

    async def take(self, most: int, seconds: float) -> list[PageFetched]:
        async with self._taking:
            messages = await self._asked(most, seconds)
            pages = []
            for message in messages:
                self._taken[message.partition() or 0] = (message.offset() or 0) + 1
                page = page_of(message.value())
                if page is None:
                    self.malformed += 1
                else:
                    pages.append(page)
            return pages

    async def done(self) -> None:
        await self._call(self._commit)

    async def lag(self) -> int:
        return await self._call(self._behind)

    async def _asked(self, most: int, seconds: float) -> list[Message]:
        """What was on its way to somebody who was cancelled is given to the next."""
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._call(lambda consumer: self._fetch(consumer, most, seconds)))
        asking = self._asking
        await asyncio.wait([asking])
        self._asking = None
        return asking.result()

    # on the thread

    def _joined(self) -> Consumer:
        """A consumer that broke for good is replaced."""
        if self._trouble.is_fatal:
            self._leave()
        if self._consumer is None:
            self._consumer = self._made()
            self._consumer.subscribe(
                [self._topic], on_assign=self._shared_out, on_revoke=self._shared_out, on_lost=self._shared_out
            )
        return self._consumer

    def _leave(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _shared_out(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        """Called inside `_fetch`: what we have of partitions that come or go is not ours to confirm."""
        del consumer
        changed = {partition.partition for partition in partitions}
        self._taken = {number: offset for number, offset in self._taken.items() if number not in changed}
        self._came = [message for message in self._came if message.partition() not in changed]

    def _fetch(self, consumer: Consumer, most: int, seconds: float) -> list[Message]:
        self._came = []
        until = time.monotonic() + seconds
        first = consumer.poll(min(seconds, _GLANCE))
        # Looked at once: the driver takes a wait of less than nothing for one without an end.
        while first is None and not self._closing and (left := until - time.monotonic()) > 0:
            first = consumer.poll(min(left, _GLANCE))
        if first is None:
            self._see_whether_it_is_back(consumer)
            return []
        self._came.append(first)
        self._came += consumer.consume(most - 1, timeout=0) if most > 1 else []
        self._trouble.forget()
        return [message for message in self._came if self._is_whole(message)]

    def _see_whether_it_is_back(self, consumer: Consumer) -> None:
        """The driver tells when the broker is gone, and not when it is there again. Raises while it is away."""
        if self._trouble.is_hopeless:
            consumer.list_topics(self._topic, timeout=min(self._timeout, _GLANCE))
            self._trouble.forget()

    def _is_whole(self, message: Message) -> bool:
        error = message.error()
        if error is None or error.code() in _PASSING:
            return error is None
        raise KafkaException(error)

    def _commit(self, consumer: Consumer) -> None:
        ours = {partition.partition for partition in consumer.assignment()}
        offsets = [
            TopicPartition(self._topic, number, offset) for number, offset in self._taken.items() if number in ours
        ]
        if not offsets:
            return
        # A broker that is away would keep the commit waiting until the session is over.
        self._see_whether_it_is_back(consumer)
        errors = _commit_errors(consumer, offsets)
        for error in errors:
            if error.code() not in _NOT_OURS:
                raise KafkaException(error)
        if not errors:
            self._taken = {}

    def _behind(self, consumer: Consumer) -> int:
        behind = 0
        for partition in consumer.committed(consumer.assignment(), timeout=self._timeout):
            low, high = consumer.get_watermark_offsets(partition, cached=True)
            if high < 0 or partition.offset < 0:
                # Nothing was fetched yet, or nothing is done. The question waits behind a fetch for new messages.
                low, high = consumer.get_watermark_offsets(partition, timeout=self._timeout)
            behind += high - max(partition.offset, low)
        return behind

    def _made(self) -> Consumer:
        self._trouble = Trouble()
        settings = {
            **self._settings,
            "group.id": self._group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": self._session * 1_000,
            "heartbeat.interval.ms": min(self._session * 250, 1_000),
            # A page's event has half a kilobyte: this is memory for some tens of thousands.
            "queued.max.messages.kbytes": 16_384,
            "error_cb": self._trouble.tell,
        }
        try:
            return Consumer(settings)
        except KafkaException as error:
            raise ConfigError(f"{self._place}: {error_of(error).str()}") from error

    async def _call(self, act: Callable[[Consumer], T]) -> T:
        """Errors of the driver end here."""
        if self._closing:
            raise StoreError(f"{self._place}: the stream of pages is closed")
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, lambda: act(self._joined()))
        except KafkaException as error:
            raise self._trouble.translated(self._place, error_of(error)) from error


def _commit_errors(consumer: Consumer, offsets: list[TopicPartition]) -> list[KafkaError]:
    """Of all of them at once, or of single partitions."""
    try:
        answers = consumer.commit(offsets=offsets, asynchronous=False)
    except KafkaException as error:
        return [error_of(error)]
    return [answer.error for answer in answers if answer.error is not None]
