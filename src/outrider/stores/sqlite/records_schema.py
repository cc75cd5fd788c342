"""Are the records' tables in this file, and of our version? A writer makes them; a reader makes nothing at all."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from outrider.errors import ConfigError, SchemaMismatch
from outrider.stores.place import Place
from outrider.stores.sqlite.schema import Options, bring_forward, name_to_read, version_of
from outrider.stores.sqlite.sql import script

MIGRATIONS: Final = "records_migrations"
STEPS: Final[Sequence[str]] = (script("records.sql"), script("records_2.sql"))
"""What makes version n of version n - 1, apart from the frontier's. Steps are added, never changed."""
HAS_REQUESTS: Final = 2
"""The version since which requests are on record."""


def bring_up(connection: sqlite3.Connection, place: Place, steps: Sequence[str] = STEPS) -> None:
    """Make or migrate the tables, in one transaction. Raises as the frontier's `bring_up` does."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        bring_forward(connection, place, MIGRATIONS, steps)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def connect_to_read(path: Path, place: Place, options: Options, least: int = 1) -> sqlite3.Connection:
    """Raises `ConfigError` when there is no such file or no records in it, and `SchemaMismatch`.

    Tables are added by later versions and stay as they are: what an older one wrote can be read, as far as it goes.
    """
    if not path.exists():
        raise ConfigError(f"{place}: there is no such file")
    connection = sqlite3.connect(name_to_read(path), uri=True, timeout=options.wait, isolation_level=None)
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA cache_size = {-1024 * options.cache}")
        connection.execute(f"PRAGMA mmap_size = {options.mmap * 1024 * 1024}")
        _check_version(connection, place, least)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, place: Place, least: int) -> None:
    version = version_of(connection, place, MIGRATIONS, len(STEPS))
    if version is None:
        raise ConfigError(f"{place}: there are no records in this file")
    if version < least:
        raise SchemaMismatch(f"{place}: made by an older Outrider; open it once with a crawl to bring it forward")
