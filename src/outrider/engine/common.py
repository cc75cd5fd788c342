"""Which URLs does the frontier have? Hashes in one table that all workers of a machine share.

Sites go from worker to worker, and the links of a page were met by whoever held its site before: without this each
worker would resolve and propose every URL once. Only what the frontier has confirmed belongs here. Whoever finds a link
leaves it out, and must be able to rely on it even if the one who wrote it is killed in the next moment.

Each hash has one place, and the last to come there stays; what is forgotten is proposed again. A place is written in
one piece, being eight bytes where eight bytes belong, so nobody locks anything. Memory is taken by what is touched, not
by the size.
"""

from collections.abc import Iterable
from mmap import mmap
from typing import Final

MOST: Final = 1 << 21
"""Places: 16 MB. A power of two, as every size is."""
LATELY: Final = 1 << 16
"""For what one process has proposed, and the frontier does not have yet: room for some seconds."""


class Common:
    """Shared with whoever is forked after it was made. A hash is there when `table[hash & mask] == hash`: who looks for
    many does that by themselves.
    """

    def __init__(self, places: int = MOST) -> None:
        self.table = memoryview(mmap(-1, 8 * places)).cast("Q")
        self.table[0] = 1  # it has another place: else the hash 0 would be known from the beginning
        self.mask = places - 1

    def add(self, hashes: Iterable[int]) -> None:
        table, mask = self.table, self.mask
        for key in hashes:
            table[key & mask] = key

    def __contains__(self, key: int) -> bool:
        return self.table[key & self.mask] == key
