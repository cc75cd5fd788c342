"""Rows are read back as they were written, by those who did not write them."""

import csv
import io
import json

import pytest
from msgspec import Struct

from outrider.ops.formats import FORMATS, Kind, Sheet, flat, for_spreadsheets


class Row(Struct, frozen=True, rename="camel"):
    text_of: str | None
    count: int | None
    share: float
    is_good: bool
    names: tuple[str, ...]
    at: str


SHEET: Sheet[Row] = flat(
    Row,
    {"count": Kind.WHOLE, "share": Kind.NUMBER, "isGood": Kind.SWITCH, "names": Kind.TEXTS, "at": Kind.MOMENT},
)
ROWS = [
    Row('a "b",\r\nc', 1, 0.5, True, ("x", "y"), "2026-11-16T00:00:01.250Z"),
    Row(None, None, -1.0, False, (), "1970-01-01T00:00:00.000Z"),
]


def written(form: str, rows: list[Row]) -> bytes:
    out = io.BytesIO()
    with FORMATS[form](out, SHEET) as write:
        write(rows[:1])
        write([])
        write(rows[1:])
    return out.getvalue()


def test_a_json_line_is_the_row() -> None:
    lines = written("jsonl", ROWS).splitlines()

    assert [json.loads(line) for line in lines] == [
        {"textOf": 'a "b",\r\nc', "count": 1, "share": 0.5, "isGood": True, "names": ["x", "y"], "at": ROWS[0].at},
        {"textOf": None, "count": None, "share": -1.0, "isGood": False, "names": [], "at": ROWS[1].at},
    ]


def test_csv_is_read_by_the_csv_module() -> None:
    rows = list(csv.reader(io.StringIO(written("csv", ROWS).decode(), newline="")))

    assert rows == [
        ["textOf", "count", "share", "isGood", "names", "at"],
        ['a "b",\r\nc', "1", "0.5", "true", "x, y", ROWS[0].at],
        ["", "", "-1.0", "false", "", ROWS[1].at],
    ]


def test_parquet_is_read_by_pyarrow_with_its_types() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    table = parquet.read_table(io.BytesIO(written("parquet", ROWS)))

    assert [str(kind) for kind in table.schema.types[:5]] == [
        "string",
        "int64",
        "double",
        "bool",
        "list<element: string>",
    ]
    first, second = table.to_pylist()
    assert (first["textOf"], first["count"], first["names"]) == ('a "b",\r\nc', 1, ["x", "y"])
    assert first["at"].isoformat() == "2026-11-16T00:00:01.250000+00:00"
    assert (second["textOf"], second["isGood"]) == (None, False)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_no_rows_are_a_file_all_the_same(form: str) -> None:
    data = written(form, [])

    assert bool(data) == (form != "jsonl")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1"])
def test_a_spreadsheet_gets_no_formula(text: str) -> None:
    out = io.BytesIO()

    with for_spreadsheets(out, SHEET) as write:
        write([Row(text, -1, -1.0, True, ("=x",), "a=b")])

    _, row = csv.reader(io.StringIO(out.getvalue().decode(), newline=""))
    assert row == [f"'{text}", "-1", "-1.0", "true", "'=x", "a=b"]


def test_csv_without_that_wish_is_data_as_it_is() -> None:
    _, row = csv.reader(io.StringIO(written("csv", [Row("=1+1", 0, 0.0, True, (), "")]).decode(), newline=""))

    assert row[0] == "=1+1"
