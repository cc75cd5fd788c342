"""Requests, robots.txt files and manners in SQLite. All of it runs on a store's thread."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.record import Record
from outrider.stores.asked_rows import (
    FEW,
    ROBOTS,
    batch_of,
    bodies_of,
    manners_of,
    manners_row,
    requests_of,
    robots_of,
    robots_row,
)
from outrider.stores.sqlite.sql import named, script

_SQL: Final = {
    name: text.replace("{robots}", ", ".join(ROBOTS)).replace("{holes}", ", ".join("?" * len(ROBOTS)))
    for name, text in named(script("requests_statements.sql")).items()
}


class Traffic:
    """Of some records, ready to be written."""

    def __init__(self, records: Sequence[Record]) -> None:
        batch = batch_of(records)
        robots = [one for record in records for one in record.robots]
        self._rows = {
            "put_batch": [] if batch is None else [batch],
            "put_robots": [robots_row(one) for one in robots],
            "put_body": list(bodies_of(robots).items()) if robots else [],
            "put_manners": [manners_row(one) for record in records for one in record.manners],
        }

    def write(self, connection: sqlite3.Connection) -> None:
        for name, rows in self._rows.items():
            if rows:
                connection.executemany(_SQL[name], rows)


def requests(connection: sqlite3.Connection) -> Callable[[], list[Asked]]:
    """The next ones; none when there are no more."""
    cursor = connection.execute(_SQL["batches"])
    return lambda: [one for (text,) in cursor.fetchmany(FEW) for one in requests_of(text)]


def robots(connection: sqlite3.Connection) -> Callable[[], list[RobotsAnswer]]:
    cursor = connection.execute(_SQL["robots"])
    return lambda: [robots_of(row) for row in cursor.fetchmany(FEW)]


def manners(connection: sqlite3.Connection) -> dict[str, Manners]:
    return {name: manners_of(said) for name, said in connection.execute(_SQL["manners"])}
