"""A URL names where the answers are kept. A third party's store comes by an entry point in `outrider.contents`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, cast

from outrider.model.capture import Capture
from outrider.ports import Clock, ContentStore
from outrider.stores.place import Place
from outrider.stores.registry import backend_for

CONTENTS: Final[Mapping[str, str]] = {
    "memory": "outrider.stores.memory.contents:MemoryContents",
    "none": "outrider.stores.none:NoContents",
    "redis": "outrider.stores.redis.contents:RedisContents",
    "rediss": "outrider.stores.redis.contents:RedisContents",
    "redis+cluster": "outrider.stores.redis.contents:RedisContents",
    "rediss+cluster": "outrider.stores.redis.contents:RedisContents",
    "warc": "outrider.stores.warc.contents:WarcContents",
}


TO_READ: Final[Mapping[str, str]] = {**CONTENTS, "warc": "outrider.stores.warc.reader:WarcReader"}
"""The same for who only reads: a writer makes its folders, and a reader must not."""


class KeptAnswers(Protocol):
    async def get(self, key: str) -> Capture | None:
        """As `ContentStore.get`."""
        ...


class ReadingBackend(Protocol):
    def open(self, place: Place, clock: Clock | None) -> AbstractAsyncContextManager[KeptAnswers]: ...


class ContentBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(self, place: Place, clock: Clock | None) -> AbstractAsyncContextManager[ContentStore]: ...


def open_contents(url: str, clock: Clock | None = None) -> AbstractAsyncContextManager[ContentStore]:
    """Open the content store that `url` names; `clock` is for tests.

    Raises `ConfigError` for a scheme or an option that nobody knows, `OutriderError` for a missing driver, and
    `StoreError` when the store cannot be used.
    """
    place = Place(url)
    backend = cast("ContentBackend", backend_for(place, "content store", CONTENTS, "outrider.contents"))
    return backend.open(place, clock)


def open_answers(url: str) -> AbstractAsyncContextManager[KeptAnswers]:
    """The same for reading alone. Raises as `open_contents`, and `ConfigError` for an archive that is not there."""
    place = Place(url)
    backend = cast("ReadingBackend", backend_for(place, "content store", TO_READ, "outrider.contents"))
    return backend.open(place, None)
