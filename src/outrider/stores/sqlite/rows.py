"""Values as rows and back. A task keeps its path and query; what most tasks do not have takes no room."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest

from outrider.model.codec import from_bytes, to_bytes
from outrider.model.ledger import Entry, State
from outrider.model.outcome import Hop, Validators
from outrider.model.reason import Reason
from outrider.model.robots import RobotsFile
from outrider.model.site import Breaker, Pace, Site, Trouble
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.transition import set_aside_entry, state_of

Spot: TypeAlias = tuple[int, float, int]
"""Rank, due time, sequence: where in its site's queue a task is."""

TaskRow: TypeAlias = tuple[int, float, int, int, str, str, bytes]
"""Its spot, its hash, its origin, path and query, and the rest."""

_NO_CHANGES: Final = Changes()
_NO_BREAKER: Final = Breaker()


class _TaskRest(Struct, omit_defaults=True):
    """The names are stored: one letter each, never to be used for something else."""

    depth: int = field(default=0, name="d")
    origin: Origin = field(default=Origin.LINK, name="o")
    parent: str | None = field(default=None, name="p")
    via: tuple[Hop, ...] = field(default=(), name="h")
    visits: int = field(default=0, name="n")
    deferrals: int = field(default=0, name="f")
    deferred_at: float | None = field(default=None, name="g")
    recoveries: int = field(default=0, name="r")
    validators: Validators | None = field(default=None, name="v")
    changes: Changes | None = field(default=None, name="c")
    visited_at: float | None = field(default=None, name="t")
    sha256: str | None = field(default=None, name="s")


class _SiteRest(Struct, array_like=True):
    """In this order, for good; a later version may add to the end."""

    not_before: float
    base: float
    interval: float
    burst: int
    full_at: float
    admitted: int
    fetched: int
    set_aside: bool
    excluded: bool
    alive_at: float | None
    breaker: Breaker | None
    trouble: Trouble | None = None


class _EndedRest(Struct, omit_defaults=True):
    task: bytes | None = field(default=None, name="t")
    priority: int = field(default=0, name="p")
    due_at: float = field(default=0.0, name="d")
    sequence: int = field(default=0, name="q")
    detail: str = field(default="", name="x")
    of: str | None = field(default=None, name="o")
    status: int | None = field(default=None, name="s")
    visits: int = field(default=0, name="n")


def pack_task(task: Task, origin: str) -> bytes:
    """All of it but its URL and its spot. A parent of the same origin is kept as path and query."""
    parent: str | None = None
    if task.parent is not None:
        cut = len(origin)
        same = task.parent.startswith(origin) and task.parent[cut : cut + 1] == "/"
        parent = task.parent[cut if same else 0 :]
    return to_bytes(
        _TaskRest(
            task.depth,
            task.origin,
            parent,
            task.via,
            task.visits,
            task.deferrals,
            task.deferred_at,
            task.recoveries,
            task.validators,
            None if task.changes == _NO_CHANGES else task.changes,
            task.visited_at,
            task.content_sha256,
        )
    )


def unpack_task(row: TaskRow) -> Task:
    rank, due_at, sequence, _, origin, target, data = row
    return _task(Url.trusted(origin + target), origin, (rank, due_at, sequence), data)


def _task(url: Url, origin: str, spot: Spot, data: bytes) -> Task:
    rest = from_bytes(data, _TaskRest)
    parent = rest.parent
    if parent is not None:
        parent = Url.trusted(origin + parent if parent.startswith("/") else parent)
    return Task(
        url,
        rest.depth,
        -spot[0],
        rest.origin,
        parent,
        rest.via,
        spot[2],
        spot[1],
        rest.visits,
        rest.deferrals,
        rest.deferred_at,
        rest.recoveries,
        rest.validators,
        rest.changes or _NO_CHANGES,
        rest.visited_at,
        rest.sha256,
    )


def queue_line(row: tuple[Any, ...]) -> Entry:
    """A task's row with the key and the state of the site in whose queue it stands."""
    *task_row, key, state = row
    rank, due_at, sequence, identity, origin, target, rest = task_row
    task = unpack_task((rank, due_at, sequence, identity, origin, target, rest))
    if unpack_site(key, state).set_aside:
        return set_aside_entry(task, key)
    return Entry(task.url, state_of(task), key, task, visits=task.visits)


def pack_site(site: Site, admitted: int) -> bytes:
    """All of it but its key and its robots.txt files; the store itself counts what it admitted."""
    pace = site.pace
    return to_bytes(
        _SiteRest(
            site.not_before,
            pace.base,
            pace.interval,
            pace.burst,
            pace.full_at,
            admitted,
            site.fetched,
            site.set_aside,
            site.excluded,
            site.alive_at,
            None if site.breaker == _NO_BREAKER else site.breaker,
            site.trouble,
        )
    )


def unpack_site(key: str, data: bytes) -> Site:
    rest = from_bytes(data, _SiteRest)
    return Site(
        key,
        rest.not_before,
        Pace(rest.base, rest.interval, rest.burst, rest.full_at),
        rest.breaker or _NO_BREAKER,
        rest.alive_at,
        (),
        rest.admitted,
        rest.fetched,
        rest.set_aside,
        rest.excluded,
        rest.trouble,
    )


def pack_robots(files: Sequence[RobotsFile]) -> tuple[int | None, bytes]:
    """With a digest, which tells without reading them whether the stored ones are the same."""
    if not files:
        return None, b""
    data = to_bytes(files)
    return xxh3_64_intdigest(data) >> 1, data


def unpack_robots(data: bytes) -> tuple[RobotsFile, ...]:
    return from_bytes(data, tuple[RobotsFile, ...]) if data else ()


def pack_shown(shown: dict[int, Spot]) -> bytes | None:
    return to_bytes(shown) if shown else None


def unpack_shown(data: bytes | None) -> dict[int, Spot]:
    return from_bytes(data, dict[int, Spot]) if data else {}


def pack_ended(key: int, entry: Entry) -> tuple[Any, ...]:
    task = entry.task
    rest = _EndedRest(
        None if task is None else pack_task(task, entry.url.origin),
        0 if task is None else task.priority,
        0.0 if task is None else task.due_at,
        0 if task is None else task.sequence,
        entry.detail,
        None if entry.of is None else str(entry.of),
        entry.status,
        entry.visits,
    )
    reason = None if entry.reason is None else entry.reason.value
    revivable = task is not None and entry.state in {State.SKIPPED, State.DEAD}
    return key, entry.state.value, reason, entry.site, revivable, str(entry.url), to_bytes(rest)


def unpack_ended(row: Iterable[Any]) -> Entry:
    _, _, state, reason, site, url, data = row
    rest = from_bytes(data, _EndedRest)
    name = Url.trusted(url)
    spot = (-rest.priority, rest.due_at, rest.sequence)
    return Entry(
        name,
        State(state),
        site,
        None if rest.task is None else _task(name, name.origin, spot, rest.task),
        None if reason is None else Reason(reason),
        rest.detail,
        None if rest.of is None else Url.trusted(rest.of),
        rest.status,
        rest.visits,
    )
