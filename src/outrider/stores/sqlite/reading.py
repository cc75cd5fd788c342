"""The ledger's reading side: one line, or all of them from one snapshot.

What walks over everything opens a transaction and leaves it open: it ends with the connection, which is its own.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias, TypeVar

from msgspec.json import encode
from msgspec.structs import replace

from outrider.model.ledger import Entry, Filter
from outrider.model.site import Site
from outrider.policy.pace import PaceLimits
from outrider.policy.transition import matches
from outrider.stores.sqlite.batch import Batch, SiteRow
from outrider.stores.sqlite.rows import queue_line, unpack_ended
from outrider.stores.sqlite.seen import Recent, recent_hashes
from outrider.stores.sqlite.sql import SQL

T = TypeVar("T")
Batches: TypeAlias = Iterator[list[T]]

_SIZE: Final = 1_000


def find(connection: sqlite3.Connection, key: int, site: str) -> Entry | None:
    ended = connection.execute(SQL["find_ended"], (key,)).fetchone()
    if ended is not None:
        return unpack_ended(ended)
    owed = connection.execute(SQL["find_in_queue"], (key, site, key)).fetchone()
    return None if owed is None else queue_line(owed)


def wanted_values(wanted: Filter) -> tuple[str | None, str | None, str | None]:
    state = None if wanted.state is None else wanted.state.value
    reason = None if wanted.reason is None else wanted.reason.value
    return state, reason, wanted.site


def entries(connection: sqlite3.Connection, wanted: Filter) -> Batches[Entry]:
    connection.execute("BEGIN")
    lines = map(queue_line, connection.execute(SQL["every_row"], (wanted.site,)))
    owed = (line for line in lines if matches(wanted, line.state, line.reason, line.site))
    yield from cut(owed)
    yield from cut(map(unpack_ended, connection.execute(SQL["every_ended"], wanted_values(wanted))))


def hashes(connection: sqlite3.Connection) -> Batches[int]:
    connection.execute("BEGIN")
    connection.execute(SQL["note_lines"])
    recent = recent_hashes(connection.execute(SQL["recent"]))
    connection.execute(SQL["note_recent_lines"], (encode(recent).decode(),))
    yield from cut(row[0] for row in connection.execute(SQL["bare_hashes"]))


def sites(connection: sqlite3.Connection, limits: PaceLimits) -> Batches[Site]:
    connection.execute("BEGIN")
    batch = Batch(connection, limits, {}, Recent())
    rows = (SiteRow(row, limits) for row in connection.execute(SQL["every_site"]))
    yield from cut(replace(row.site, robots=batch.robots_of(row)) for row in rows)


def site(connection: sqlite3.Connection, key: str, limits: PaceLimits) -> tuple[Site, float | None] | None:
    """With the deadline of its lease, if it is lent."""
    found = connection.execute(SQL["sites"], (encode([key]).decode(),)).fetchone()
    if found is None:
        return None
    row = SiteRow(found, limits)
    return replace(row.site, robots=Batch(connection, limits, {}, Recent()).robots_of(row)), row.deadline


def cut(values: Iterable[T]) -> Batches[T]:
    values = iter(values)
    while batch := list(islice(values, _SIZE)):
        yield batch
