"""Is this file ours, of our version, and made under our rules? A fresh one is made, an older one brought forward.

A frontier and the records may live in one file. Each has its tables and its version, in a table of migrations of its
own; whoever comes first makes the file ours.
"""

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import Struct

from outrider.errors import ConfigError, SchemaMismatch, StoreError
from outrider.ports import FrontierRules
from outrider.stores.agreement import in_force, made_under, with_seed
from outrider.stores.place import Place
from outrider.stores.sqlite.failures import is_busy
from outrider.stores.sqlite.sql import script, statements_of

APPLICATION: Final = 0x4F555446
"""In the file's header, so that another program's database is never taken for one of ours."""

STEPS: Final[Sequence[str]] = (
    script("schema.sql"),
    script("schema_2.sql"),
    script("schema_orders.sql"),
    script("schema_browse.sql"),
)
"""What makes version n of version n - 1. Steps are added, never changed: files out there were made by them."""

_RETRY: Final = 0.01


class Options(Struct, frozen=True):
    """`wait` for another process's lock; `cache` and `mmap` in megabytes; `max_pages` of the file, 0 for no limit."""

    synchronous: str = "normal"
    wait: float = 30.0
    cache: int = 64
    max_pages: int = 0
    mmap: int = 0


def options_of(place: Place) -> Options:
    """Takes them out of the place."""
    return Options(
        place.text("synchronous", "normal", ("normal", "full")),
        place.number("wait", 30),
        place.number("cache", 64),
        place.number("max_pages", 0, least=0),
        place.number("mmap", 0, least=0),
    )


def connect(path: Path, options: Options) -> sqlite3.Connection:
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no directory {path.parent}")
    connection = sqlite3.connect(path, timeout=options.wait, isolation_level=None)
    try:
        _set_up(connection, options)
    except BaseException:
        connection.close()
        raise
    return connection


def may_write(path: Path) -> bool:
    """The file, and the log beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def name_to_read(path: Path) -> str:
    """How to open it so that nothing is left behind.

    A reader that may write takes its log away again when it is the last to leave, and one that may not would leave it
    there. Where we may not write at all, the log of a crawl that runs is used as it is; without one, nobody writes,
    and the file alone is the whole truth.
    """
    name = f"file:{quote(str(path.absolute()))}"
    if may_write(path):
        return f"{name}?mode=rw"
    return f"{name}?mode=ro" if path.with_name(f"{path.name}-wal").exists() else f"{name}?mode=ro&immutable=1"


def require_frontier(path: Path, place: Place) -> None:
    """Raises `ConfigError` when there is no such file or no frontier in it: opening it would make one."""
    if not path.exists():
        raise ConfigError(f"{place}: there is no such file")
    with closing(sqlite3.connect(name_to_read(path), uri=True, isolation_level=None)) as connection:
        if version_of(connection, place, "migrations", len(STEPS)) is None:
            raise ConfigError(f"{place}: there is no frontier in this file")


def connect_to_read(path: Path, options: Options) -> sqlite3.Connection:
    """For a file that may not be written; it must be of our version."""
    connection = sqlite3.connect(name_to_read(path), uri=True, timeout=options.wait, isolation_level=None)
    connection.execute("PRAGMA query_only = ON")
    return connection


def rules_of(connection: sqlite3.Connection, place: Place, rules: FrontierRules) -> FrontierRules:
    """As `bring_up` answers, of a file in which nothing may be changed."""
    if version_of(connection, place, "migrations", len(STEPS)) != len(STEPS):
        raise SchemaMismatch(f"{place}: made by an older Outrider; open it once where it may be written")
    return in_force(place, dict(connection.execute("SELECT name, value FROM about")), rules)


def _set_up(connection: sqlite3.Connection, options: Options) -> None:
    _use_log(connection, options.wait)
    connection.execute(f"PRAGMA synchronous = {options.synchronous}")
    connection.execute(f"PRAGMA cache_size = {-1024 * options.cache}")
    connection.execute(f"PRAGMA mmap_size = {options.mmap * 1024 * 1024}")
    # A longer log makes fewer checkpoints, and a page that changed often in between is written back once.
    connection.execute("PRAGMA wal_autocheckpoint = 16384")
    connection.execute(f"PRAGMA journal_size_limit = {128 * 1024 * 1024}")
    # Some builds overwrite what is deleted with zeros; rows here are URLs, and the log holds them anyway.
    connection.execute("PRAGMA secure_delete = OFF")
    if options.max_pages:
        connection.execute(f"PRAGMA max_page_count = {options.max_pages}")


def _use_log(connection: sqlite3.Connection, wait: float) -> None:
    """Several processes may open a fresh file at once, and the change of mode does not wait for a lock by itself."""
    until = time.monotonic() + wait
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(_RETRY)
        else:
            return


def bring_up(
    connection: sqlite3.Connection, place: Place, rules: FrontierRules, steps: Sequence[str] = STEPS
) -> FrontierRules:
    """Make or migrate the tables, in one transaction; the rules in force, with the seed that the file keeps.

    Raises `SchemaMismatch`, and `StoreError` for a foreign file.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        bring_forward(connection, place, "migrations", steps)
        agreed = _agree(connection, place, rules)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return agreed


def bring_forward(connection: sqlite3.Connection, place: Place, migrations: str, steps: Sequence[str]) -> None:
    """Take the steps that the table named `migrations` does not have yet, inside the caller's transaction."""
    version = version_of(connection, place, migrations, len(steps))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    if version is None:
        connection.execute(f"CREATE TABLE {migrations} (version INTEGER PRIMARY KEY, applied_at REAL NOT NULL)")
    for number, step in enumerate(steps[version or 0 :], start=(version or 0) + 1):
        for statement in statements_of(step):
            connection.execute(statement)
        connection.execute(
            f"INSERT INTO {migrations} (version, applied_at) VALUES (?, ?)",  # noqa: S608 - a name of ours
            (number, time.time()),
        )


def version_of(connection: sqlite3.Connection, place: Place, migrations: str, ours: int) -> int | None:
    """None when nothing of it is in the file yet. Raises as `bring_up` does."""
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION and (application or tables):
        raise StoreError(f"{place}: the file is a database of another program")
    if migrations not in tables:
        return None
    version: int = connection.execute(f"SELECT max(version) FROM {migrations}").fetchone()[0]  # noqa: S608 - the same
    if version > ours:
        raise SchemaMismatch(
            f"{place}: made by a newer Outrider (schema {version}, this one knows {ours}); upgrade to open it"
        )
    return version


def _agree(connection: sqlite3.Connection, place: Place, rules: FrontierRules) -> FrontierRules:
    made = dict(connection.execute("SELECT name, value FROM about"))
    if not made:
        made = made_under(with_seed(rules))
        connection.executemany("INSERT INTO about (name, value) VALUES (?, ?)", made.items())
    return in_force(place, made, rules)
