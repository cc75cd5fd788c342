"""The closed ledger: every URL ever proposed is in exactly one state, and the states add up at every instant."""

from enum import StrEnum

from msgspec import Struct

from outrider.model.lease import Lease
from outrider.model.reason import Reason
from outrider.model.settlement import Settlement
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url


class State(StrEnum):
    """`pending`: owed its first visit. `waiting`: put off, and owed a later one. The others are ends."""

    PENDING = "pending"
    WAITING = "waiting"
    FETCHED = "fetched"
    SKIPPED = "skipped"
    DEAD = "dead"
    ALIAS = "alias"


class Added(StrEnum):
    """What became of a proposed task."""

    NEW = "new"
    KNOWN = "known"
    OVER_QUOTA = "over_quota"


class Leased(Struct, frozen=True):
    """What was lent. When that is nothing, `next_at` is when something may be; None when no task is owed at all.

    `at` is what the store's clock showed meanwhile: by it alone are due times, pauses and deadlines judged, so whoever
    waits for one of them by a clock of its own can tell how far that is off.
    """

    leases: tuple[Lease, ...]
    next_at: float | None
    at: float


class Settled(Struct, frozen=True):
    """The holder's account of a lease: the site as it is now, and what became of the tasks that are finished.

    With `keep` the lease goes on; without it, and when the site is set aside, the site is given back and tasks not
    named here stay owed.
    """

    lease: Lease
    site: Site
    settlements: tuple[tuple[Task, Settlement], ...] = ()
    keep: bool = False


class Entry(Struct, frozen=True):
    """One line of the ledger. `task` is what a visit needs: for what is owed, and for what `revive` may owe again.

    `of` is the other name of an alias, and the page that a fetched one turned out to duplicate.
    """

    url: Url
    state: State
    site: str
    task: Task | None = None
    reason: Reason | None = None
    detail: str = ""
    of: Url | None = None
    status: int | None = None
    visits: int = 0


class Filter(Struct, frozen=True):
    """Which ended URLs are meant; what is None does not matter."""

    state: State | None = None
    reason: Reason | None = None
    site: str | None = None


class Search(Struct, frozen=True):
    """Which lines somebody looks for, ended or not; what is None does not matter. `text` is a part of the URL."""

    state: State | None = None
    reason: Reason | None = None
    site: str | None = None
    status: int | None = None
    text: str | None = None


class Slice(Struct, frozen=True):
    """Some lines of the ledger. `after` is where to go on; None: that is all. `looked_at` lines were looked through.

    Fewer than were asked for, even none, do not mean the end: a slice is also over when enough has been looked at.
    """

    entries: tuple[Entry, ...]
    after: str | None = None
    looked_at: int = 0


class SiteLine(Struct, frozen=True):
    """A site with what it owes. `held_until` is the deadline of its lease; one that has passed: its holder is gone."""

    site: Site
    pending: int = 0
    waiting: int = 0
    held_until: float | None = None


class Census(Struct, frozen=True):
    """Counts of the whole frontier. `stale` counts settlements that came too late and were refused."""

    discovered: int = 0
    pending: int = 0
    waiting: int = 0
    fetched: int = 0
    alias: int = 0
    skipped: dict[Reason, int] = {}
    dead: dict[Reason, int] = {}
    sites: int = 0
    leased: int = 0
    stale: int = 0

    @property
    def is_finished(self) -> bool:
        """Nothing is owed: the one question that ends a crawl."""
        return self.pending + self.waiting == 0

    @property
    def adds_up(self) -> bool:
        ended = self.fetched + self.alias + sum(self.skipped.values()) + sum(self.dead.values())
        return self.discovered == self.pending + self.waiting + ended
