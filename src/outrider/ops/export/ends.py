"""What became of the URLs that chains lead to on other sites? In a temporary database, which goes when it is closed.

Only of those that somebody looks for: a crawl has millions of pages, and few of them are the end of such a chain.
"""

import sqlite3
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from outrider.model.record import Page, PageStatus
from outrider.stores.page_rows import url_hash

_LONGEST: Final = 20
"""Visits of one chain. No crawl follows so many, but several may have made what is one chain today."""
_TABLES: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16384;
CREATE TABLE wanted (hash INTEGER PRIMARY KEY);
CREATE TABLE ends (
    hash INTEGER PRIMARY KEY, url TEXT, final_url TEXT, status TEXT, status_code INTEGER, reason TEXT, hops INTEGER
);
"""


class End(Struct, frozen=True):
    """Where a chain ends and how, after so many `hops`. A `status_code` of a chain that goes on is 0."""

    url: str
    status: str
    status_code: int
    reason: str | None
    hops: int


class Ends:
    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)  # a file of its own, of which nobody knows the name
        self._database.executescript(_TABLES)
        self.are_wanted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._database.close()

    def look_for(self, urls: Sequence[str]) -> None:
        self.are_wanted = True
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", [(url_hash(url),) for url in urls])

    def note(self, pages: Sequence[Page]) -> None:
        """Of a URL that was visited again, the last visit counts."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(
                "INSERT OR REPLACE INTO ends SELECT hash, ?, ?, ?, ?, ?, ? FROM wanted WHERE hash = ?",
                [(page.url, *_columns(page), url_hash(page.url)) for page in pages],
            )

    def of(self, page: Page) -> End:
        """The end of the chain that begins with this visit, as far as anybody has walked it."""
        url, status, status_code, reason, hops = _columns(page)
        seen = {page.url}
        while status == PageStatus.MOVED and len(seen) < _LONGEST and url not in seen:
            seen.add(url)
            row = self._database.execute(
                "SELECT final_url, status, status_code, reason, hops FROM ends WHERE hash = ? AND url = ?",
                (url_hash(url), url),
            ).fetchone()
            if row is None:
                break
            url, status, status_code, reason, further = row
            hops += further
        return End(url, status, 0 if status == PageStatus.MOVED else status_code, reason, hops)


def _columns(page: Page) -> tuple[str, str, int, str | None, int]:
    data = page.metadata
    reason = None if data.reason is None else str(data.reason)
    return data.final_url, data.status.value, page.status_code, reason, data.redirect_count
