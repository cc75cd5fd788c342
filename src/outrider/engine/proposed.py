"""Which URLs has this process proposed? Hashes in a table whose size has a bound; what it forgets is proposed again.

Each hash has one place, and the last to come there stays. A set would take five times as much for each of them, and a
crawl of any length would fill it.
"""

from array import array
from collections.abc import Iterable
from typing import Final

MOST: Final = 1 << 21
"""Places: 16 MB. A power of two, as every size is."""
_FEW: Final = 1 << 14
_TIMES: Final = 4


class Proposed:
    """A hash is there when `table[hash & mask] == hash`: whoever looks for many does that by themselves."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._make(min(_FEW, most))

    def add(self, hashes: Iterable[int]) -> None:
        table, mask = self.table, self.mask
        for key in hashes:
            table[key & mask] = key
            self._added += 1
        if self._added > len(table) // 2 and len(table) < self._most:
            self._make(min(len(table) * _TIMES, self._most))
            # What stands in its own place was put there: all else is empty.
            self.add(key for place, key in enumerate(table) if key & mask == place)

    def __contains__(self, key: int) -> bool:
        return self.table[key & self.mask] == key

    def _make(self, places: int) -> None:
        self.table = array("Q", bytes(8 * places))
        self.table[0] = 1  # it has another place: else the hash 0 would be known from the beginning
        self.mask = places - 1
        self._added = 0
