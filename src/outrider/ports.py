"""The protocols between the engine and the world: at most seven methods each, every method one atomic act."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct

from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.capture import Capture
from outrider.model.event import Event
from outrider.model.identity import Identity
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Census, Entry, Filter, Leased, Search, Settled, SiteLine, Slice
from outrider.model.letter import DeadLetter
from outrider.model.order import SiteOrder
from outrider.model.outcome import Headers, Timing, first_value
from outrider.model.reason import Reason
from outrider.model.record import Decision, Page, PageFilter, PageSlice, Record, Tally
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import SiteBy, Url
from outrider.policy.settle import SettleRules


class Clock(Protocol):
    """Seconds since the epoch. Whoever waits, waits here, so that tests can move time."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


class Request(Struct, frozen=True):
    """`body_cap` bounds the bytes as sent. With `wanted_types`, a 2xx of another type is not read at all."""

    url: Url
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body_cap: int = 10_485_760
    wanted_types: frozenset[str] = frozenset()


class Response(Struct, frozen=True):
    """One answer, body as sent (still encoded). `complete` is False when the cap or the type stopped the reading."""

    status: int
    headers: Headers
    body: bytes
    complete: bool = True
    timing: Timing = Timing()
    address: str | None = None
    http_version: str | None = None
    reused: bool = False

    def header(self, name: str) -> str | None:
        """The first value of a header, whatever its case."""
        return first_value(self.headers, name.lower())


class Transport(Protocol):
    """One request, one response; no redirects, no retries, no cookies.

    Raises `TransportError`, and `ConfigError` for a request that could not be sent safely; nothing else.
    """

    async def request(self, request: Request) -> Response: ...


class FrontierRules(Struct, frozen=True):
    """What all who share a frontier must agree on. A store made under another `identity` or `site_by` is refused.

    An identity without a seed means the store's own: drawn when the store is made, and kept by it.
    """

    identity: Identity = Identity()
    site_by: SiteBy = "domain"
    site_quota: int | None = None
    settle: SettleRules = SettleRules()


class Frontier(Protocol):
    """Which site's turn is it, and which of its URLs? Batches in, batches out, the store's clock.

    What holds at every instant, whatever the interleaving of calls, crashes and restarts:

    - a site has one holder at a time;
    - no task is lost;
    - no politeness gap is shortened;
    - first come is first served within a priority;
    - discovered is the sum of the states;
    - termination is one query.

    After `StoreUnavailable` an act may have happened or not. Asking again is always safe: what is known is known, and
    an account that was taken already is refused.
    """

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        """Propose tasks; one answer each, in order. Known is known: also twice in one batch, also as an alias.

        `refused` are URLs that admission turned away: they enter the ledger as skipped, unless they are known, as do
        tasks over the site's quota. Adding never makes a site ready before its `not_before`.
        """
        ...

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        """Lend up to `sites` ready sites, as `policy.select` chooses, with up to `tasks` of their due tasks each.

        The politeness slot is reserved in the same step; the lease shows the site as it was before. A lease that ran
        out is lent again: the tasks it showed count one recovery more (dead after `max_recoveries`), and the site
        rests for one interval after the deadline.
        """
        ...

    async def extend(self, leases: Sequence[Lease], seconds: float) -> list[Lease | None]:
        """New deadlines, `seconds` from now. None for a lease that was given back, or that another has by now."""
        ...

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        """Write what was learned. False for an account whose lease is lost: nothing of it was written, and it counts.

        The site's times only move forward. A `Done` under a new name leaves an alias behind; when that name is known
        already, the URL keeps its own name and notes the other in `of`. A site that is `set_aside` takes its tasks
        with it. Settlements of tasks that the lease does not show (any more) are ignored.
        """
        ...

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give sites back unvisited: their tasks stay owed, their reserved slot stays spent."""
        ...

    async def revive(self, wanted: Filter) -> int:
        """Owe matching skipped and dead tasks a visit again, with fresh counts, sites set aside included; how many."""
        ...

    async def census(self) -> Census:
        """From counters: it costs the same whatever the size."""
        ...


@runtime_checkable
class OwesAgain(Protocol):
    """What a frontier may offer besides: visit what it knows once more. All that come with Outrider do."""

    async def owe_again(self, tasks: Sequence[Task], *, ended: bool = False) -> int:
        """Owe URLs that were fetched a visit again, as these tasks say, each under its own name; how many.

        With `ended` also those that were skipped, died, are another's alias, or are known by their hash alone; a site
        that is set aside comes back to life for them, as by `revive`, with all that it owed. What is owed now or later
        is left alone, and so is what was never proposed: it may be repeated. No pause is shortened.

        A store without an index of what is owed looks through the queues of the tasks' sites: better seldom, with many
        at once. It may leave a site alone that has very much to do.
        """
        ...


@runtime_checkable
class TakesOrders(Protocol):
    """What a frontier may offer besides, for operators. All that come with Outrider do."""

    async def order(self, order: SiteOrder) -> None:
        """Put it in the place of what was said about that site before; whether the site is known does not matter."""
        ...

    async def orders(self) -> list[SiteOrder]:
        """Those that ask for something: few, by site. Workers ask every second, so it costs next to nothing."""
        ...

    async def dismiss(self, urls: Sequence[tuple[Url, Reason]]) -> list[bool]:
        """End what is owed, or may be revived, as skipped for this reason and for good; whether each one was.

        A task that a lease shows is taken back, and what its holder settles about it is ignored. What was fetched, is
        an alias, was dismissed before or is not known is left alone: of two who dismiss one URL, one does.
        """
        ...


@runtime_checkable
class Browsable(Protocol):
    """What a frontier may offer besides, for who looks at it page by page. All that come with Outrider do."""

    async def browse(self, search: Search, after: str | None = None, *, most: int = 100, look: int = 100_000) -> Slice:
        """The next lines, up to `most`, looking through about `look` at the most: it costs the same at any size.

        Those that are owed come first, then those that have ended. Nothing that stays is shown twice or left out while
        others come and go. Raises `ConfigError` for an `after` that is not of this store's making.
        """
        ...

    def survey(self) -> AsyncIterator[list[SiteLine]]:
        """Every site with its counts, in batches."""
        ...


class Ledger(Protocol):
    """The same store, read for inspection, and written whole when a frontier moves.

    A compact store keeps no line for a URL that has ended and cannot be revived, only its identity hash.
    """

    async def find(self, url: Url) -> Entry | None:
        """Its line. None when it was never proposed, or when only its hash is known (see `knows`)."""
        ...

    async def knows(self, urls: Sequence[Url]) -> list[bool]: ...

    def entries(self, wanted: Filter | None = None) -> AsyncIterator[list[Entry]]:
        """All lines, in batches; the tasks of a site in the order in which they came."""
        ...

    def hashes(self) -> AsyncIterator[list[int]]:
        """The identity hashes of URLs that have no line."""
        ...

    def sites(self) -> AsyncIterator[list[Site]]: ...

    async def restore(
        self, entries: Sequence[Entry] = (), sites: Sequence[Site] = (), hashes: Sequence[int] = ()
    ) -> int:
        """Write what another store gave out; how many were new here. Known ones are left alone: it may be repeated.

        Sites come before their entries. A URL of which only the hash is known counts as fetched.
        """
        ...


class Records(Protocol):
    """What is kept of every visit. Writing a fetch id again replaces what it said before: a repeated visit is one.

    A request that is written again is still one; a visit that was made twice has the requests of both.
    """

    async def write(self, records: Sequence[Record]) -> None:
        """All of them or none."""
        ...

    async def find(self, url: Url) -> list[Record]:
        """Every visit that asked for this URL or ended there, oldest first, and what was decided about it."""
        ...

    def pages(self, wanted: PageFilter) -> AsyncIterator[list[Page]]:
        """In batches, in the order in which they were written."""
        ...

    async def tally(self) -> Tally:
        """From counters: it costs the same whatever the size."""
        ...


@runtime_checkable
class BrowsablePages(Protocol):
    """What records may offer besides, for who looks at them page by page. All that come with Outrider do."""

    async def browse_pages(
        self, wanted: PageFilter, before: str | None = None, *, most: int = 100, look: int = 100_000
    ) -> PageSlice:
        """The latest visits first, up to `most`, looking through about `look` at the most. `wanted.limit` is ignored.

        Raises `ConfigError` for a `before` that is not of these records' making.
        """
        ...


@runtime_checkable
class ExportsRecords(Protocol):
    """What records may offer besides, for who writes them out whole. All that come with Outrider do.

    Batches come in the order of their writing, each by a reading of its own: of what is written meanwhile nothing is
    shown, except that a visit which is written again is shown as it is by then.
    """

    def visits(self, wanted: PageFilter) -> AsyncIterator[list[Record]]:
        """Pages with their evidence, without decisions."""
        ...

    def decisions(self) -> AsyncIterator[list[Decision]]: ...


@runtime_checkable
class AuditRecords(Protocol):
    """What records may offer besides, for audits. All that come with Outrider do; those of `none:` have nothing."""

    def requests(self) -> AsyncIterator[list[Asked]]:
        """All that there are at one moment, in batches, about in the order of their writing."""
        ...

    def robots(self) -> AsyncIterator[list[RobotsAnswer]]:
        """Every robots.txt that was heard of, by site, and then by when it was had."""
        ...

    async def manners(self) -> dict[str, Manners]:
        """What workers were held to, by name: few."""
        ...


class ContentStore(Protocol):
    """The answers themselves. What `put` has taken is safe on its medium; what is not confirmed may be cut off again.

    After a crash, an answer whose visit was not settled will be fetched again, so a store may drop it: it keeps those
    that were confirmed, and asks about the others.
    """

    async def put(self, captures: Sequence[Capture]) -> list[str]:
        """One key each, in order; an empty one where nothing is kept of that answer."""
        ...

    async def confirm(self, keys: Sequence[str]) -> None:
        """The visits behind these are settled."""
        ...

    async def get(self, key: str) -> Capture | None:
        """As it was put, without its request; None when it is not there (any more)."""
        ...


class EventSink(Protocol):
    """Where the rest of the world listens. Published means: a consumer that comes later still finds it."""

    async def publish(self, events: Sequence[Event]) -> None: ...


class Batch(Struct, frozen=True):
    """Entries that were lent together, as somebody wrote them."""

    id: str
    entries: tuple[bytes, ...]


class InputQueue(Protocol):
    """What other programs want visited. Taking is lending: what is not `done` in time is lent again, whoever died."""

    async def take(self, most: int, seconds: float) -> Batch | None:
        """Up to `most` entries, the oldest first; an overdue batch comes before new ones. None: there are none."""
        ...

    async def done(self, batch: Batch) -> None:
        """They are safe elsewhere. Saying it again, or too late, does no harm."""
        ...

    async def push(self, entries: Sequence[bytes], most: int | None = None) -> int:
        """Add to the end, as many as fit while the queue is no longer than `most`; how many were added."""
        ...

    async def size(self) -> int:
        """Entries that wait, those that are lent included."""
        ...


class DeadLetters(Protocol):
    """Given up because of the URL alone, told to other programs; the frontier's own line is the truth."""

    async def put(self, letters: Sequence[DeadLetter]) -> int:
        """Each once: one whose `evidence_id` was put lately is left out. How many were new."""
        ...

    async def size(self) -> int: ...
