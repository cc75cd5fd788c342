"""A URL names where fetched pages are told of, for whoever follows their links.

A third party's stream comes by entry point, in the group `outrider.pages`.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, cast

from outrider.model.event import PageFetched
from outrider.stores.place import Place
from outrider.stores.registry import backend_for

PAGES: Final[Mapping[str, str]] = {
    "kafka": "outrider.stores.kafka.consumer:KafkaPages",
    "kafka+ssl": "outrider.stores.kafka.consumer:KafkaPages",
}


class Pages(Protocol):
    """Taking is not acknowledging: what was taken and is not `done` comes again, to us or to another of our group."""

    @property
    def malformed(self) -> int:
        """Messages so far that were no pages. They are passed over, and `done` with the others."""
        ...

    async def take(self, most: int, seconds: float) -> list[PageFetched]:
        """As soon as there are some, up to `most`; after so many `seconds` without any, none.

        Raises `StoreUnavailable` while the broker is away. Whoever is cancelled here loses nothing.
        """
        ...

    async def done(self) -> None:
        """All that was taken so far is safe elsewhere. Raises `StoreUnavailable`; then it may be said again."""
        ...

    async def lag(self) -> int:
        """How many of what is ours to take are not `done`."""
        ...


class PagesBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(self, place: Place) -> AbstractAsyncContextManager[Pages]: ...


def open_pages(url: str) -> AbstractAsyncContextManager[Pages]:
    """Take part in the stream that `url` names.

    Raises `ConfigError` for a scheme, an option or a topic that is not there, `OutriderError` for a missing driver,
    and `StoreError` when the stream cannot be used.
    """
    place = Place(url)
    backend = cast("PagesBackend", backend_for(place, "stream of pages", PAGES, "outrider.pages"))
    return backend.open(place)
