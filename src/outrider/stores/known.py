"""Which URLs are known for sure? The hashes that came by lately: what is found here need not be looked up.

A known URL stays known, so a hit is always right, whatever other processes do; a miss means nothing. One slot per
hash, and the later one takes it: eight bytes a slot, and no bookkeeping.
"""

from array import array
from collections.abc import Iterable, Sequence


class Known:
    def __init__(self, megabytes: int) -> None:
        slots = 1 << ((megabytes << 17).bit_length() - 1)
        self._mask = slots - 1
        self._slots = array("q", [0]) * slots
        # An empty slot must hold what cannot belong there: zero belongs in the first.
        self._slots[0] = 1

    def missing(self, hashes: Sequence[int]) -> list[int]:
        """The indexes of those that must be looked up."""
        slots, mask = self._slots, self._mask
        return [index for index, key in enumerate(hashes) if slots[key & mask] != key]

    def learn(self, hashes: Iterable[int]) -> None:
        slots, mask = self._slots, self._mask
        for key in hashes:
            slots[key & mask] = key
