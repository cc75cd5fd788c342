"""Has this file ever seen that URL? A tree of hashes, and before it the latest ones in the order in which they came.

A hash falls anywhere in the tree: each new one rewrites a page of its own, which in a large file costs more than all
else that is written for it. So an act notes its new hashes as one row of `recent`, and only every `MOST_RECENT`
hashes are all of them put into the tree, sorted, many to a page. Whoever looks must know both. A process keeps the
recent ones in memory, as of its last commit, and reads the rows that came since in the transaction that it looks in:
those of other processes, and those of acts that are committed together with its own. What is rolled back was never
kept, so nothing has to be forgotten.

A row without hashes says that all before it are in the tree. It is the only one that a merge leaves behind, so that
row numbers go on and are never used again.
"""

import sqlite3
from collections.abc import Collection, Iterable
from struct import pack, unpack
from typing import Final

from msgspec.json import encode

from outrider.stores.sqlite.sql import SQL

MOST_RECENT: Final = 1 << 17
"""Hashes before a merge: 9 MB of memory in each process, and a merge of a second or two with ten million URLs known."""


class Recent:
    """What this process has in memory: the hashes of all committed rows up to number `upto`."""

    def __init__(self, most: int = MOST_RECENT) -> None:
        self.most = most
        self.upto = 0
        self.hashes: set[int] = set()


class Seen:
    """One act's view, in its transaction. `learn` when that is committed, and only then."""

    def __init__(self, connection: sqlite3.Connection, recent: Recent) -> None:
        self._execute = connection.execute
        self._recent = recent
        self._upto = recent.upto
        self._later: set[int] = set()
        self._merged = False

    def known(self, hashes: Collection[int]) -> set[int]:
        """Those of them that were seen before."""
        self._catch_up()
        found = {key for key in hashes if key in self._recent.hashes or key in self._later}
        # Sorted, so that neighbours in the tree are visited one after another.
        rest = sorted(key for key in hashes if key not in found)
        found.update(row[0] for row in self._execute(SQL["known"], (encode(rest).decode(),)))
        return found

    def see(self, hashes: Collection[int]) -> set[int]:
        """Remember them; which were new."""
        new = set(hashes) - self.known(hashes)
        if new:
            self._upto = self._execute(SQL["note_recent"], (pack_hashes(new),)).lastrowid or self._upto
            self._later |= new
            if len(self._recent.hashes) * (not self._merged) + len(self._later) >= self._recent.most:
                self._merge()
        return new

    def learn(self) -> None:
        """Committed: from now on this is what the process has in memory."""
        recent = self._recent
        if self._upto == recent.upto:
            return
        if self._merged:
            recent.hashes = set()
        recent.hashes |= self._later
        recent.upto = self._upto

    def _catch_up(self) -> None:
        for number, data in self._execute(SQL["recent_since"], (self._upto,)):
            self._upto = number
            self._later.update(unpack_hashes(data))
            if not data:
                self._emptied()

    def _emptied(self) -> None:
        """What is in the tree need not be in memory; that it may still be does no harm, for known stays known."""
        self._merged = True
        self._later = set()

    def _merge(self) -> None:
        self._execute(SQL["merge_recent"], (encode(recent_hashes(self._execute(SQL["recent"]))).decode(),))
        self._execute(SQL["forget_recent"])
        self._upto += 1
        self._execute(SQL["end_recent"], (self._upto,))
        self._emptied()


def recent_hashes(rows: Iterable[tuple[bytes]]) -> list[int]:
    """In the order of the tree."""
    return sorted(key for (data,) in rows for key in unpack_hashes(data))


def pack_hashes(hashes: Iterable[int]) -> bytes:
    values = sorted(hashes)
    return pack(f"<{len(values)}q", *values)


def unpack_hashes(data: bytes) -> tuple[int, ...]:
    return unpack(f"<{len(data) // 8}q", data)
