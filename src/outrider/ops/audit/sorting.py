"""Requests by site and by time, however many: sorted in a temporary file that nobody else can open.

So are the pages that were skipped because of robots.txt, which must be judged again, too.
"""

import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Final

from msgspec.msgpack import Decoder, Encoder

from outrider.errors import OutriderError
from outrider.model.asked import Asked

CACHE: Final = 32_768
"""Kilobytes."""

_encode: Final = Encoder().encode
_decode: Final = Decoder(Asked).decode


class Sorted:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    async def fill(self, batches: AsyncIterator[list[Asked]]) -> int:
        """How many there were."""
        count = 0
        async for batch in batches:
            count += len(batch)
            rows = [(one.site, one.at, one.turn, _encode(one)) for one in batch]
            self._db.executemany("INSERT INTO asked VALUES (?, ?, ?, ?)", rows)
        return count

    def add_skipped(self, rows: Iterable[tuple[str, float, str]]) -> None:
        """Site, moment and URL of each."""
        self._db.executemany("INSERT INTO skipped VALUES (?, ?, ?)", rows)

    def skipped_of(self, site: str) -> list[tuple[float, str]]:
        rows = self._db.execute("SELECT at, url FROM skipped WHERE site = ? ORDER BY at", (site,))
        return [(at, url) for at, url in rows]

    def by_site(self) -> Iterator[tuple[str, Iterator[Asked]]]:
        """Each site with its requests, which must be read before the next site is."""
        rows = self._db.execute("SELECT site, said FROM asked ORDER BY site, at, turn")
        for site, group in groupby(rows, itemgetter(0)):
            yield site, _once(_decode(said) for _, said in group)


def _once(requests: Iterator[Asked]) -> Iterator[Asked]:
    """A batch that was written again together with others is there twice."""
    last: Asked | None = None
    for one in requests:
        if one != last:
            yield one
        last = one


@contextmanager
def open_sorted() -> Iterator[Sorted]:
    """Raises `OutriderError` when there is no room for them, here and until they are closed."""
    connection = sqlite3.connect("", isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = {-CACHE}")
        connection.execute("CREATE TABLE asked (site TEXT, at REAL, turn INTEGER, said BLOB)")
        connection.execute("CREATE TABLE skipped (site TEXT, at REAL, url TEXT)")
        connection.execute("CREATE INDEX skipped_by_site ON skipped (site)")
        connection.execute("BEGIN")
        yield Sorted(connection)
    except sqlite3.Error as error:
        raise OutriderError(f"no room to sort in: {error}; set TMPDIR to a folder on a larger disk") from error
    finally:
        connection.close()
