"""The statements of `sql/`, by name, with the columns of a row filled in."""

from importlib.resources import files
from typing import Final

from outrider.stores.postgres.rows import ARRAYS, CHANGES, COLUMNS, EVERYTHING


def _read(name: str) -> str:
    return (files("outrider.stores.postgres") / "sql" / name).read_text(encoding="utf-8")


def named(file: str) -> dict[str, str]:
    """One statement follows each `-- name:`."""
    found: dict[str, str] = {}
    for part in _read(file).split("-- name: ")[1:]:
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
        found[name.strip()] = text.strip()
    return found


STATEMENTS: Final = named("statements.sql")
STEPS: Final = (_read("schema.sql"), _read("schema_orders.sql"), _read("schema_browse.sql"))
"""What makes version n of version n - 1. Steps are added, never changed: stores out there were made by them."""
