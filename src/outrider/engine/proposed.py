"""Which URLs has this process proposed lately? Hashes in a table of a fixed size; what it forgets is proposed again.

It bridges the time until the frontier has them, after which all know (`common`). Each hash has one place, and the last
to come there stays.
"""

from array import array
from collections.abc import Iterable
from typing import Final

MOST: Final = 1 << 16
"""Places: 512 KB, room for what is proposed in some seconds. A power of two, as every size is."""


class Proposed:
    """A hash is there when `table[hash & mask] == hash`: whoever looks for many does that by themselves."""

    def __init__(self, places: int = MOST) -> None:
        self.table = array("Q", [0]) * places
        self.table[0] = 1  # it has another place: else the hash 0 would be known from the beginning
        self.mask = places - 1

    def add(self, hashes: Iterable[int]) -> None:
        table, mask = self.table, self.mask
        for key in hashes:
            table[key & mask] = key

    def __contains__(self, key: int) -> bool:
        return self.table[key & self.mask] == key
