"""The statements of `sql/`, by name, with the columns of a row filled in."""

from importlib.resources import files
from typing import Final

from outrider.stores.postgres.rows import ARRAYS, CHANGES, COLUMNS, EVERYTHING


def _read(name: str) -> str:
    return (files("outrider.stores.postgres") / "sql" / name).read_text(encoding="utf-8")


def _statements() -> dict[str, str]:
    """One statement follows each `-- name:`."""
    named: dict[str, str] = {}
    for part in _read("statements.sql").split("-- name: ")[1:]:
        name, _, body = part.partition("\n")
        text = body[: body.index(";")]
        for hole, filling in (
            ("{columns}", ", ".join(COLUMNS)),
            ("{prefixed}", ", ".join(f"f.{column}" for column in COLUMNS)),
            ("{arrays}", ARRAYS),
            ("{changes}", CHANGES),
            ("{everything}", EVERYTHING),
        ):
            text = text.replace(hole, filling)
        named[name.strip()] = text.strip()
    return named


STATEMENTS: Final = _statements()
SCHEMA: Final = _read("schema.sql")
