"""Driver errors end here: one sentence each, with what to do about it."""

import sqlite3
from typing import Final

from outrider.errors import StoreError, StoreUnavailable
from outrider.stores.place import Place

_PRIMARY: Final = 0xFF
"""SQLite's extended codes carry the plain one in their low byte."""

_SENTENCES: Final = {
    sqlite3.SQLITE_FULL: "the disk is full, or the file has reached its limit; nothing of this was written",
    sqlite3.SQLITE_READONLY: "the file may only be read; a crawl must be able to write it",
    sqlite3.SQLITE_PERM: "no permission to use the file",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; may we write in its directory?",
    sqlite3.SQLITE_NOTADB: "the file is not a SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a copy, or begin afresh",
    sqlite3.SQLITE_IOERR: "the disk failed; nothing of this was written",
}
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in _BUSY


def translated(error: sqlite3.Error, place: Place, wait: float) -> StoreError:
    if is_busy(error):
        return StoreUnavailable(f"{place}: another process kept the file locked for more than {wait:g} s")
    return StoreError(f"{place}: {_SENTENCES.get(_code(error), str(error))}")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY
