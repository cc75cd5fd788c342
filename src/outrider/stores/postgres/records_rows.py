"""Records as the server's arrays, and its rows as records again.

A text of the server's cannot hold the character 0, and a page's title may: such a row shows U+FFFD in its place, and
carries the exact value beside it as JSON, where the character is escaped.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, TypeAlias

from msgspec.json import decode
from msgspec.structs import replace

from outrider.model.codec import to_json
from outrider.model.record import Decision, Page, Record
from outrider.stores.page_query import PageQuery
from outrider.stores.page_rows import (
    COLUMNS,
    Row,
    hashes_of,
    host_and_port,
    page_of,
    record_of,
    row_of,
    to_proof,
    url_hash,
)
from outrider.stores.postgres.arrays import BigInts, Blobs, Booleans, Column, Floats, Texts

Parameters: TypeAlias = dict[str, Column]

_BOOLEANS: Final = {"robots_blocked", "skip_content_extraction", "truncated"}
_NUMBERS: Final = {
    *("status_code", "load_time", "content_length", "redirect_count", "attempts", "retries", "wire_length"),
    *("depth", "links"),
}
_KINDS: Final[tuple[type[Column], ...]] = tuple(
    Booleans if name in _BOOLEANS else BigInts if name in _NUMBERS else Texts for name in COLUMNS
)
_HOLE: Final = re.compile(r"(?<!:):(\w+)")


def read(name: str) -> str:
    return (files("outrider.stores.postgres") / "sql" / name).read_text(encoding="utf-8")


def _statements() -> dict[str, str]:
    """One statement follows each `-- name:`."""
    named: dict[str, str] = {}
    for part in read("records_statements.sql").split("-- name: ")[1:]:
        name, _, body = part.partition("\n")
        for hole, filling in (
            ("{columns}", ", ".join(COLUMNS)),
            ("{arrays}", ", ".join(f"%({column})s" for column in COLUMNS)),
            ("{changes}", ", ".join(f"{column} = excluded.{column}" for column in COLUMNS[1:])),
        ):
            body = body.replace(hole, filling)
        named[name.strip()] = body[: body.index(";")]
    return named


SQL: Final = _statements()


class Batch:
    """Records, ready to be written. Of a visit that occurs twice in it, the last word counts.

    Raises `UnicodeEncodeError` for half a character, before there is a connection to lose.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        visits = {record.page.fetch_id: record for record in records if record.page}
        self.pages = [record.page for record in visits.values() if record.page]
        self.proofs = [to_proof(record.page, record.evidence) for record in visits.values() if record.page]
        self.decisions = [one for record in records for one in record.decisions]
        self.page_columns = self._page_columns() if self.pages else {}
        self.decision_columns = self._decision_columns() if self.decisions else {}

    def _page_columns(self) -> Parameters:
        exactly = [row_of(page) for page in self.pages]
        rows = [_storable(row) for row in exactly]
        exact = [
            None if row is shown else to_json(page).decode()
            for page, row, shown in zip(self.pages, exactly, rows, strict=True)
        ]
        places = [host_and_port(page.url) for page in self.pages]
        return {
            **{
                name: kind(bool(value) for value in values) if kind is Booleans else kind(values)
                for name, kind, values in zip(COLUMNS, _KINDS, zip(*rows, strict=True), strict=True)
            },
            "host": Texts(_shown(host) for host, _ in places),
            "port": BigInts(port for _, port in places),
            "exact": Texts(exact),
        }

    def url_columns(self, numbers: dict[str, int]) -> Parameters:
        pairs = [(key, numbers[page.fetch_id]) for page in self.pages for key in sorted(hashes_of(page))]
        return {"hashes": BigInts(key for key, _ in pairs), "pages": BigInts(page for _, page in pairs)}

    def proof_columns(self, numbers: dict[str, int]) -> Parameters:
        return {"pages": BigInts(numbers[page.fetch_id] for page in self.pages), "proofs": Texts(self.proofs)}

    def _decision_columns(self) -> Parameters:
        texts = [(one.url, one.by, one.reason, one.rule, one.evidence) for one in self.decisions]
        urls, by, reasons, rules, evidence = zip(*map(_storable, texts), strict=True)
        return {
            "keys": Blobs(_key(one) for one in self.decisions),
            "hashes": BigInts(url_hash(one.url) for one in self.decisions),
            "urls": Texts(urls),
            "by": Texts(by),
            "reasons": Texts(reasons),
            "rules": Texts(rules),
            "evidence": Texts(evidence),
            "at": Floats(one.at for one in self.decisions),
            "parents": Texts(one.parent and _shown(one.parent) for one in self.decisions),
            "exact": Texts(
                to_json(one).decode() if _is_shown_otherwise((*row, one.parent)) else None
                for one, row in zip(self.decisions, texts, strict=True)
            ),
        }


def page_query(query: PageQuery, name: str = "pages_where") -> str:
    head, conditions, tail = SQL[name].partition("{conditions}")
    return _typed(head + query.conditions * bool(conditions) + tail, query.values)


def look_back(name: str, conditions: Sequence[str], values: Mapping[str, str | int]) -> str:
    """Pages of one reason are found by its index; what else is asked of them is asked of each."""
    is_narrow = "reason" in values
    text = SQL[name].replace("{narrow}", "AND reason = :reason" if is_narrow else "")
    return _typed(text.replace("{conditions}", "".join(f" AND {one}" for one in conditions)), values)


def _typed(text: str, values: Mapping[str, str | int]) -> str:
    """The server wants to know the kind of a value before it has it."""

    def typed(hole: re.Match[str]) -> str:
        return f"%({hole[1]})s::{'text' if isinstance(values[hole[1]], str) else 'bigint'}"

    return _HOLE.sub(typed, text)


def record_from(row: Row) -> Record:
    exact, *columns = row
    record = record_of(columns)
    if exact is None or record.page is None:
        return record
    page = decode(exact, type=Page)
    evidence = tuple(
        replace(one, fetch_id=page.fetch_id, url=page.url if one.url == record.page.url else one.url)
        for one in record.evidence
    )
    return Record(page, evidence)


def page_from(row: Row) -> Page:
    """Of a row with the id."""
    exact, _, *columns = row
    return page_of(columns) if exact is None else decode(exact, type=Page)


def pages_from(query: PageQuery, rows: Sequence[Sequence[Any]]) -> list[Page]:
    pages = query.take([row[1:] for row in rows])
    return [page if row[0] is None else decode(row[0], type=Page) for page, row in zip(pages, rows, strict=True)]


def decision_from(row: Row) -> Decision:
    exact, *columns = row
    return Decision(*columns) if exact is None else decode(exact, type=Decision)


def _key(one: Decision) -> bytes:
    """As JSON, so that no two decisions make the same text."""
    return hashlib.sha256(to_json((one.url, one.by, one.reason, one.rule))).digest()


def _shown(text: str) -> str:
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def _storable(row: Row) -> Row:
    if not _is_shown_otherwise(row):
        return row
    return tuple(_shown(value) if isinstance(value, str) else value for value in row)


def _is_shown_otherwise(row: Row) -> bool:
    texts = "".join([value for value in row if isinstance(value, str)])
    if not texts.isascii():
        texts.encode()
    return "\x00" in texts
