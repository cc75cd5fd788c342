"""How is a known URL told from a new one? By its hash, exactly; or, as an explicit choice, by a Bloom filter.

A filter takes a quarter of the memory, and takes some new URLs for known: they are lost, and nobody can tell which.
It cannot be listed either. What was chosen is written down when the store is made (S2-6, S2-19, C26).
"""

from typing import Final

from msgspec import Struct

from outrider.errors import ConfigError
from outrider.stores.place import Place

CAPACITY: Final = 160_000_000
ERROR: Final = 0.001
_WORST: Final = 0.5


class Bloom(Struct, frozen=True):
    """Up to `capacity` URLs, `error` of the new ones are taken for known; beyond that, less than twice as many.

    With `has_module` the filter is one of the server's own.
    """

    capacity: int
    error: float
    has_module: bool = False

    def __str__(self) -> str:
        """What is lost, for people (H2-17)."""
        whose = "the server's own filter" if self.has_module else "a filter of ours"
        return f"bloom, 1 of {1 / self.error:,.0f} new URLs is taken for known at {self.capacity:,} ({whose})"

    def constant(self, buckets: int) -> str:
        """As the scripts read it: the share of one bucket."""
        share = -(-self.capacity // buckets)
        module = str(self.has_module).lower()
        return f"{{capacity = {share}, error = {self.error!r}, has_module = {module}}}"


class Dedup(Struct, frozen=True):
    """What the URL of a store asks for. What is None was not said, and left to the store."""

    method: str | None = None
    capacity: int | None = None
    error: float | None = None

    @classmethod
    def of(cls, place: Place) -> "Dedup":
        method = place.text("dedup", "") or None
        if method not in {None, "exact", "bloom"}:
            raise ConfigError(f"{place}: dedup={method!r}; expected exact or bloom")
        capacity = place.number("capacity", 0, least=0) or None
        error = _error(place, place.text("error", ""))
        if method != "bloom" and (capacity or error):
            raise ConfigError(f"{place}: capacity and error are for dedup=bloom")
        return cls(method, capacity, error)

    def made(self, *, has_module: bool) -> Bloom | None:
        """What a new store is made with."""
        if self.method != "bloom":
            return None
        return Bloom(self.capacity or CAPACITY, self.error or ERROR, has_module)

    def check(self, place: Place, made: Bloom | None) -> None:
        """Is it what the store was made with? Raises `ConfigError`, which shows the difference."""
        there = {"dedup": "bloom" if made else "exact"}
        if made:
            there |= {"capacity": str(made.capacity), "error": str(made.error)}
        asked = {"dedup": self.method, "capacity": self.capacity, "error": self.error}
        others = [
            f"{name}={there[name]} where {name}={value} is asked for"
            for name, value in asked.items()
            if value is not None and name in there and there[name] != str(value)
        ]
        if others:
            raise ConfigError(f"{place}: the store was made with {', '.join(others)}, which cannot be changed; move it")


def _error(place: Place, text: str) -> float | None:
    if not text:
        return None
    try:
        error = float(text)
    except ValueError:
        error = 0.0
    if not 0.0 < error <= _WORST:
        raise ConfigError(f"{place}: error={text!r}; expected a probability above 0 and up to {_WORST}, such as 0.001")
    return error
