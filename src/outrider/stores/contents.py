"""A URL names where the answers are kept. A third party's store comes by an entry point in `outrider.contents`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, Protocol, cast

from outrider.errors import ConfigError
from outrider.ports import Clock, ContentStore
from outrider.stores.place import Place
from outrider.stores.registry import drivers_for

CONTENTS: Final[Mapping[str, str]] = {
    "memory": "outrider.stores.memory.contents:MemoryContents",
    "warc": "outrider.stores.warc.contents:WarcContents",
}


class ContentBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(self, place: Place, clock: Clock | None) -> AbstractAsyncContextManager[ContentStore]: ...


def open_contents(url: str, clock: Clock | None = None) -> AbstractAsyncContextManager[ContentStore]:
    """Open the content store that `url` names; `clock` is for tests.

    Raises `ConfigError` for a scheme or an option that nobody knows, `OutriderError` for a missing driver, and
    `StoreError` when the store cannot be used.
    """
    place = Place(url)
    return _backend(place).open(place, clock)


def _backend(place: Place) -> ContentBackend:
    theirs = {point.name: point.value for point in entry_points(group="outrider.contents")}
    known = {**theirs, **CONTENTS}
    if place.scheme not in known:
        schemes = ", ".join(f"{scheme}:" for scheme in sorted(known))
        raise ConfigError(f"{place}: no content store is named by {place.scheme or 'nothing'}:; there are {schemes}")
    module, _, name = known[place.scheme].partition(":")
    with drivers_for(place):
        return cast("ContentBackend", getattr(import_module(module), name))
