"""What operators do to a frontier: orders about sites, and URLs that they want no more visits of."""

import sqlite3
from collections.abc import Sequence

from msgspec.json import encode

from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.policy.transition import dismissed
from outrider.ports import FrontierRules
from outrider.stores.sqlite.batch import Batch, Over
from outrider.stores.sqlite.rows import queue_line, unpack_ended
from outrider.stores.sqlite.sql import SQL


def write_order(connection: sqlite3.Connection, order: SiteOrder) -> None:
    if order:
        connection.execute(SQL["order"], (order.site, order.paused, order.excluded, order.delay, order.at))
    else:
        connection.execute(SQL["take_order_back"], (order.site,))


def read_orders(connection: sqlite3.Connection) -> list[SiteOrder]:
    rows = connection.execute(SQL["orders"])
    return [SiteOrder(site, bool(paused), bool(excluded), delay, at) for site, paused, excluded, delay, at in rows]


def dismiss(
    connection: sqlite3.Connection, batch: Batch, rules: FrontierRules, urls: Sequence[tuple[Url, Reason]]
) -> list[bool]:
    """Over one batch, which the caller flushes."""
    keys = [rules.identity.hash(url) for url, _ in urls]
    wanted = dict(zip(reversed(keys), (reason for _, reason in reversed(urls)), strict=True))  # the first one counts
    known = batch.seen.known(wanted)
    ended = _end_lines(connection, batch, wanted, known)
    rest = known - ended.keys()
    owed = _end_rows(connection, batch, wanted, rest, {url.site(rules.site_by) for url, _ in urls})
    gone = {key for key, was in ended.items() if was} | owed
    answers: list[bool] = []
    for key in keys:
        answers.append(key in gone)
        gone.discard(key)
    return answers


def _end_lines(
    connection: sqlite3.Connection, batch: Batch, wanted: dict[int, Reason], known: set[int]
) -> dict[int, bool]:
    """All that have a line among the ended, and whether it was one that could be revived: those have another now."""
    found: dict[int, bool] = {}
    for *row, revivable in connection.execute(SQL["lines_among"], (encode(sorted(known)).decode(),)).fetchall():
        line, key, state, reason = row[:4]
        found[key] = bool(revivable)
        if revivable:
            batch.unend(Over((state, reason or ""), line))
            batch.end(key, dismissed(unpack_ended(row), wanted[key]))
    return found


def _end_rows(
    connection: sqlite3.Connection, batch: Batch, wanted: dict[int, Reason], keys: set[int], sites: set[str]
) -> set[int]:
    """Those that stand in a queue. There is no index of them: the queues are read until all have been found."""
    if not keys:
        return set()
    listed = encode(sorted(keys)).decode()
    values = (listed, encode(sorted(sites)).decode(), listed, len(keys))
    rows = connection.execute(SQL["rows_among"], values).fetchall()
    batch.load(row[-2] for row in rows)
    for row in rows:
        rank, due_at, sequence, key, *_, site, _ = row
        owner = batch.sites[site]
        owner.shown.pop(key, None)
        batch.end(key, dismissed(queue_line(row), wanted[key]))
        batch.disown(owner, (rank, due_at, sequence))
    return {row[3] for row in rows}
