"""Kafka keeps the contract, as a plain consumer sees it."""

from contextlib import AbstractAsyncContextManager

import pytest
from tests.services.kafka import KafkaServer

from outrider.model.codec import from_json
from outrider.model.event import Event
from outrider.ports import EventSink
from outrider.stores.events import open_events
from outrider.testing.contracts.events import EventsContract


class TestKafkaEvents(EventsContract):
    """All kinds of events go to one topic of one partition: only there is their order one."""

    @pytest.fixture(autouse=True)
    def broker(self, kafka_server: KafkaServer) -> None:
        self.server = kafka_server

    def open(self, name: str) -> AbstractAsyncContextManager[EventSink]:
        return open_events(self.server.url(name, failures=name, rest=name, create=1, partitions=1))

    async def read(self, name: str) -> list[Event]:
        values = [message.value() or b"" for message in self.server.messages(name)]
        return [from_json(value, Event) for value in values]  # type: ignore[arg-type]  # mypy takes a union for no type
