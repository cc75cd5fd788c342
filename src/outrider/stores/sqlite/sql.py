"""The .sql files beside this module, as text."""

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

_HERE: Final = files("outrider.stores.sqlite")


def script(name: str) -> str:
    return _HERE.joinpath(name).read_text(encoding="utf-8")


def statements_of(text: str) -> list[str]:
    """A script, cut into statements: `executescript` would end the transaction that it runs in."""
    return [statement for statement in text.split(";\n") if statement.strip()]


def named(text: str) -> dict[str, str]:
    """Each `-- name: x` opens a statement."""
    parts = text.split("-- name: ")[1:]
    return {name.strip(): body.strip() for name, _, body in (part.partition("\n") for part in parts)}


SQL: Final[Mapping[str, str]] = named(script("statements.sql"))
