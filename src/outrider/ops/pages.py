"""Pages on record, written for other programs: JSON lines, CSV or Parquet, a batch at a time, however many there are.

Names are those of S1. JSON lines hold a page as it is; CSV and Parquet are flat, with the metadata's fields beside the
page's own. Values are not altered: a cell that a spreadsheet would take for a formula is for its reader to guard
against, as CSV is data here.
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import Any, BinaryIO, Final, TypeAlias

from msgspec.structs import astuple

from outrider.errors import OutriderError
from outrider.model.codec import to_json
from outrider.model.record import Page, PageMetadata

Write: TypeAlias = Callable[[Sequence[Page]], None]

COLUMNS: Final = (*Page.__struct_encode_fields__[:-1], *PageMetadata.__struct_encode_fields__)
_NUMBERS: Final = frozenset(
    {
        *("statusCode", "loadTime", "contentLength", "redirectCount", "attempts", "retries", "wireLength", "depth"),
        "links",
    }
)
_SWITCHES: Final = frozenset({"robotsBlocked", "skipContentExtraction", "truncated"})
_GROUP: Final = 16_384
"""Rows of Parquet written together: enough to be read fast, few enough for any memory."""


@contextmanager
def json_lines(out: BinaryIO) -> Iterator[Write]:
    yield lambda pages: _write_all(out, b"".join(to_json(page) + b"\n" for page in pages))


@contextmanager
def comma_separated(out: BinaryIO) -> Iterator[Write]:
    """RFC 4180, in UTF-8, with a header. What is not there is an empty cell."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)

    def flush() -> None:
        _write_all(out, text.getvalue().encode())
        text.seek(0)
        text.truncate()

    def write(pages: Sequence[Page]) -> None:
        rows.writerows([_cell(value) for value in _values(page)] for page in pages)
        flush()

    rows.writerow(COLUMNS)
    flush()
    yield write


@contextmanager
def parquet(out: BinaryIO) -> Iterator[Write]:
    """Raises `OutriderError` when pyarrow is not installed."""
    try:
        arrow: Any = import_module("pyarrow")
        files: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise OutriderError("Parquet needs pyarrow; pip install 'outrider[parquet]'") from error
    schema = arrow.schema([(name, _arrow_type(arrow, name)) for name in COLUMNS])
    waiting: list[Any] = []
    count = 0

    def flush() -> None:
        nonlocal count
        table.write_table(arrow.Table.from_batches(waiting, schema))
        waiting.clear()
        count = 0

    def write(pages: Sequence[Page]) -> None:
        """What waits is Arrow's already: as our values it would take five times the memory."""
        nonlocal count
        columns = zip(*map(_values, pages), strict=True)
        # A moment is read from its text by Arrow, faster than by us.
        arrays = [
            arrow.array(values, arrow.string()).cast(field.type)
            if arrow.types.is_timestamp(field.type)
            else arrow.array(values, field.type)
            for field, values in zip(schema, columns, strict=True)
        ]
        waiting.append(arrow.RecordBatch.from_arrays(arrays, schema=schema))
        count += len(pages)
        if count >= _GROUP:
            flush()

    with files.ParquetWriter(_Counted(out), schema, compression="zstd") as table:
        yield write
        if waiting:
            flush()


FORMATS: Final[Mapping[str, Callable[[BinaryIO], AbstractContextManager[Write]]]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "parquet": parquet,
}


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


def _values(page: Page) -> tuple[Any, ...]:
    return (*astuple(page)[:-1], *astuple(page.metadata))


def _cell(value: object) -> object:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return ", ".join(value)
        case _:
            return value


def _arrow_type(arrow: Any, name: str) -> Any:  # noqa: ANN401 - pyarrow has no types of its own
    if name in _NUMBERS:
        return arrow.int64()
    if name in _SWITCHES:
        return arrow.bool_()
    if name == "directives":
        return arrow.list_(arrow.string())
    return arrow.timestamp("ms", "UTC") if name == "fetchedAt" else arrow.string()
