"""A row of `sites`, while its lock is held: the site, its queue's length, and its lease."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from outrider.model.codec import from_bytes, to_bytes
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.robots import RobotsFile
from outrider.model.site import Site
from outrider.stores.postgres.arrays import BigInts, Blobs, Booleans, Column, Floats, Texts

Counts = Counter[tuple[str, str]]
"""By state and reason; no reason is ""."""

ASIDE: Final = (State.SKIPPED.value, Reason.SITE_UNREACHABLE.value)
_PENDING: Final = (State.PENDING.value, "")
_WAITING: Final = (State.WAITING.value, "")
_NOTHING: Final = to_bytes(())


_KINDS: Final[dict[str, type[Column]]] = {
    "key": Texts,
    **dict.fromkeys(("not_before", "pause", "first_due", "deadline"), Floats),
    **dict.fromkeys(("pending", "waiting", "sequence", "admitted", "token"), BigInts),
    **dict.fromkeys(("set_aside", "excluded"), Booleans),
    **dict.fromkeys(("shown", "state", "robots", "robots_digest"), Blobs),
}


class SiteRow:
    """`deadline` is None while nobody holds the site. `shown` are the tasks that its lease shows, by identity."""

    def __init__(self, record: tuple[Any, ...]) -> None:
        (
            key,
            not_before,
            self.first_due,
            self.pending,
            self.waiting,
            self.sequence,
            admitted,
            set_aside,
            excluded,
            self.token,
            self.deadline,
            shown,
            state,
            self._digest,
            robots,
        ) = record
        self.site = replace(
            from_bytes(state, Site),
            key=key,
            not_before=not_before,
            admitted=admitted,
            set_aside=set_aside,
            excluded=excluded,
            robots=from_bytes(robots, tuple[RobotsFile, ...]) if robots is not None else (),
        )
        hashes = array("q")
        hashes.frombytes(shown)
        self.shown = dict.fromkeys(hashes)
        self.is_first_due_unsure = False
        self._robots: bytes | None = None
        self._before = self._queued()

    def __len__(self) -> int:
        return int(self.pending + self.waiting)

    def next_sequence(self) -> int:
        self.sequence += 1
        return int(self.sequence)

    def is_held_by(self, token: int) -> bool:
        return self.deadline is not None and self.token == token

    def owe(self, due_at: float, count: int = 1) -> None:
        if due_at:
            self.waiting += count
        else:
            self.pending += count
        if count > 0:
            self.first_due = due_at if self.first_due is None else min(self.first_due, due_at)
        else:
            self.is_first_due_unsure = True

    def give_back(self) -> None:
        self.deadline = None
        self.shown = {}
        self.is_first_due_unsure = True

    def know_robots(self, files: tuple[RobotsFile, ...]) -> None:
        """Written only when they are others than the stored ones, which were not read."""
        packed = to_bytes(files)
        digest = xxh3_128_digest(packed)
        if digest != self._digest and (self._digest is not None or packed != _NOTHING):
            self._robots, self._digest = packed, digest

    def count_changes(self, counts: Counts) -> None:
        """What the site adds to the census: its whole queue moves when it is set aside."""
        after = self._queued()
        if after != self._before:
            for name, was, now in zip((_PENDING, _WAITING, ASIDE), self._before, after, strict=True):
                counts[name] += now - was

    def _queued(self) -> tuple[int, int, int]:
        return (0, 0, len(self)) if self.site.set_aside else (self.pending, self.waiting, 0)

    def columns(self) -> dict[str, Any]:
        site = self.site
        return {
            "key": site.key,
            "not_before": site.not_before,
            "pause": site.pace.interval,
            "first_due": self.first_due,
            "pending": self.pending,
            "waiting": self.waiting,
            "sequence": self.sequence,
            "admitted": site.admitted,
            "set_aside": site.set_aside,
            "excluded": site.excluded,
            "token": self.token,
            "deadline": self.deadline,
            "shown": array("q", self.shown).tobytes(),
            "state": packed_site(site),
            "robots": self._robots,
            "robots_digest": self._digest if self._robots is not None else None,
        }


def packed_site(site: Site) -> bytes:
    return to_bytes(replace(site, robots=()))


def site_arrays(rows: Sequence[SiteRow]) -> dict[str, Column]:
    columns = [row.columns() for row in rows]
    return {name: kind(one[name] for one in columns) for name, kind in _KINDS.items()}
