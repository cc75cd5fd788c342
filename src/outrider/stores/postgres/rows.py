"""A row of `url_frontier`, and the line of the ledger that it is."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import astuple, fields, replace

from outrider.model.codec import from_bytes, to_bytes
from outrider.model.ledger import Entry, State
from outrider.model.outcome import Hop, Validators
from outrider.model.reason import Reason
from outrider.model.settlement import Done, Later, Settlement
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.transition import set_aside_entry, state_of
from outrider.stores.postgres.arrays import BigInts, Blobs, Booleans, Column, Floats, Ints, Texts


class Extra(Struct, frozen=True, omit_defaults=True):
    """What of a task has no column. `validators` is only here when the server's text cannot hold them."""

    via: tuple[Hop, ...] = ()
    changes: Changes = Changes()
    validators: Validators | None = None


class Row(Struct, frozen=True):
    """The columns that we write, in their order, with the types that the server gives them."""

    url_hash: int
    url: str | None
    site: str
    status: str
    priority: int = 0
    depth: int = 0
    origin: str = "seed"
    parent: str | None = None
    sequence: int = 0
    next_fetch_at: float = 0.0
    retry_count: int = 0
    task_visits: int = 0
    deferrals: int = 0
    deferred_at: float | None = None
    recoveries: int = 0
    last_error: str | None = None
    detail: str | None = None
    status_code: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_hash: str | None = None
    visited_at: float | None = None
    alias_of: str | None = None
    duplicate_of: str | None = None
    fetch_count: int = 0
    has_task: bool = False
    extra: bytes | None = None
    place: int = 0


COLUMNS: Final = tuple(field.name for field in fields(Row))
_KINDS: Final[dict[str, type[Column]]] = {
    **dict.fromkeys(("url_hash", "priority", "sequence", "place"), BigInts),
    **dict.fromkeys(("depth", "retry_count", "task_visits", "deferrals", "recoveries"), Ints),
    **dict.fromkeys(("status_code", "fetch_count"), Ints),
    **dict.fromkeys(("next_fetch_at", "deferred_at", "visited_at"), Floats),
    "has_task": Booleans,
    "extra": Blobs,
}
ARRAYS: Final = ", ".join(f"%({name})s" for name in COLUMNS)
_ADDED: Final = {"fetch_count"}
_FIXED: Final = {"url_hash", "url", "depth", "origin", "parent", "priority", "sequence"}
"""What a settlement never changes: a new name is a new row."""
CHANGES: Final = ", ".join(
    f"{name} = old.{name} + new.{name}" if name in _ADDED else f"{name} = new.{name}"
    for name in COLUMNS
    if name not in _FIXED
)

EVERYTHING: Final = ", ".join(f"{name} = new.{name}" for name in COLUMNS if name not in {"url_hash", *_ADDED})
"""A URL that is owed again begins anew, as its task says."""


def arrays(rows: Sequence[Row]) -> dict[str, Any]:
    """One array per column, as the statements take them."""
    columns = zip(*map(astuple, rows), strict=True)
    return {name: _KINDS.get(name, Texts)(values) for name, values in zip(COLUMNS, columns, strict=True)}


def row_of(key: int, entry: Entry, known: Task | None = None) -> Row:
    """`known` is what is known of the page when the line itself no longer carries a task."""
    task = entry.task or known
    row = Row(
        key,
        str(entry.url),
        entry.site,
        entry.state.value,
        retry_count=entry.visits,
        last_error=entry.reason.value if entry.reason else None,
        detail=_storable(entry.detail) or None,
        status_code=entry.status,
        alias_of=str(entry.of) if entry.of and entry.state is State.ALIAS else None,
        duplicate_of=str(entry.of) if entry.of and entry.state is not State.ALIAS else None,
        has_task=entry.task is not None,
    )
    return row if task is None else _with_task(row, task)


def owed_row(key: int, task: Task, site: str) -> Row:
    return row_of(key, Entry(task.url, state_of(task), site, task, visits=task.visits))


def noting(row: Row, settlement: Settlement) -> Row:
    """What a dashboard wants to see of the last visit, though the task itself does not need it (S0-15, H0-10)."""
    match settlement:
        case Done(status=status):
            return replace(row, status_code=status, fetch_count=1)
        case Later(reason=reason):
            return replace(row, last_error=reason.value)
        case _:
            return row


def hash_row(key: int) -> Row:
    return Row(key, None, "", State.FETCHED.value)


def task_of(row: Row) -> Task:
    extra = from_bytes(row.extra, Extra) if row.extra is not None else Extra()
    validators = extra.validators
    if validators is None and (row.etag is not None or row.last_modified is not None):
        validators = Validators(row.etag, row.last_modified)
    return Task(
        url=Url.trusted(row.url or ""),
        depth=row.depth,
        priority=row.priority,
        origin=Origin(row.origin),
        parent=Url.trusted(row.parent) if row.parent is not None else None,
        via=extra.via,
        sequence=row.sequence,
        due_at=row.next_fetch_at,
        visits=row.task_visits,
        deferrals=row.deferrals,
        deferred_at=row.deferred_at,
        recoveries=row.recoveries,
        validators=validators,
        changes=extra.changes,
        visited_at=row.visited_at,
        content_sha256=row.content_hash,
    )


def entry_of(row: Row, *, set_aside: bool) -> Entry:
    """The row as a line of the ledger; what it notes for dashboards is not part of the line of an owed one."""
    state = State(row.status)
    url = Url.trusted(row.url or "")
    task = task_of(row) if row.has_task else None
    if task is not None and state in {State.PENDING, State.WAITING}:
        return set_aside_entry(task, row.site) if set_aside else Entry(url, state, row.site, task, visits=task.visits)
    other = row.alias_of or row.duplicate_of
    return Entry(
        url,
        state,
        row.site,
        task,
        Reason(row.last_error) if row.last_error else None,
        row.detail or "",
        Url.trusted(other) if other else None,
        row.status_code,
        row.retry_count,
    )


def rows_from(records: Iterable[tuple[Any, ...]]) -> list[Row]:
    return [Row(*record) for record in records]


def _with_task(row: Row, task: Task) -> Row:
    validators = task.validators
    # An empty pair is not the same as none at all, and the server's text holds no NUL: such pairs go as bytes.
    plain = validators is None or (any(astuple(validators)) and "\0" not in "".join(filter(None, astuple(validators))))
    extra = Extra(task.via, task.changes, None if plain else validators)
    return replace(
        row,
        priority=task.priority,
        depth=task.depth,
        origin=task.origin.value,
        parent=str(task.parent) if task.parent is not None else None,
        sequence=task.sequence,
        next_fetch_at=task.due_at,
        task_visits=task.visits,
        deferrals=task.deferrals,
        deferred_at=task.deferred_at,
        recoveries=task.recoveries,
        etag=validators.etag if validators and plain else None,
        last_modified=validators.last_modified if validators and plain else None,
        content_hash=task.content_sha256,
        visited_at=task.visited_at,
        extra=None if extra == Extra() else to_bytes(extra),
    )


def _storable(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
