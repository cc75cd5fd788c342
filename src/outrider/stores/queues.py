"""A URL names where the input queue is. A third party's comes by an entry point in the group `outrider.queues`."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, cast

from outrider.ports import Clock, InputQueue
from outrider.stores.place import Place
from outrider.stores.registry import backend_for

QUEUES: Final[Mapping[str, str]] = {
    "memory": "outrider.stores.memory.intake:MemoryQueue",
    "redis": "outrider.stores.redis.queue:RedisQueue",
    "rediss": "outrider.stores.redis.queue:RedisQueue",
    "redis+cluster": "outrider.stores.redis.queue:RedisQueue",
    "rediss+cluster": "outrider.stores.redis.queue:RedisQueue",
}


class QueueBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(self, place: Place, name: str, clock: Clock | None) -> AbstractAsyncContextManager[InputQueue]: ...


def open_queue(url: str, name: str, clock: Clock | None = None) -> AbstractAsyncContextManager[InputQueue]:
    """Open the queue `name` at the place that `url` names. With `clock` the server's own is not asked, for tests.

    Raises `ConfigError` for a scheme, an option or a name that cannot be, `OutriderError` for a missing driver, and
    `StoreError` when the queue cannot be used.
    """
    place = Place(url)
    backend = cast("QueueBackend", backend_for(place, "input queue", QUEUES, "outrider.queues"))
    return backend.open(place, name, clock)
