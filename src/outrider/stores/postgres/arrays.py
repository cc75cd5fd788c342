"""Columns of values as the server's arrays, in its binary form.

The driver looks at every value of a list to find out what it holds; a batch has tens of thousands of values, and we
know what they are.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Final

from psycopg import AsyncConnection, DataError
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

_NULL: Final = b"\xff\xff\xff\xff"
_length = struct.Struct("!i").pack


class Column(list[object]):
    """Values of one type; `oids` are the server's numbers for the array and for what is in it."""

    oids: ClassVar[tuple[int, int]]

    def elements(self) -> bytes:
        raise NotImplementedError


class _Fixed(Column):
    code: ClassVar[str]
    size: ClassVar[int]

    def elements(self) -> bytes:
        if None not in self:
            return _form(f"i{self.code}", len(self)).pack(*(part for value in self for part in (self.size, value)))
        one = struct.Struct(f"!i{self.code}").pack
        return b"".join(_NULL if value is None else one(self.size, value) for value in self)


class BigInts(_Fixed):
    oids, code, size = (1016, 20), "q", 8


class Ints(_Fixed):
    oids, code, size = (1007, 23), "i", 4


class Floats(_Fixed):
    oids, code, size = (1022, 701), "d", 8


class Booleans(_Fixed):
    oids, code, size = (1000, 16), "?", 1


class Blobs(Column):
    oids = (1001, 17)

    def elements(self) -> bytes:
        return _join([value if isinstance(value, bytes) else None for value in self])


class Texts(Column):
    oids = (1009, 25)

    def elements(self) -> bytes:
        return _join([value.encode() if isinstance(value, str) else None for value in self])


class _ColumnDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Column) -> Buffer:
        has_null = int(None in obj)
        if not obj:
            return struct.pack("!iii", 0, 0, obj.oids[1])
        try:
            return struct.pack("!iiiii", 1, has_null, obj.oids[1], len(obj), 1) + obj.elements()
        except (struct.error, UnicodeEncodeError) as error:
            raise DataError(f"a value does not fit its column: {error}") from error


def register(connection: AsyncConnection[tuple[object, ...]]) -> None:
    for kind in (BigInts, Ints, Floats, Booleans, Blobs, Texts):
        dumper = type(f"{kind.__name__}Dumper", (_ColumnDumper,), {"oid": kind.oids[0]})
        connection.adapters.register_dumper(kind, dumper)


@lru_cache(maxsize=64)
def _form(one: str, count: int) -> struct.Struct:
    return struct.Struct("!" + one * count)


def _join(values: Sequence[bytes | None]) -> bytes:
    parts: list[bytes] = []
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            parts += (_length(len(value)), value)
    return b"".join(parts)
