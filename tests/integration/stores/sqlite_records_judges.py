"""What is on record in a file, and is it whole?"""

import sqlite3
from contextlib import closing
from pathlib import Path

from outrider.model.record import Record
from outrider.stores.records import open_records
from outrider.testing.contracts.records import pages_of, visit


def large(count: int = 600) -> list[Record]:
    """Too much for a small disk."""
    return [visit(n, f"http://example.org/{n}", title="t" * 5_000) for n in range(count)]


async def written(path: Path, *records: Record, options: str = "") -> None:
    async with open_records(f"sqlite://{path}{options}") as store:
        await store.write(records or [visit(1)])


async def on_record(path: Path) -> list[str]:
    """The visits, in a file that is whole."""
    async with open_records(f"sqlite://{path}", create=False) as store:
        pages = await pages_of(store)
        tally = await store.tally()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT (SELECT count(*) FROM proofs), (SELECT count(*) FROM page_urls)").fetchone()
    assert sum(tally.pages.values()) == len(pages) == rows[0] == rows[1]
    return [page.fetch_id for page in pages]
