"""A URL names where events go. A third party's sink comes by entry point, in the group `outrider.events`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, cast

from outrider.ports import Clock, EventSink
from outrider.stores.place import Place
from outrider.stores.registry import backend_for

EVENTS: Final[Mapping[str, str]] = {
    "file": "outrider.stores.files.events:FileEvents",
    "kafka": "outrider.stores.kafka.events:KafkaEvents",
    "kafka+ssl": "outrider.stores.kafka.events:KafkaEvents",
    "memory": "outrider.stores.memory.events:MemoryEvents",
}


class EventsBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(self, place: Place, clock: Clock | None) -> AbstractAsyncContextManager[EventSink]: ...


def open_events(url: str, clock: Clock | None = None) -> AbstractAsyncContextManager[EventSink]:
    """Open the sink that `url` names.

    Raises `ConfigError` for a scheme or an option that nobody knows, `OutriderError` for a missing driver, and
    `StoreError` when the sink cannot be used.
    """
    place = Place(url)
    backend = cast("EventsBackend", backend_for(place, "event sink", EVENTS, "outrider.events"))
    return backend.open(place, clock)
