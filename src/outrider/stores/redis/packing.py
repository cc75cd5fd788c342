"""How is a value written in Redis? As few bytes as a queue of a hundred million can afford.

An item is a task's sequence number in MessagePack (which sorts as bytes), how often its lease ran out, and a body:
one byte of flags, the depth, and the URL without what its site's name says already. Tasks that carry more than a new
one does are written whole. Priority and due time are not in it: they are the name and the score of its queue.
"""

from collections.abc import Sequence
from struct import Struct as Layout
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from outrider.model.codec import from_bytes, to_bytes
from outrider.model.ledger import Entry, SiteLine, State
from outrider.model.outcome import Hop, Validators
from outrider.model.reason import Reason
from outrider.model.robots import RobotsFile
from outrider.model.site import Breaker, Pace, Site, Trouble
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url

_ORIGINS: Final = tuple(Origin)
"""Written by place, in three bits: new origins go to the end of the enumeration, and a ninth needs another layout."""
_PLACE_OF: Final = {origin: place for place, origin in enumerate(_ORIGINS)}

_HTTPS, _WWW, _OTHER_HOST, _WHOLE, _PARENT = 1, 2, 4, 6, 64
_HOST_BITS: Final = 6
_ORIGIN_SHIFT: Final = 3
_SHORT: Final = Layout(">H")
_FRONT: Final = Layout(">d")
_PLACE: Final = Layout(">dd")
POINTER: Final = b"\xff@"
"""In place of a line: the site whose queue holds the page. No line begins so: its serial is a positive number."""


class _Whole(Struct, frozen=True, array_like=True):
    """A task but for its number, its place in the queue and its recoveries. Fields are added at the end."""

    url: Url
    depth: int
    origin: Origin
    parent: Url | None
    via: tuple[Hop, ...]
    visits: int
    deferrals: int
    deferred_at: float | None
    validators: Validators | None
    changes: Changes
    visited_at: float | None
    content_sha256: str | None


class _Details(Struct, frozen=True, array_like=True):
    """Fields are added at the end."""

    base: float
    interval: float
    burst: int
    breaker: Breaker | None
    alive_at: float | None
    fetched: int
    trouble: Trouble | None = None


class _Front(Struct, frozen=True, array_like=True):
    """`for_good`: an operator has ended it (see `dismiss.lua`), and the task is kept for its URL alone."""

    state: State
    reason: Reason | None
    detail: str
    status: int | None
    visits: int
    site: str
    for_good: bool = False


class Numbers(Struct, frozen=True, array_like=True):
    """What the scripts decide with, in the order of `bucket.lua`; the priorities in use follow."""

    not_before: float
    full_at: float
    interval: float
    burst: int
    token: int
    sequence: int
    admitted: int
    flags: int
    pending: int
    waiting: int
    deadline: float


def read_numbers(packed: bytes) -> Numbers:
    return msgspec.msgpack.decode(packed, type=Numbers)


def pack_details(site: Site) -> bytes:
    """All of a site that only its holder reads; the rest are numbers, and robots.txt files, which are large."""
    pace = site.pace
    breaker = site.breaker if site.breaker != Breaker() else None
    known = _Details(pace.base, pace.interval, pace.burst, breaker, site.alive_at, site.fetched, site.trouble)
    return to_bytes(known)


def pack_robots(site: Site) -> bytes:
    return to_bytes(site.robots)


def read_site(key: str, numbers: Numbers, details: bytes, robots: bytes) -> Site:
    if details:
        known = from_bytes(details, _Details)
    else:
        known = _Details(numbers.interval, numbers.interval, numbers.burst, None, None, 0)
    return Site(
        key,
        numbers.not_before,
        Pace(known.base, known.interval, known.burst, numbers.full_at),
        known.breaker or Breaker(),
        known.alive_at,
        from_bytes(robots, tuple[RobotsFile, ...]) if robots else (),
        numbers.admitted,
        known.fetched,
        set_aside=bool(numbers.flags & 1),
        excluded=bool(numbers.flags & 2),
        trouble=known.trouble,
    )


def read_site_line(name: bytes, packed: bytes, details: bytes | None, robots: bytes | None) -> SiteLine:
    numbers = read_numbers(packed)
    site = read_site(name.decode(), numbers, details or b"", robots or b"")
    pending, waiting = (0, 0) if site.set_aside else (numbers.pending, numbers.waiting)
    return SiteLine(site, pending, waiting, numbers.deadline or None)


def pack_item(task: Task, site: str) -> bytes:
    return msgspec.msgpack.encode(task.sequence) + pack_tail(task, site)


def pack_tail(task: Task, site: str) -> bytes:
    """The item without its number: the frontier numbers new tasks itself."""
    front = bytes((min(task.recoveries, 255),))
    return front + (_pack_short(task, site) or _pack_whole(task))


def read_task(item: bytes, site: str, priority: int, due_at: float) -> Task:
    sequence, at = _read_number(item)
    recoveries, flags = item[at], item[at + 1]
    if flags & _HOST_BITS == _WHOLE:
        task = _read_whole(item[at + 2 :])
        return replace(task, sequence=sequence, recoveries=recoveries, priority=priority, due_at=due_at)
    depth, at = item[at + 2], at + 3
    host = site if not flags & _WWW else f"www.{site}"
    if flags & _OTHER_HOST:
        host, at = item[at + 1 : at + 1 + item[at]].decode(), at + 1 + item[at]
    parent = ""
    if flags & _PARENT:
        (length,) = _SHORT.unpack_from(item, at)
        parent, at = item[at + 2 : at + 2 + length].decode(), at + 2 + length
    origin = f"{'https' if flags & _HTTPS else 'http'}://{host}"
    return Task(
        Url.trusted(origin + item[at:].decode()),
        depth,
        priority,
        _ORIGINS[flags >> _ORIGIN_SHIFT & 7],
        Url.trusted(origin + parent if parent.startswith("/") else parent) if parent else None,
        (),
        sequence,
        due_at,
        recoveries=recoveries,
    )


def number_of(item: bytes) -> int:
    """The sequence of its task."""
    return _read_number(item)[0]


def read_tasks(flat: Sequence[bytes], site: str) -> list[Task]:
    """Tasks as the scripts give them out: priority, due, item, priority, …"""
    return [read_task(flat[at + 2], site, int(flat[at]), float(flat[at + 1])) for at in range(0, len(flat), 3)]


def pack_front(entry: Entry) -> bytes:
    """The front of a line: all of an entry but its task."""
    meta = to_bytes(_Front(entry.state, entry.reason, entry.detail, entry.status, entry.visits, entry.site))
    return _SHORT.pack(len(meta)) + meta


def pack_line(entry: Entry) -> bytes:
    """A line of the ledger that may be revived; empty for one that may not, of which the hash is enough."""
    task = entry.task
    if task is None or entry.state not in {State.SKIPPED, State.DEAD}:
        return b""
    return pack_front(entry) + _PLACE.pack(task.priority, task.due_at) + pack_item(task, entry.site)


def read_serial(line: bytes) -> float:
    return float(_FRONT.unpack_from(line)[0])


def read_line(line: bytes) -> Entry:
    (length,) = _SHORT.unpack_from(line, _FRONT.size)
    at = _FRONT.size + _SHORT.size
    front = from_bytes(line[at : at + length], _Front)
    priority, due_at = _PLACE.unpack_from(line, at + length)
    task = read_task(line[at + length + _PLACE.size :], front.site, int(priority), due_at)
    return Entry(
        task.url,
        front.state,
        front.site,
        None if front.for_good else task,
        front.reason,
        front.detail,
        status=front.status,
        visits=front.visits or task.visits,
    )


def _pack_short(task: Task, site: str) -> bytes | None:
    """None for a task that carries more than a new one does."""
    if (
        task.visits
        or task.depth > 255
        or task.deferrals
        or task.via
        or task.deferred_at is not None
        or task.validators is not None
        or task.visited_at is not None
        or task.content_sha256 is not None
        or task.changes != _UNSEEN
    ):
        return None
    text = str(task.url)
    start = 8 if text.startswith("https:") else 7
    path = text.find("/", start)
    host = text[start:path]
    flags = _PLACE_OF[task.origin] << _ORIGIN_SHIFT | (start == 8)
    other = parent = b""
    if host != site:
        if host == f"www.{site}":
            flags |= _WWW
        else:
            name = host.encode()
            if len(name) > 255:
                return None
            flags |= _OTHER_HOST
            other = bytes((len(name),)) + name
    if task.parent is not None:
        flags |= _PARENT
        origin = text[:path]
        written = task.parent[path:] if task.parent.startswith(f"{origin}/") else task.parent
        if len(written) > 16_000:
            return None
        parent = written.encode()
        parent = _SHORT.pack(len(parent)) + parent
    return bytes((flags, task.depth)) + other + parent + text[path:].encode()


_UNSEEN: Final = Changes()


def _pack_whole(task: Task) -> bytes:
    whole = _Whole(
        task.url,
        task.depth,
        task.origin,
        task.parent,
        task.via,
        task.visits,
        task.deferrals,
        task.deferred_at,
        task.validators,
        task.changes,
        task.visited_at,
        task.content_sha256,
    )
    return bytes((_WHOLE,)) + to_bytes(whole)


def _read_whole(data: bytes) -> Task:
    whole = from_bytes(data, _Whole)
    return Task(
        whole.url,
        whole.depth,
        origin=whole.origin,
        parent=whole.parent,
        via=whole.via,
        visits=whole.visits,
        deferrals=whole.deferrals,
        deferred_at=whole.deferred_at,
        validators=whole.validators,
        changes=whole.changes,
        visited_at=whole.visited_at,
        content_sha256=whole.content_sha256,
    )


def _read_number(item: bytes) -> tuple[int, int]:
    """A MessagePack number of one to nine bytes, and where it ends."""
    first = item[0]
    if first < 0x80:
        return first, 1
    end = 1 + (1 << first - 0xCC)
    return int.from_bytes(item[1:end]), end
