"""How many URLs are in which state? Asked of a file without opening the frontier: read only, under whatever rules.

Nothing is made, migrated or locked, so it may be asked of a crawl that runs, and of one that a stranger made.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from outrider.errors import StoreError
from outrider.model.ledger import Census, State
from outrider.model.reason import Reason
from outrider.stores.place import Place
from outrider.stores.sqlite.batch import DISCOVERED, FETCHED, LEASED, PENDING, SITES, STALE, WAITING
from outrider.stores.sqlite.failures import translated
from outrider.stores.sqlite.schema import APPLICATION
from outrider.stores.sqlite.sql import SQL


def census_of_file(path: Path) -> Census:
    """Raises `StoreError`, also when there is no such file or it is no frontier."""
    # Without a log nobody writes, and SQLite must be told so: it would make a log, and leave it behind.
    is_still = not path.with_name(f"{path.name}-wal").exists()
    name = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if is_still else ''}"
    try:
        return _census(name, path)
    except sqlite3.Error as error:
        raise translated(error, Place(f"sqlite:{quote(str(path))}"), 0) from error


def _census(name: str, path: Path) -> Census:
    with closing(sqlite3.connect(name, uri=True, isolation_level=None)) as connection:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise StoreError(f"{path}: is not a frontier")
        return census_of(connection.execute(SQL["counts"]).fetchall())


def census_of(rows: Sequence[tuple[str, str, int]]) -> Census:
    """Of the rows of the table `counts`."""
    count: defaultdict[tuple[str, str], int] = defaultdict(int, {(name, reason): n for name, reason, n in rows})
    return Census(
        discovered=count[DISCOVERED],
        pending=count[PENDING],
        waiting=count[WAITING],
        fetched=count[FETCHED],
        alias=count[State.ALIAS.value, ""],
        skipped={Reason(reason): n for name, reason, n in rows if name == State.SKIPPED and n},
        dead={Reason(reason): n for name, reason, n in rows if name == State.DEAD and n},
        sites=count[SITES],
        leased=count[LEASED],
        stale=count[STALE],
    )
