"""Requests, robots.txt files and manners as the server's arrays, and what is said to it about them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from outrider.model.record import Record
from outrider.stores.asked_rows import ROBOTS, batch_of, bodies_of, manners_row, robots_row
from outrider.stores.postgres.arrays import BigInts, Blobs, Column, Floats, Texts
from outrider.stores.postgres.records_rows import read

_KINDS: Final[Mapping[str, type[Column]]] = {"fetched_at": Floats, "expires_at": Floats, "http_status": BigInts}


def _statements() -> dict[str, str]:
    """One statement follows each `-- name:`."""
    named: dict[str, str] = {}
    for part in read("requests_statements.sql").split("-- name: ")[1:]:
        name, _, body = part.partition("\n")
        for hole, filling in (
            ("{robots}", ", ".join(ROBOTS)),
            ("{arrays}", ", ".join(f"%({column})s" for column in ROBOTS)),
            ("{prefixed}", ", ".join(f"a.{column}" for column in ROBOTS)),
        ):
            body = body.replace(hole, filling)
        named[name.strip()] = body[: body.index(";")]
    return named


SQL: Final = _statements()


class Traffic:
    """Of some records, ready to be written: statements in order, with their values."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.acts: list[tuple[str, Mapping[str, Any]]] = []
        batch = batch_of(records)
        if batch is not None:
            key, requests = batch
            self.acts.append((SQL["put_batch"], {"key": key, "requests": requests}))
        robots = [one for record in records for one in record.robots]
        if robots:
            bodies = bodies_of(robots)
            self.acts.append((SQL["put_bodies"], {"digests": Texts(bodies), "bodies": Blobs(bodies.values())}))
            columns = zip(*map(robots_row, robots), strict=True)
            values = {
                name: _KINDS.get(name, Texts)(map(_storable, column))
                for name, column in zip(ROBOTS, columns, strict=True)
            }
            self.acts.append((SQL["put_robots"], values))
        manners = [manners_row(one) for record in records for one in record.manners]
        if manners:
            names, said = zip(*manners, strict=True)
            self.acts.append((SQL["put_manners"], {"names": Texts(names), "said": Texts(said)}))


def _storable(value: object) -> object:
    """A text of the server's cannot hold the character 0. Raises `UnicodeEncodeError` for half a character."""
    if not isinstance(value, str):
        return value
    value.encode()
    return value.replace("\x00", "\ufffd")
