"""What is kept of a visit: one page record, and evidence for each claim in it. Field names in JSON are those of S1.

These are the shapes; building them from a `Visit` is `fetch/evidence.py`'s. `load_time` and the numbers in
`FetchTiming` are milliseconds and ISO dates because their readers expect that; everywhere else time is seconds.
"""

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from outrider.model.asked import Asked, Manners, RobotsAnswer
from outrider.model.outcome import Headers


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class PageStatus(StrEnum):
    FETCHED = "fetched"
    NOT_MODIFIED = "not_modified"
    MOVED = "moved"
    SKIPPED = "skipped"
    FAILED = "failed"


class PageMetadata(Struct, frozen=True, rename="camel"):
    """S1-16, and what C10 and C19 add. `content_length` is of the decoded bytes that were kept, else 0.

    `error` says why there is no content. `attempts` counts the requests for the page and its hops, `retries` those
    among them that repeated one that had failed. `wire_length` is of the body as sent, `content_key` names it in the
    content store. `directives` is what the page asks of robots, `links` how many it names.
    """

    status: PageStatus
    final_url: str
    content_type: str | None
    content_length: int
    redirect_count: int
    robots_blocked: bool
    confidence: Confidence
    skip_content_extraction: bool
    fetched_at: str
    error: str | None = None
    reason: str | None = None
    content_hash: str | None = None
    attempts: int = 0
    retries: int = 0
    truncated: bool = False
    wire_length: int = 0
    content_key: str | None = None
    depth: int = 0
    origin: str = ""
    parent: str | None = None
    title: str | None = None
    canonical: str | None = None
    directives: tuple[str, ...] = ()
    links: int = 0


class Page(Struct, frozen=True, rename="camel"):
    """S1-15. `fetch_id` is one per visit: a repeated write of the same visit is the same record.

    `load_time` is what the answers took, hops included, without the waits that the site's pace asked of us.
    """

    fetch_id: str
    scan_id: str
    url: str
    status_code: int
    load_time: int
    metadata: PageMetadata


class HttpResponse(Struct, frozen=True, rename="camel", tag_field="kind", tag="http_response"):
    status_code: int
    final_url: str
    content_type: str | None
    content_length: int
    redirect_count: int
    success: bool
    error: str | None = None


class HttpHeaders(Struct, frozen=True, rename="camel", tag_field="kind", tag="http_headers"):
    headers: Headers


class ChainStep(Struct, frozen=True, rename="camel"):
    url: str
    status_code: int
    location: str | None
    headers: Headers
    at: str
    address: str | None


class RedirectChain(Struct, frozen=True, rename="camel", tag_field="kind", tag="redirect_chain"):
    steps: tuple[ChainStep, ...]


class RobotsCheck(Struct, frozen=True, rename="camel", tag_field="kind", tag="robots_check"):
    """S1-20, with the evidence that DESIGN 2.4 asks for: the deciding line, its group and the file's digest."""

    allowed: bool
    confidence: Confidence
    reason: str
    disallowed_paths: tuple[str, ...] = ()
    line: int | None = None
    rule: str | None = None
    group: str | None = None
    digest: str | None = None


class FetchTiming(Struct, frozen=True, rename="camel", tag_field="kind", tag="fetch_timing"):
    """S1-21: the whole visit; then the phases of its last answer, each from the start of that request."""

    start_time: str
    end_time: str
    duration: int
    dns: float = 0.0
    connect: float = 0.0
    tls: float = 0.0
    first_byte: float = 0.0
    total: float = 0.0


class FetchError(Struct, frozen=True, rename="camel", tag_field="kind", tag="fetch_error"):
    """S1-22: `status_code` is 0 for a network error."""

    message: str
    error_type: str
    status_code: int
    reason: str


EvidenceContent: TypeAlias = HttpResponse | HttpHeaders | RedirectChain | RobotsCheck | FetchTiming | FetchError


class Evidence(Struct, frozen=True, rename="camel"):
    """One fact about one visit. `metadata` holds the few of its fields that people filter by.

    In JSON, `content.kind` is one of the six names.
    """

    fetch_id: str
    url: str
    content: EvidenceContent
    metadata: dict[str, str | int | float | bool | None]

    @property
    def kind(self) -> str:
        return str(self.content.__struct_config__.tag)


class Decision(Struct, frozen=True, rename="camel"):
    """Somebody said no to a URL: who, by which rule, on what evidence. `parent` is the page that named the URL."""

    url: str
    by: str
    reason: str
    rule: str
    evidence: str
    at: float
    parent: str | None = None


class Record(Struct, frozen=True):
    """All that is kept of one visit, written as one. Without a page when a rule of ours kept us from asking.

    `requests`, `robots` and `manners` need no visit: they are kept for audits, and are not found by a URL.
    """

    page: Page | None = None
    evidence: tuple[Evidence, ...] = ()
    decisions: tuple[Decision, ...] = ()
    requests: tuple[Asked, ...] = ()
    robots: tuple[RobotsAnswer, ...] = ()
    manners: tuple[Manners, ...] = ()


class PageFilter(Struct, frozen=True):
    """Which pages are meant; what is None does not matter. `site` is a host or a domain with all its hosts.

    `text` is a part of the URL that was asked for.
    """

    status: PageStatus | None = None
    reason: str | None = None
    status_code: int | None = None
    site: str | None = None
    since: float | None = None
    limit: int | None = None
    text: str | None = None


class PageSlice(Struct, frozen=True):
    """Some pages, the latest first. `before` is where to go on; None: that is all. See `model.ledger.Slice`."""

    pages: tuple[Page, ...]
    before: str | None = None
    looked_at: int = 0


class Tally(Struct, frozen=True):
    """How many pages are on record, by how their visit ended, and the bytes of their bodies as sent."""

    pages: dict[PageStatus, int] = {}
    bytes: int = 0
