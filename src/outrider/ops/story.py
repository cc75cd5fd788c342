"""The whole story of one URL, as values: what `why` gathers, and what the command line and the dashboard tell.

In JSON, names are those of the records.
"""

from enum import StrEnum

from msgspec import Struct

from outrider.model.event import RequestRetried
from outrider.model.ledger import State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.record import Decision, Record
from outrider.model.robots import RobotsStatus, RobotsVerdict
from outrider.model.site import Breaker
from outrider.model.task import Origin
from outrider.model.url import Url
from outrider.policy.admit_explained import Ruling


class Knowledge(StrEnum):
    """What the ledger knows a URL by. `records`: it does not know it, but a visit of it is on record."""

    LINE = "line"
    HASH = "hash"
    RECORDS = "records"
    NOTHING = "nothing"


class Ancestor(Struct, frozen=True, rename="camel"):
    """One page on the way from a seed. `on_record`: something is known of its own origin."""

    url: str
    origin: str = ""
    depth: int = 0
    at: str | None = None
    on_record: bool = True


class Discovery(Struct, frozen=True, rename="camel"):
    """Who proposed the URL, and on which page. `at` is when that page was fetched, or the URL was refused.

    `path` are the pages that led to it, its parent first. `is_whole`: the path goes back to where the crawl began.
    """

    origin: str
    depth: int = 0
    parent: str | None = None
    at: str | None = None
    path: tuple[Ancestor, ...] = ()
    is_whole: bool = False


class Standing(Struct, frozen=True, rename="camel"):
    """Its line in the ledger. `state` is None for a URL that was never proposed.

    `visits` are those that counted against it, `deferrals` those that were its site's fault.
    """

    known_by: Knowledge = Knowledge.NOTHING
    state: State | None = None
    name: Url | None = None
    reason: Reason | None = None
    detail: str = ""
    status: int | None = None
    of: Url | None = None
    visits: int = 0
    deferrals: int = 0
    recoveries: int = 0
    priority: int = 0
    due_at: float | None = None
    visited_at: float | None = None
    origin: Origin | None = None
    can_be_revived: bool = False


class SiteNow(Struct, frozen=True, rename="camel"):
    """Its politeness unit. `held_until` is when a worker that has it must be done; None also when nobody can say.

    `order` is what an operator has said about it, if that stands.
    """

    key: str
    is_known: bool = False
    ready_at: float = 0.0
    interval: float = 0.0
    base: float = 0.0
    breaker: Breaker = Breaker()
    alive_at: float | None = None
    admitted: int = 0
    fetched: int = 0
    set_aside: bool = False
    excluded: bool = False
    held_until: float | None = None
    order: SiteOrder | None = None


class RobotsNow(Struct, frozen=True, rename="camel"):
    """What the copy of robots.txt that the site's state holds says to this URL. `verdict` is None: nobody can say."""

    origin: str
    status: RobotsStatus
    fetched_at: float
    expires_at: float
    http_status: int | None = None
    verdict: RobotsVerdict | None = None


class Prospect(StrEnum):
    """`due`: nothing stands against a visit. `later`: something does, for a while. `blocked`: until somebody acts."""

    DUE = "due"
    UNDER_WAY = "under_way"
    LATER = "later"
    BLOCKED = "blocked"
    NEVER = "never"
    UNPROPOSED = "unproposed"


class Outlook(Struct, frozen=True, rename="camel"):
    """When will it be visited next? `because` are sentences; `remedies` say what would bring it back."""

    prospect: Prospect
    at: float | None = None
    because: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()


class Story(Struct, frozen=True, rename="camel"):
    """All that ledger and records know of one URL at the moment `at`.

    `visits` asked for it or ended there, oldest first. `retries` are the requests among them that were repeated, as far
    as events of them were kept. `rulings` are what admission would say to it now. `other` is the story of the page that
    this URL is an alias or a duplicate of.
    """

    url: Url
    at: float
    site: SiteNow
    standing: Standing
    outlook: Outlook
    discovery: Discovery | None = None
    decisions: tuple[Decision, ...] = ()
    visits: tuple[Record, ...] = ()
    retries: tuple[RequestRetried, ...] = ()
    rulings: tuple[Ruling, ...] = ()
    robots: RobotsNow | None = None
    other: "Story | None" = None
