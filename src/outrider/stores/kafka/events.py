"""Events to Kafka: `kafka://host:9092/webpage_log?failures=webpage_failures`. Published means: all replicas have it.

What was not acknowledged in time raises `StoreUnavailable`, and whoever published asks again: an event may come twice
after that, and none is lost. The driver sends on a thread of its own; its answers are fetched by the loop, between
short waits, so that nothing is handed over from another thread of ours.

Options: `failures` and `rest` (topics), `timeout` (seconds until an event counts as not sent), `compression`, `queue`
(events that may wait in the driver; who finds no room waits), `create`, `partitions`, `replication` (see `topics`),
`sasl`, `ca`, `certificate`, `key` (see `broker`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.model.event import Event
from outrider.ports import Clock
from outrider.stores.kafka.broker import Trouble, error_of, settings_of, translated
from outrider.stores.kafka.messages import key_of, routes, value_of
from outrider.stores.kafka.topics import Making, require, topic_of
from outrider.stores.place import Place

_WAITS: Final = (0.001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Seconds between two looks for answers; the last one is repeated. A batch takes some milliseconds."""
_GRACE: Final = 5.0
"""Seconds beyond the time-out, for the driver to tell of it, and at the end for what a cancelled caller left behind."""


class _Sending:
    """One batch: how many answers are still to come, and the first that was bad."""

    def __init__(self) -> None:
        self.left = 0
        self.failed = 0
        self.error: KafkaError | None = None

    def answered(self, error: KafkaError | None, message: Message) -> None:
        del message
        self.left -= 1
        if error is not None:
            self.failed += 1
            self.error = self.error or error


class KafkaEvents:
    """One producer. Batches are sent whole, one after the other, and wait for their answers side by side."""

    def __init__(self, place: Place) -> None:
        self._place = place
        pages = topic_of(place, place.path.strip("/") or "webpage_log")
        failures = topic_of(place, place.text("failures", "webpage_failures"))
        rest = place.text("rest", "")
        self._routes = routes(pages, failures, rest and topic_of(place, rest))
        self._timeout = place.number("timeout", 30)
        self._compression = place.text("compression", "lz4", ("lz4", "zstd", "snappy", "gzip", "none"))
        self._room = place.number("queue", 50_000)
        self._making = Making.of(place)
        self._settings = settings_of(place)
        place.end()
        self._trouble = Trouble()
        self._queueing = asyncio.Lock()
        self._producer: Producer | None = None
        self._closed = False

    @classmethod
    @asynccontextmanager
    async def open(cls, place: Place, clock: Clock | None = None) -> AsyncIterator[Self]:
        """The clock is not needed: events bring their time."""
        del clock
        sink = cls(place)
        topics = sorted(set(sink._routes.values()))
        await require(place, sink._settings, topics, sink._making, sink._timeout)
        sink._producer = sink._made()
        try:
            yield sink
        finally:
            sink._closed = True
            await asyncio.to_thread(sink._end)

    async def publish(self, events: Sequence[Event]) -> None:
        if self._closed:
            raise StoreError(f"{self._place}: the event sink is closed")
        if self._trouble.is_fatal:
            await asyncio.to_thread(self._end)
        producer = self._producer = self._producer or self._made()
        sending = _Sending()
        async with self._queueing:
            await self._queue(producer, events, sending)
        for wait in _waits(self._timeout + _GRACE):
            producer.poll(0)
            if not sending.left:
                break
            await asyncio.sleep(wait)
        if sending.error is not None:
            raise self._trouble.translated(self._place, sending.error)
        if sending.left:
            raise StoreUnavailable(
                f"{self._place}: the broker did not answer for {sending.left} of {len(events)} events"
            )
        self._trouble.forget()

    async def _queue(self, producer: Producer, events: Sequence[Event], sending: _Sending) -> None:
        """Into the driver's queue. While there is no room in it, wait."""
        for event in events:
            topic = self._routes.get(type(event))
            if topic is None:
                continue
            value, key, at = value_of(event), key_of(event), round(event.at * 1_000)
            waits = _waits(self._timeout)
            while True:
                try:
                    producer.produce(topic, value, key, on_delivery=sending.answered, timestamp=at)
                except BufferError as error:
                    wait = next(waits, None)
                    if wait is None:
                        raise StoreUnavailable(f"{self._place}: too many events wait for the broker") from error
                    producer.poll(0)
                    await asyncio.sleep(wait)
                except KafkaException as error:
                    raise translated(self._place, error_of(error)) from error
                else:
                    sending.left += 1
                    break

    def _end(self) -> None:
        """On a thread: it waits for those of the driver. Only a caller that was cancelled left anything to send."""
        producer, self._producer = self._producer, None
        if producer is not None and producer.flush(_GRACE):
            producer.purge()

    def _made(self) -> Producer:
        self._trouble = Trouble()
        settings = {
            **self._settings,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": self._compression,
            # Java's own choice, so that its producers and ours put a key into the same partition.
            "partitioner": "murmur2_random",
            "linger.ms": 1,
            "message.timeout.ms": self._timeout * 1_000,
            "queue.buffering.max.messages": self._room,
            "queue.buffering.max.kbytes": 65_536,
            "error_cb": self._trouble.tell,
        }
        try:
            return Producer(settings)
        except KafkaException as error:
            raise ConfigError(f"{self._place}: {error_of(error).str()}") from error


def _waits(seconds: float) -> Iterator[float]:
    """Until so many seconds were waited."""
    waited = 0.0
    for number in range(1_000_000):
        wait = _WAITS[min(number, len(_WAITS) - 1)]
        yield wait
        waited += wait
        if waited > seconds:
            return
