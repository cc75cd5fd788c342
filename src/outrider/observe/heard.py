"""A sink whose events are also told to the log of this process, and to whoever wants to see them here."""

from collections.abc import Awaitable, Callable, Sequence

from outrider.model.event import Event
from outrider.observe.log import EventLog
from outrider.ports import EventSink


class Heard:
    def __init__(
        self, sink: EventSink, log: EventLog, told: Callable[[Sequence[Event]], Awaitable[None]] | None = None
    ) -> None:
        self._sink = sink
        self._log = log
        self._told = told

    async def publish(self, events: Sequence[Event]) -> None:
        await self._sink.publish(events)
        self._log.listen(events)
        if self._told is not None:
            await self._told(events)


class Both:
    """Two sinks, one after the other; whoever asks again after a failure asks both."""

    def __init__(self, first: EventSink, second: EventSink) -> None:
        self._first = first
        self._second = second

    async def publish(self, events: Sequence[Event]) -> None:
        await self._first.publish(events)
        await self._second.publish(events)
