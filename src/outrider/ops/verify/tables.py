"""Where does all of it lie while it is compared? In a temporary database, which goes when it is closed.

Only this module speaks SQL to it. `tables.sql` says what is kept.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from outrider.errors import OutriderError

CACHE: Final = 16 * 1024
"""KiB; what is over it goes to the disk. Sorting for an index takes about twice as much."""

Row: TypeAlias = tuple[Any, ...]

_PAGE: Final = (
    "id, fetch_id, url, final_url, status, status_code, content_hash, content_length, wire_length, truncated, "
    "file, place, length, is_unsettled"
)


class Line(Struct, frozen=True):
    """Of an index: the length that it names, what it says (a hash), and where it begins."""

    length: int
    said: int
    position: int


class PageRow(Struct, frozen=True):
    """A page on record. `final_url` is None when it is `url`; without a `place`, no answer of it is kept here."""

    id: int
    fetch_id: str
    url: str
    final_url: str | None
    status: str
    status_code: int
    content_hash: str | None
    content_length: int
    wire_length: int
    truncated: bool
    file: int | None
    place: int | None
    length: int | None
    is_unsettled: bool

    @property
    def ended_at(self) -> str:
        return self.final_url or self.url


def hashed(text: bytes) -> int:
    """64 bits, signed: two texts that differ are taken for one once in 10^19 times."""
    value: int = xxh3_64_intdigest(text)
    return value - (1 << 64) if value >> 63 else value


class Tables:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def add_file(self, stem: str, *, is_open: bool) -> int:
        added = self._db.execute("INSERT INTO files (stem, is_open) VALUES (?, ?)", (stem, is_open))
        return cast("int", added.lastrowid)

    def file_of(self, stem: str) -> tuple[int, bool] | None:
        """Its number, and whether it was open."""
        found = self._one("SELECT id, is_open FROM files WHERE stem = ?", (stem,))
        return None if found is None else (found[0], bool(found[1]))

    def stem_of(self, file: int) -> str:
        found = self._one("SELECT stem FROM files WHERE id = ?", (file,))
        return "?" if found is None else str(found[0])

    def add_line(self, file: int, place: int, line: Line) -> bool:
        """False when there is one for this place already."""
        added = self._db.execute(
            "INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?, ?)", (file, place, line.length, line.said, line.position)
        )
        return added.rowcount == 1

    def line_at(self, file: int, place: int) -> Line | None:
        found = self._one("SELECT length, said, position FROM lines WHERE file = ? AND place = ?", (file, place))
        return None if found is None else Line(*found)

    def add_pages(self, rows: Iterable[Row]) -> None:
        self._db.executemany(f"INSERT INTO pages VALUES (NULL{', ?' * 14})", rows)  # noqa: S608 - holes alone

    def add_events(self, rows: Iterable[Row]) -> None:
        self._db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", rows)

    def add_capture(self, file: int, place: int, length: int, fetch_id: str) -> None:
        self._db.execute("INSERT INTO captures VALUES (?, ?, ?, ?)", (file, place, length, fetch_id))

    def index(self) -> None:
        """Once pages and events are there: an index that is made at once is made in order."""
        self._db.execute("CREATE INDEX pages_by_visit ON pages (fetch_id)")
        self._db.execute("CREATE INDEX pages_by_place ON pages (file, place) WHERE place IS NOT NULL")
        self._db.execute("CREATE INDEX events_by_visit ON events (fetch_id, told)")

    def page_of(self, fetch_id: str) -> PageRow | None:
        found = self._one(f"SELECT {_PAGE} FROM pages WHERE fetch_id = ?", (fetch_id,))  # noqa: S608 - our columns
        return None if found is None else _page(found)

    def next_place(self, file: int, after: int) -> int | None:
        """Where the next answer begins, as far as an index or a page knows."""
        places = [
            self._one(f"SELECT min(place) FROM {table} WHERE file = ? AND place > ?", (file, after))  # noqa: S608 - two names
            for table in ("lines", "pages")
        ]
        return min((found[0] for found in places if found and found[0] is not None), default=None)

    def lines_to_nowhere(self) -> Iterator[tuple[int, int, Line]]:
        """Listed places at which the archive holds no answer: file, place, line."""
        query = """
            SELECT file, place, lines.length, said, position FROM lines LEFT JOIN captures USING (file, place)
            WHERE captures.length IS NULL"""
        for file, place, *line in self._db.execute(query):
            yield file, place, Line(*line)

    def pages_without_answer(self) -> Iterator[tuple[PageRow, str | None]]:
        """Pages whose answer is not where they say; and the visit whose answer is there instead, if one is."""
        columns = ", ".join(f"pages.{name}" for name in _PAGE.split(", "))
        query = f"""
            SELECT {columns}, captures.fetch_id FROM pages LEFT JOIN captures USING (file, place)
            WHERE pages.place IS NOT NULL AND (captures.length IS NULL OR captures.length != pages.length
            OR captures.fetch_id != pages.fetch_id)"""  # noqa: S608 - our columns
        for *row, other in self._db.execute(query):
            yield _page(row), other

    def untold_pages(self) -> Iterator[tuple[PageRow, Row | None]]:
        """Fetched pages that no event tells of as they are; and where one is that tells something else of them."""
        query = f"""
            SELECT {_PAGE} FROM pages WHERE status = 'fetched' AND NOT is_unsettled
            AND NOT EXISTS (SELECT 1 FROM events WHERE events.fetch_id = pages.fetch_id AND events.told = pages.told)
            """  # noqa: S608 - our columns
        other = "SELECT source, position FROM events WHERE fetch_id = ? AND told != 0"
        for row in self._db.execute(query):
            page = _page(row)
            yield page, self._one(other, (page.fetch_id,))

    def unknown_events(self) -> Iterator[tuple[str, int, int]]:
        """Events of visits that are not on record: fetch id, and where the event is."""
        query = """
            SELECT fetch_id, source, position FROM events
            WHERE NOT EXISTS (SELECT 1 FROM pages WHERE pages.fetch_id = events.fetch_id)"""
        yield from self._db.execute(query)

    def repeated_events(self) -> Iterator[tuple[str, int]]:
        """Visits that were told of more than once, and how often beyond the first time."""
        yield from self._db.execute("SELECT fetch_id, count(*) - 1 FROM events GROUP BY fetch_id HAVING count(*) > 1")

    def has_content_elsewhere(self, page: PageRow) -> bool:
        """Is another visit on record that had the same content?"""
        self._db.execute("CREATE INDEX IF NOT EXISTS pages_by_hash ON pages (content_hash)")
        query = "SELECT 1 FROM pages WHERE content_hash = ? AND id != ?"
        return self._one(query, (page.content_hash, page.id)) is not None

    def count(self, condition: str) -> int:
        found = self._one(f"SELECT count(*) FROM {condition}", ())  # noqa: S608 - written by us
        return int(found[0]) if found else 0

    def tally(self) -> tuple[dict[str, int], int]:
        """Pages by how their visit ended, and the bytes of their bodies as sent."""
        rows = self._db.execute("SELECT status, count(*), sum(wire_length) FROM pages GROUP BY status").fetchall()
        return {status: count for status, count, _ in rows}, sum(length for _, _, length in rows)

    def _one(self, query: str, values: Row) -> Row | None:
        return cast("Row | None", self._db.execute(query, values).fetchone())


@contextmanager
def open_tables() -> Iterator[Tables]:
    """Raises `OutriderError` when there is no room for them, here and until they are closed."""
    # Without a name: SQLite's own temporary file, in TMPDIR, which nobody else can open.
    connection = sqlite3.connect("", isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = {-CACHE}")
        connection.executescript(files("outrider.ops.verify").joinpath("tables.sql").read_text(encoding="utf-8"))
        connection.execute("BEGIN")
        yield Tables(connection)
    except sqlite3.Error as error:
        raise OutriderError(f"no room to compare in: {error}; set TMPDIR to a folder on a larger disk") from error
    finally:
        connection.close()


def _page(row: Iterable[Any]) -> PageRow:
    """The driver knows no truth values."""
    values = dict(zip(PageRow.__struct_fields__, row, strict=True))
    return PageRow(**{**values, "truncated": bool(values["truncated"]), "is_unsettled": bool(values["is_unsettled"])})
