"""What a page shows and the API answers: values only, the same for both. In JSON, names are those of the records.

Instants are seconds since 1970, spans are seconds, sizes are bytes. Texts from the web are as they came: whoever puts
them on a page escapes them. Fields are added, never renamed or removed.
"""

from enum import StrEnum
from typing import Literal

from msgspec import Struct

from outrider.model.ledger import State

# ── overview ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Counted(Struct, frozen=True, rename="camel"):
    """How often something happened. `meaning` is a sentence for people; empty where the name says it all."""

    name: str
    count: int
    meaning: str = ""


class Share(Struct, frozen=True, rename="camel"):
    """What workers spend their time on: `share` is of all of it, and the shares add up to 1."""

    name: str
    seconds: float
    share: float


class States(Struct, frozen=True, rename="camel"):
    """The closed ledger: `discovered` is the sum of the six others. `leased` sites are lent to a worker."""

    discovered: int = 0
    pending: int = 0
    waiting: int = 0
    fetched: int = 0
    skipped: int = 0
    dead: int = 0
    alias: int = 0
    sites: int = 0
    leased: int = 0
    stale: int = 0


class Totals(Struct, frozen=True, rename="camel"):
    """What was done: by this run while one is watched, else all that is on record."""

    visits: int = 0
    pages: int = 0
    unchanged: int = 0
    moved: int = 0
    skipped: int = 0
    failed: int = 0
    retried: int = 0
    bytes: int = 0
    requests: int = 0
    links: int = 0
    urls: int = 0


class Point(Struct, frozen=True, rename="camel"):
    """What happened during the `seconds` before `at`; `in_flight`, `owed` and `memory` are as they were then."""

    at: float
    seconds: float
    pages: int = 0
    unchanged: int = 0
    moved: int = 0
    skipped: int = 0
    failed: int = 0
    bytes: int = 0
    in_flight: int = 0
    owed: int = 0
    memory: int = 0


class Overview(Struct, frozen=True, rename="camel"):
    """The whole of it at the moment `at`. `running` is None where nobody can say; `finish` is why it ended.

    `is_watched`: a crawl tells of itself here. Else the stores alone are known, and `in_flight`, `workers` and
    `memory` are 0. `rate` is pages a second over the last few seconds. `broken` sites are down, `held` ones are lent
    to a worker; `ordered` ones are treated as an operator said. `can_act`: orders are taken here.
    """

    at: float
    name: str
    version: str
    running: bool | None
    is_watched: bool
    can_act: bool
    started_at: float | None = None
    finish: str | None = None
    paused: str = ""
    waiting_for: str = ""
    rate: float = 0.0
    in_flight: int = 0
    held: int = 0
    broken: int = 0
    workers: int = 0
    deaths: int = 0
    memory: int = 0
    limit_pages: int | None = None
    seconds_left: float | None = None
    ordered: int = 0
    states: States = States()
    totals: Totals = Totals()
    errors: tuple[Counted, ...] = ()
    skipped: tuple[Counted, ...] = ()
    dead: tuple[Counted, ...] = ()
    activity: tuple[Share, ...] = ()
    history: tuple[Point, ...] = ()


# ── sites ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class SiteState(StrEnum):
    """The first of these that is true of a site.

    `down`: its breaker is open. `probed`: it is being asked whether it is back. `busy`: a worker has it. `slowed`: it
    asked us to wait. `queued`: it owes visits. `idle`: it owes none.
    """

    EXCLUDED = "excluded"
    PAUSED = "paused"
    SET_ASIDE = "set_aside"
    PROBED = "probed"
    DOWN = "down"
    BUSY = "busy"
    SLOWED = "slowed"
    QUEUED = "queued"
    IDLE = "idle"


class RobotsShown(Struct, frozen=True, rename="camel"):
    """One origin's robots.txt. `status` is found, missing or unreachable; `verdict` is for a story alone.

    `text` is what it says, its beginning if that is long, where one site is shown.
    """

    origin: str
    status: str
    fetched_at: float
    expires_at: float
    http_status: int | None = None
    detail: str = ""
    bytes: int = 0
    verdict: str = ""
    allowed: bool | None = None
    text: str = ""


class BreakerShown(Struct, frozen=True, rename="camel"):
    """Closed is fine. Else `probe_at` is when it is asked next, `failures` came in a row, `openings` in this outage."""

    state: Literal["closed", "open", "half_open"] = "closed"
    failures: int = 0
    openings: int = 0
    probes: int = 0
    probe_at: float | None = None
    down_since: float | None = None


class OrderShown(Struct, frozen=True, rename="camel"):
    """What an operator has said; `delay` is in place of the setting's."""

    paused: bool = False
    excluded: bool = False
    delay: float | None = None
    at: float = 0.0


class Trouble(Struct, frozen=True, rename="camel"):
    """What went wrong last, as far as it is known; without a `url` it was the whole site."""

    url: str
    at: float
    reason: str
    meaning: str = ""
    status: int = 0


class VisitRow(Struct, frozen=True, rename="camel"):
    """One visit on record. `status` is how it ended, `status_code` 0 where nobody answered."""

    url: str
    at: float
    status: str
    status_code: int = 0
    reason: str | None = None
    meaning: str = ""
    title: str | None = None
    bytes: int = 0


class SiteRow(Struct, frozen=True, rename="camel"):
    """One site. `interval` is what lies between two requests now, `base` what it comes back to.

    `ready_at` is when it may be asked next; a moment that has passed: now. `held_until` is when a worker that has it
    must be done. `set_aside`: it was down for so long that its tasks were ended. `was_excluded`: its own state says so,
    whatever an order says. `robots` is of the origin that was asked last.
    """

    key: str
    state: SiteState
    pending: int = 0
    waiting: int = 0
    admitted: int = 0
    fetched: int = 0
    interval: float = 0.0
    base: float = 0.0
    ready_at: float = 0.0
    alive_at: float | None = None
    held_until: float | None = None
    set_aside: bool = False
    was_excluded: bool = False
    breaker: BreakerShown = BreakerShown()
    robots: RobotsShown | None = None
    trouble: Trouble | None = None
    order: OrderShown | None = None


class SitePage(Struct, frozen=True, rename="camel"):
    """Some sites, as they were at `at`. `found` match, of `known` in all; `after` is where to go on, None: the end.

    `is_cut`: there are more than are looked through, and those beyond are not among them.
    """

    rows: tuple[SiteRow, ...]
    found: int
    known: int
    at: float
    after: str | None = None
    is_cut: bool = False
    states: tuple[Counted, ...] = ()


class SiteShown(Struct, frozen=True, rename="camel"):
    """One site, all of it, as it is now. `visits` are the latest, `troubles` the latest that failed."""

    at: float
    is_known: bool
    can_act: bool
    row: SiteRow
    robots: tuple[RobotsShown, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    visits: tuple[VisitRow, ...] = ()


# ── URLs ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


class UrlRow(Struct, frozen=True, rename="camel"):
    """One line of the ledger, or for what was fetched its visit on record.

    `due_at` is for what waits. `of` is the other name of an alias. `at`, `title` and `bytes` are of the visit.
    """

    url: str
    state: State
    site: str
    reason: str | None = None
    meaning: str = ""
    detail: str = ""
    status: int | None = None
    visits: int = 0
    depth: int | None = None
    due_at: float | None = None
    of: str | None = None
    at: float | None = None
    title: str | None = None
    bytes: int | None = None


class UrlPage(Struct, frozen=True, rename="camel"):
    """Some URLs. `after` is where to go on; None: that is all.

    Fewer than were asked for, even none, are not the end: a page is also over when `looked_at` lines were enough.
    """

    rows: tuple[UrlRow, ...]
    after: str | None = None
    looked_at: int = 0


# ── dead letters ──────────────────────────────────────────────────────────────────────────────────────────────────────


class LetterPage(Struct, frozen=True, rename="camel"):
    """Given up because of the URL alone. `counts` are of all of them by reason, whatever the filter."""

    rows: tuple[UrlRow, ...]
    counts: tuple[Counted, ...]
    total: int
    can_act: bool
    after: str | None = None
    looked_at: int = 0


class Acted(Struct, frozen=True, rename="camel"):
    """What became of what was asked: so many were `done`; the others were not there, or somebody else was first."""

    asked: int
    done: int = 0


# ── settings ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class SettingRow(Struct, frozen=True, rename="camel"):
    """`value` is as one would write it, without passwords; `source` is where it came from."""

    key: str
    value: str
    source: str
    meaning: str
    takes: str


class SettingSection(Struct, frozen=True, rename="camel"):
    title: str
    rows: tuple[SettingRow, ...]


class SettingsShown(Struct, frozen=True, rename="camel"):
    profile: str
    sections: tuple[SettingSection, ...]


class Wrong(Struct, frozen=True, rename="camel"):
    """What went wrong, in a sentence. `code` is a word for programs."""

    error: str
    code: str
