"""Which URLs are known for sure? The hashes that came by lately: what is found here need not be looked up.

A known URL stays known, so a hit is always right, whatever other processes do; a miss means nothing. Eight bytes a
slot, and no bookkeeping: a hash has its own slot, and pushes the one that was there into the slot beside it. A small
crawl takes little: the slots are doubled as they fill, up to the megabytes that are allowed.
"""

from array import array
from collections.abc import Collection, Sequence
from typing import Final

_FEWEST: Final = 1 << 16
_NOT_HERE: Final = 2
"""Empty slots hold zero, but zero belongs into the first two: they begin with what belongs elsewhere."""


class Known:
    def __init__(self, megabytes: int) -> None:
        self._most = 1 << ((megabytes << 17).bit_length() - 1)
        self._slots = array("q", [0]) * min(_FEWEST, self._most)
        self._slots[0] = self._slots[1] = _NOT_HERE
        self._mask = len(self._slots) - 1
        self._learned = 0

    def missing(self, hashes: Sequence[int]) -> list[int]:
        """The indexes of those that must be looked up."""
        slots, mask = self._slots, self._mask
        return [
            index for index, key in enumerate(hashes) if slots[key & mask] != key and slots[(key & mask) ^ 1] != key
        ]

    def learn(self, hashes: Collection[int]) -> None:
        self._grow(len(hashes))
        slots, mask = self._slots, self._mask
        for key in hashes:
            home = key & mask
            before = slots[home]
            if before != key:
                # Not what is empty, nor the copy that a doubling left in the half where it does not belong.
                if (before & mask) | 1 == home | 1:
                    slots[home ^ 1] = before
                slots[home] = key

    def _grow(self, more: int) -> None:
        """With a bit more, a hash belongs where it was, or as far into the second half: both begin the same."""
        self._learned += more
        while self._learned * 2 > len(self._slots) < self._most:
            self._slots *= 2
        self._mask = len(self._slots) - 1
