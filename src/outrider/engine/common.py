"""Which URLs does the frontier have? Hashes in one table that all workers of a machine share.

Sites go from worker to worker, and the links of a page were met by whoever held its site before: without this each
worker would resolve and propose every URL once. Only what the frontier has confirmed belongs here. Whoever finds a link
leaves it out, and must be able to rely on it even if the one who wrote it is killed in the next moment.

A hash has its own place, and pushes the one that was there into the place beside it, where another is forgotten: what
is forgotten is proposed again. A place is written in one piece, being eight bytes where eight bytes belong, so nobody
locks anything. Memory is taken by what is touched, not by the size.
"""

from collections.abc import Iterable
from mmap import mmap
from typing import Final

MOST: Final = 1 << 22
"""Places: 32 MB. A power of two, as every size is."""
LATELY: Final = 1 << 16
"""For what one process has proposed, and the frontier does not have yet: room for some seconds."""
_NOT_HERE: Final = 2
"""Empty places hold zero, but zero belongs into the first two: they begin with what belongs elsewhere."""


class Common:
    """Shared with whoever is forked after it was made. A hash is there when it is `table[hash & mask]`, or beside that:
    `table[hash & mask ^ 1]`. Who looks for many does that by themselves.
    """

    def __init__(self, places: int = MOST) -> None:
        self.table = memoryview(mmap(-1, 8 * places)).cast("Q")
        self.table[0] = self.table[1] = _NOT_HERE
        self.mask = places - 1

    def add(self, hashes: Iterable[int]) -> None:
        table, mask = self.table, self.mask
        for key in hashes:
            place = key & mask
            before = table[place]
            if before != key:
                if before:
                    table[place ^ 1] = before
                table[place] = key

    def __contains__(self, key: int) -> bool:
        place = key & self.mask
        return self.table[place] == key or self.table[place ^ 1] == key
