"""A URL names where events go. A third party's sink comes by entry point, in the group `outrider.events`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, Protocol, cast

from outrider.errors import ConfigError
from outrider.ports import Clock, EventSink
from outrider.stores.place import Place
from outrider.stores.registry import drivers_for

EVENTS: Final[Mapping[str, str]] = {
    "file": "outrider.stores.files.events:FileEvents",
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
    return _backend(place).open(place, clock)


def _backend(place: Place) -> EventsBackend:
    theirs = {point.name: point.value for point in entry_points(group="outrider.events")}
    known = {**theirs, **EVENTS}
    if place.scheme not in known:
        schemes = ", ".join(f"{scheme}:" for scheme in sorted(known))
        raise ConfigError(f"{place}: no event sink is named by {place.scheme or 'nothing'}:; there are {schemes}")
    module, _, name = known[place.scheme].partition(":")
    with drivers_for(place):
        return cast("EventsBackend", getattr(import_module(module), name))
