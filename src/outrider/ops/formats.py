"""Rows for other programs: JSON lines, CSV or Parquet, a batch at a time, however many there are.

A row is a value of the model, and a JSON line is that value as it is. CSV and Parquet are flat: a `Sheet` says how.
Values are not altered, because CSV is data here. Who opens it in a spreadsheet wants `for_spreadsheets`: a title from
the web may be a formula, and would be run.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from importlib import import_module
from typing import Any, BinaryIO, Final, Generic, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import astuple

from outrider.errors import OutriderError
from outrider.model.codec import to_json

T = TypeVar("T")

Write: TypeAlias = Callable[[Sequence[Any]], None]

_GROUP: Final = 16_384
"""Rows of Parquet written together: enough to be read fast, few enough for any memory."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula, in either width."""


class Kind(StrEnum):
    """What a column holds. A moment is a text of ISO 8601 in UTC, and becomes one that Parquet can count with."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"
    SWITCH = "switch"
    TEXTS = "texts"
    MOMENT = "moment"


class Sheet(Struct, Generic[T], frozen=True):
    """Columns in order, and a row's values in the same order."""

    columns: Mapping[str, Kind]
    values: Callable[[T], Sequence[Any]]


def flat(row: type[Struct], kinds: Mapping[str, Kind]) -> Sheet[Any]:
    """A column for each field, by its name in JSON; text unless `kinds` says otherwise."""
    return Sheet({name: kinds.get(name, Kind.TEXT) for name in row.__struct_encode_fields__}, astuple)


@contextmanager
def json_lines(out: BinaryIO, _sheet: Sheet[Any]) -> Iterator[Write]:
    yield lambda rows: _write_all(out, b"".join(to_json(row) + b"\n" for row in rows))


@contextmanager
def comma_separated(out: BinaryIO, sheet: Sheet[Any]) -> Iterator[Write]:
    """RFC 4180, in UTF-8, with a header. What is not there is an empty cell."""
    with _csv(out, sheet, _cell) as write:
        yield write


@contextmanager
def for_spreadsheets(out: BinaryIO, sheet: Sheet[Any]) -> Iterator[Write]:
    """The same, except that a text which a spreadsheet would run begins with an apostrophe."""
    with _csv(out, sheet, _harmless) as write:
        yield write


@contextmanager
def parquet(out: BinaryIO, sheet: Sheet[Any]) -> Iterator[Write]:
    """Raises `OutriderError` when pyarrow is not installed."""
    try:
        arrow: Any = import_module("pyarrow")
        files: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise OutriderError("Parquet needs pyarrow; pip install 'outrider[parquet]'") from error
    schema = arrow.schema([(name, _arrow_type(arrow, kind)) for name, kind in sheet.columns.items()])
    waiting: list[Any] = []
    count = 0

    def flush() -> None:
        nonlocal count
        table.write_table(arrow.Table.from_batches(waiting, schema))
        waiting.clear()
        count = 0

    def write(rows: Sequence[Any]) -> None:
        """What waits is Arrow's already: as our values it would take five times the memory."""
        nonlocal count
        if not rows:
            return
        columns = zip(*map(sheet.values, rows), strict=True)
        # A moment is read from its text by Arrow, faster than by us.
        arrays = [
            arrow.array(values, arrow.string()).cast(field.type)
            if arrow.types.is_timestamp(field.type)
            else arrow.array(values, field.type)
            for field, values in zip(schema, columns, strict=True)
        ]
        waiting.append(arrow.RecordBatch.from_arrays(arrays, schema=schema))
        count += len(rows)
        if count >= _GROUP:
            flush()

    with files.ParquetWriter(_Counted(out), schema, compression="zstd") as table:
        yield write
        if waiting:
            flush()


FORMATS: Final[Mapping[str, Callable[[BinaryIO, Sheet[Any]], AbstractContextManager[Write]]]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "parquet": parquet,
}


@contextmanager
def _csv(out: BinaryIO, sheet: Sheet[Any], cell: Callable[[object], object]) -> Iterator[Write]:
    text = io.StringIO(newline="")
    lines = csv.writer(text)

    def flush() -> None:
        _write_all(out, text.getvalue().encode())
        text.seek(0)
        text.truncate()

    def write(rows: Sequence[Any]) -> None:
        lines.writerows(map(cell, sheet.values(row)) for row in rows)
        flush()

    lines.writerow(sheet.columns)
    flush()
    yield write


class _Counted:
    """A file that only grows: Arrow asks where it stands, which a pipe cannot tell."""

    closed = False

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._length = 0

    def write(self, data: bytes) -> int:
        _write_all(self._out, data)
        self._length += len(data)
        return len(data)

    def tell(self) -> int:
        return self._length

    def flush(self) -> None:
        self._out.flush()

    def close(self) -> None:
        """It is closed by whoever opened it."""


def _write_all(out: BinaryIO, data: bytes) -> None:
    out.write(data)


def _cell(value: object) -> object:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(value)
        case _:
            return value


def _harmless(value: object) -> object:
    cell = _cell(value)
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def _arrow_type(arrow: Any, kind: Kind) -> Any:  # noqa: ANN401 - pyarrow has no types of its own
    match kind:
        case Kind.TEXT:
            return arrow.string()
        case Kind.WHOLE:
            return arrow.int64()
        case Kind.NUMBER:
            return arrow.float64()
        case Kind.SWITCH:
            return arrow.bool_()
        case Kind.TEXTS:
            return arrow.list_(arrow.string())
        case Kind.MOMENT:
            return arrow.timestamp("ms", "UTC")
