"""Settlement → Event: facts in the past tense. Logs, metrics, Kafka, progress and dashboard only listen.

Every event has `type` and `at`. Fields are added, never renamed or removed.
"""

from typing import ClassVar, TypeAlias

from msgspec import Struct

from outrider.model.outcome import Scope
from outrider.model.reason import Reason
from outrider.model.url import Url


class _Event(Struct, frozen=True, tag_field="type", kw_only=True):
    version: ClassVar[int] = 1
    at: float


class UrlAdmitted(_Event, frozen=True, tag="url_admitted"):
    url: Url
    site: str


class UrlRefused(_Event, frozen=True, tag="url_refused"):
    """Admission said no: by `rule`, on `evidence`."""

    url: Url
    reason: Reason
    rule: str
    evidence: str = ""


class EntryRefused(_Event, frozen=True, tag="entry_refused"):
    """What somebody put into the queue is no URL that could be visited: it became a dead letter."""

    entry: str
    reason: Reason
    detail: str = ""


class PageFetched(_Event, frozen=True, tag="webpage_fetched"):
    """S4-14, with both ends of the redirects (C10). `fetched_at` is ISO 8601 with its zone (H4-10).

    `url` is what this visit asked for, and what the key is made of; `requested_url` is where the redirects began, which
    may be on another site. `charset` is of the content; `depth`, `origin` and `directives` (of the answer's header) are
    for whoever follows links.
    """

    url: Url
    requested_url: Url
    final_url: Url
    site: str
    status_code: int
    content_type: str | None
    content_length: int
    content_hash: str
    fetched_at: str
    cache_key: str = ""
    fetch_id: str = ""
    depth: int = 0
    origin: str = ""
    directives: tuple[str, ...] = ()
    charset: str | None = None


class PageUnchanged(_Event, frozen=True, tag="page_unchanged"):
    url: Url
    site: str
    fetch_id: str = ""


class PageMoved(_Event, frozen=True, tag="page_moved"):
    url: Url
    site: str
    to: Url
    fetch_id: str = ""


class PageSkipped(_Event, frozen=True, tag="page_skipped"):
    url: Url
    site: str
    reason: Reason
    detail: str = ""
    fetch_id: str = ""


class PageFailed(_Event, frozen=True, tag="page_failed"):
    """This visit failed, by the fault of `scope` (S4-15). `due_at` is when the next one is owed, if one is."""

    url: Url
    site: str
    reason: Reason
    status: int | None = None
    due_at: float | None = None
    detail: str = ""
    scope: Scope = Scope.URL
    fetch_id: str = ""


class UrlDied(_Event, frozen=True, tag="url_died"):
    """A dead letter was written. `detail` is the last error, `fetch_id` names the evidence of the last visit."""

    url: Url
    site: str
    reason: Reason
    visits: int
    status: int | None = None
    detail: str = ""
    fetch_id: str = ""


class RequestRetried(_Event, frozen=True, tag="request_retried"):
    url: Url
    site: str
    reason: Reason
    wait: float


class SiteWentDown(_Event, frozen=True, tag="site_went_down"):
    """The breaker opened, or opened again after a failed probe."""

    site: str
    reason: Reason
    probe_at: float
    openings: int


class SiteProbed(_Event, frozen=True, tag="site_probed"):
    site: str
    alive: bool


class SiteCameBack(_Event, frozen=True, tag="site_came_back"):
    site: str
    down_since: float


class SiteSlowedDown(_Event, frozen=True, tag="site_slowed_down"):
    """It asked us to wait (429, or 503 with Retry-After)."""

    site: str
    interval: float
    not_before: float


class SiteSetAside(_Event, frozen=True, tag="site_set_aside"):
    """Down for so long that its tasks were ended; `revive` brings them back."""

    site: str
    reason: Reason
    down_since: float


class SiteOrdered(_Event, frozen=True, tag="site_ordered"):
    """An operator has said how a site is to be treated from now on; `by` is how they said it."""

    site: str
    paused: bool = False
    excluded: bool = False
    delay: float | None = None
    by: str = ""


class UrlReplayed(_Event, frozen=True, tag="url_replayed"):
    """An operator owes it a visit again, with fresh counts; `reason` is why it had ended."""

    url: Url
    site: str
    reason: Reason
    by: str = ""


class UrlDismissed(_Event, frozen=True, tag="url_dismissed"):
    """An operator wants no more visits of it, for this reason."""

    url: Url
    site: str
    reason: Reason
    by: str = ""


class CrawlStarted(_Event, frozen=True, tag="crawl_started"):
    """`resumed`: it goes on with what an earlier run left."""

    workers: int
    resumed: bool


class CrawlPaused(_Event, frozen=True, tag="crawl_paused"):
    """Nothing is asked for the time being: our own network is down, or a store is away."""

    cause: str


class CrawlResumed(_Event, frozen=True, tag="crawl_resumed"):
    cause: str


class CrawlFinished(_Event, frozen=True, tag="crawl_finished"):
    """`finish` is why it ended: `finished`, or the limit or signal that stopped it."""

    finish: str
    pages: int
    seconds: float


class WorkerVanished(_Event, frozen=True, tag="worker_vanished"):
    """A worker process died. What it held is lent again once its leases run out; nothing is lost."""

    worker: int
    exit_code: int


class BugFound(_Event, frozen=True, tag="bug_found"):
    """We failed, not the web: what was to be done, and the error. The URL is put off, and the crawl goes on."""

    what: str
    error: str
    url: Url | None = None


Event: TypeAlias = (
    UrlAdmitted
    | UrlRefused
    | EntryRefused
    | PageFetched
    | PageUnchanged
    | PageMoved
    | PageSkipped
    | PageFailed
    | UrlDied
    | RequestRetried
    | SiteWentDown
    | SiteProbed
    | SiteCameBack
    | SiteSlowedDown
    | SiteSetAside
    | SiteOrdered
    | UrlReplayed
    | UrlDismissed
    | CrawlStarted
    | CrawlPaused
    | CrawlResumed
    | CrawlFinished
    | WorkerVanished
    | BugFound
)
