"""A URL names where the records are kept. Drivers are imported on first use, as in `registry`.

An entry point in the group `outrider.records` maps a scheme to a class like those named here.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, cast

from outrider.ports import Clock, Records
from outrider.stores.place import Place
from outrider.stores.registry import backend_for

RECORDS: Final[Mapping[str, str]] = {
    "memory": "outrider.stores.memory.records:MemoryRecords",
    "none": "outrider.stores.none:NoRecords",
    "postgres": "outrider.stores.postgres.records:PostgresRecords",
    "postgresql": "outrider.stores.postgres.records:PostgresRecords",
    "sqlite": "outrider.stores.sqlite.records:SqliteRecords",
}


class RecordsBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options.

    Without `create` it only reads: it makes nothing, and what is not there is a `ConfigError`.
    """

    def open(self, place: Place, clock: Clock | None, *, create: bool) -> AbstractAsyncContextManager[Records]: ...


def open_records(url: str, clock: Clock | None = None, *, create: bool = True) -> AbstractAsyncContextManager[Records]:
    """Open the records that `url` names; without `create`, for reading alone.

    Raises `ConfigError` for a scheme or an option that nobody knows, `OutriderError` for a missing driver, and
    `StoreError` when the store cannot be used.
    """
    place = Place(url)
    backend = cast("RecordsBackend", backend_for(place, "store of records", RECORDS, "outrider.records"))
    return backend.open(place, clock, create=create)
