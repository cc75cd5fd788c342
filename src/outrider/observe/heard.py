"""A sink whose events are also told to the log of this process."""

from collections.abc import Sequence

from outrider.model.event import Event
from outrider.observe.log import EventLog
from outrider.ports import EventSink


class Heard:
    def __init__(self, sink: EventSink, log: EventLog) -> None:
        self._sink = sink
        self._log = log

    async def publish(self, events: Sequence[Event]) -> None:
        await self._sink.publish(events)
        self._log.listen(events)
