"""A URL names a backend. Drivers are imported on first use; a third party's backend comes by entry point.

An entry point in the group `outrider.frontiers` maps a scheme to a class like those named here.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, Protocol, cast, runtime_checkable

from outrider.errors import ConfigError, OutriderError
from outrider.model.site import Site
from outrider.ports import Clock, Frontier, FrontierRules, Ledger
from outrider.stores.place import Place

FRONTIERS: Final[Mapping[str, str]] = {
    "memory": "outrider.stores.memory.frontier:MemoryFrontier",
    "postgres": "outrider.stores.postgres.frontier:PostgresFrontier",
    "postgresql": "outrider.stores.postgres.frontier:PostgresFrontier",
    "redis": "outrider.stores.redis.frontier:RedisFrontier",
    "rediss": "outrider.stores.redis.frontier:RedisFrontier",
    "redis+cluster": "outrider.stores.redis.frontier:RedisFrontier",
    "rediss+cluster": "outrider.stores.redis.frontier:RedisFrontier",
    "redis+files": "outrider.stores.redis_files.frontier:RedisFilesFrontier",
    "rediss+files": "outrider.stores.redis_files.frontier:RedisFilesFrontier",
    "sqlite": "outrider.stores.sqlite.frontier:SqliteFrontier",
}
EXTRAS: Final[Mapping[str, str]] = {
    "confluent_kafka": "kafka",
    "redis": "redis",
    "hiredis": "redis",
    "psycopg": "postgres",
    "psycopg_pool": "postgres",
}
"""Which extra brings a driver."""


class FrontierStore(Frontier, Ledger, Protocol):
    """What a frontier backend is: the port, and its inspection."""

    @property
    def rules(self) -> FrontierRules:
        """The rules in force: those given, with the seed that the store keeps."""
        ...


@runtime_checkable
class LooksAtSites(Protocol):
    """What a frontier may offer besides, for whoever asks about one URL. All that come with Outrider do."""

    async def look_at(self, site: str) -> tuple[Site, float | None] | None:
        """One site as `Ledger.sites` has it, and the deadline of its lease; None for a site that is not known.

        A deadline that has passed belongs to a holder that is gone.
        """
        ...


class FrontierBackend(Protocol):
    """A class that can open one. `Place.end` is called by the backend once it has taken its options."""

    def open(
        self, place: Place, rules: FrontierRules, clock: Clock | None
    ) -> AbstractAsyncContextManager[FrontierStore]: ...


def open_frontier(
    url: str, rules: FrontierRules, clock: Clock | None = None, *, must_exist: bool = False
) -> AbstractAsyncContextManager[FrontierStore]:
    """Open the frontier that `url` names. With `clock` the store's own clock is not asked: that is for tests.

    Where there is none it is made, unless it `must_exist`. Raises `ConfigError` then, and for a scheme or an option
    that nobody knows, `OutriderError` for a missing driver, and `StoreError` when the store cannot be used.
    """
    place = Place(url, must_exist=must_exist)
    backend = cast("FrontierBackend", backend_for(place, "frontier", FRONTIERS, "outrider.frontiers"))
    return backend.open(place, rules, clock)


def backend_for(place: Place, kind: str, ours: Mapping[str, str], group: str) -> object:
    """What the place's scheme names: in our table, else by an entry point of `group`. Raises as `open_frontier`."""
    named = ours.get(place.scheme)
    if named is None:  # only then: to find entry points, every package that is installed is looked at
        theirs = {point.name: point.value for point in entry_points(group=group)}
        named = theirs.get(place.scheme)
        if named is None:
            schemes = ", ".join(f"{scheme}:" for scheme in sorted({*ours, *theirs}))
            raise ConfigError(f"{place}: no {kind} is named by {place.scheme or 'nothing'}:; there are {schemes}")
    module, _, name = named.partition(":")
    with drivers_for(place):
        backend: object = getattr(import_module(module), name)
        return backend


@contextmanager
def drivers_for(place: Place) -> Iterator[None]:
    """A driver that cannot be imported is an error that names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise OutriderError(f"{place}: the driver is missing; pip install 'outrider[{extra}]'") from error
