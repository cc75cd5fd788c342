"""Records as rows, and what a batch of them does to the tables. All of it runs on the store's thread.

Rows are made before the lock is taken. Inside it, what is there already is asked for once, and the rest is inserts.
"""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.json import encode

from outrider.model.record import Decision, Page, PageFilter, PageStatus, Record, Tally
from outrider.stores.page_query import MOST, MOST_VISITS, PageQuery, conditions_of
from outrider.stores.page_rows import (
    COLUMNS,
    Row,
    can_match,
    hashes_of,
    host_and_port,
    page_of,
    record_of,
    row_of,
    to_proof,
    url_hash,
)
from outrider.stores.sqlite.requests_rows import Traffic
from outrider.stores.sqlite.sql import named, script

BYTES: Final = "bytes"

_SQL: Final = {
    name: text.replace("{columns}", ", ".join(COLUMNS)).replace("{holes}", ", ".join("?" * len(COLUMNS)))
    for name, text in named(script("records_statements.sql")).items()
}


class Batch:
    """Records, ready to be written. Of a visit that occurs twice in it, the last word counts."""

    def __init__(self, records: Sequence[Record]) -> None:
        visits = {record.page.fetch_id: (record.page, record.evidence) for record in records if record.page}
        self._pages = [(page, _page_row(page), to_proof(page, evidence)) for page, evidence in visits.values()]
        self._decisions = [_decision_row(one) for record in records for one in record.decisions]
        self._traffic = Traffic(records)

    def write(self, connection: sqlite3.Connection) -> None:
        self._traffic.write(connection)
        counts: Counter[str] = Counter()
        listed = encode([page.fetch_id for page, _, _ in self._pages]).decode()
        old = {row[0]: row[1:] for row in connection.execute(_SQL["known"], (listed,))}
        for _, status, length, *_ in old.values():
            counts[status] -= 1
            counts[BYTES] -= length
        connection.executemany(
            _SQL["drop_url"],
            [(url_hash(url), page) for page, _, _, *urls in old.values() for url in urls],
        )
        last: int = connection.execute(_SQL["last"]).fetchone()[0]
        pages: list[Row] = []
        urls: list[Row] = []
        proofs: list[Row] = []
        for page, row, proof in self._pages:
            if page.fetch_id in old:
                key = old[page.fetch_id][0]
            else:
                last += 1
                key = last
            pages.append((key, *row))
            urls += [(name, key) for name in hashes_of(page)]
            proofs.append((key, proof))
            counts[page.metadata.status.value] += 1
            counts[BYTES] += page.metadata.wire_length
        connection.executemany(_SQL["put_page"], pages)
        connection.executemany(_SQL["put_url"], urls)
        connection.executemany(_SQL["put_proof"], proofs)
        connection.executemany(_SQL["put_decision"], [(*row, *row[:5]) for row in self._decisions])
        connection.executemany(_SQL["count"], counts.items())


def find(connection: sqlite3.Connection, url: str) -> list[Record]:
    key = url_hash(url)
    found = [record_of(row) for row in connection.execute(_SQL["pages_at"], (key, url))]
    decided = tuple(Decision(*row) for row in connection.execute(_SQL["decisions_about"], (key, url)))
    return [*found, Record(decisions=decided)] if decided else found


def tally(connection: sqlite3.Connection) -> Tally:
    counts: dict[str, int] = dict(connection.execute(_SQL["counts"]))
    length = counts.pop(BYTES, 0)
    return Tally({PageStatus(name): n for name, n in counts.items() if n}, length)


def query(connection: sqlite3.Connection, wanted: PageFilter) -> PageQuery:
    return PageQuery(wanted, connection.execute(_SQL["last"]).fetchone()[0])


def more(connection: sqlite3.Connection, query: PageQuery) -> list[Page]:
    """The next pages; none when there are no more."""
    if query.is_done:
        return []
    asked = _SQL["pages_where"].replace("{conditions}", query.conditions)
    return query.take(connection.execute(asked, query.values).fetchall())


def visit_query(connection: sqlite3.Connection, wanted: PageFilter) -> PageQuery:
    return PageQuery(wanted, connection.execute(_SQL["last"]).fetchone()[0], MOST_VISITS)


def more_visits(connection: sqlite3.Connection, query: PageQuery) -> list[Record]:
    """The next pages with their evidence; none when there are no more."""
    if query.is_done:
        return []
    asked = _SQL["visits_where"].replace("{conditions}", query.conditions)
    rows = connection.execute(asked, query.values).fetchall()
    query.passed([row[0] for row in rows])
    return [record_of(row[1:]) for row in rows]


def last_decision(connection: sqlite3.Connection) -> int:
    last: int = connection.execute(_SQL["last_decision"]).fetchone()[0]
    return last


def decisions_after(connection: sqlite3.Connection, after: int, last: int) -> tuple[int, list[Decision]]:
    """The next ones, and where to go on behind them."""
    rows = connection.execute(_SQL["decisions_after"], (after, last, MOST)).fetchall()
    return rows[-1][0] if rows else last, [Decision(*row[1:]) for row in rows]


def look_back(
    connection: sqlite3.Connection, wanted: PageFilter, before: int, *, most: int, look: int
) -> tuple[list[Page], int | None, int]:
    """The latest pages before that number; the number to go on before, if any; and how many were looked at.

    The lines are walked by number and verdict alone, so that those that are not wanted cost little.
    """
    conditions, values = conditions_of(wanted)
    name = "look_back" if wanted.reason is None else "look_back_by_reason"
    asked = _SQL[name].replace("{is_wanted}", " AND ".join(conditions) or "1")
    found: list[int] = []
    looked = 0
    last: int | None = None
    for key, is_wanted in connection.execute(asked, {"before": before, **values}) if can_match(wanted) else ():
        if last is not None and (len(found) >= most or looked >= look):
            break
        last = key
        looked += 1
        if is_wanted:
            found.append(key)
    else:
        last = None
    rows = connection.execute(_SQL["pages_with_ids"], (encode(found).decode(),))
    return [page_of(row[1:]) for row in rows], last, looked


def _page_row(page: Page) -> Row:
    return (*row_of(page), *host_and_port(page.url))


def _decision_row(one: Decision) -> Row:
    return (url_hash(one.url), one.url, one.by, str(one.reason), one.rule, one.evidence, one.at, one.parent)
