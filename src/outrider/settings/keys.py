"""The keys: one flat list, parted into sections for the reader only. The values here are the `polite` profile.

Time is in seconds and size in bytes. A `Settings` is frozen and holds no contradiction. Where its values come from is
not its business: `load` knows.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from outrider import __version__
from outrider.policy.extensions import NON_TEXT
from outrider.settings import kinds
from outrider.settings.agent import full_agent, product_token
from outrider.settings.crawl_keys import DashboardKeys, DiscoveryKeys, LimitKeys, PlaceKeys
from outrider.settings.profiles import PROFILES
from outrider.settings.secrets import masked
from outrider.settings.section import Section

MIB: Final = 1_048_576


class AgentKeys(Section):
    """Who we are"""

    profile: Literal["polite", "service", "audit", "broad"] = Field(
        default="polite", description="The set of defaults that everything else starts from."
    )
    user_agent: kinds.Agent = Field(
        default=f"outrider/{__version__}",
        description="What we call ourselves; robots.txt is asked about the name before the /.",
    )
    contact: kinds.Contact = Field(
        default=None, description="Where a site's owner can reach you; needed for every crawl beyond this machine."
    )


class PolitenessKeys(Section):
    """Politeness"""

    delay: kinds.Seconds = Field(default=1.0, description="Shortest time between two requests to one site.")
    burst: kinds.SomeCount = Field(
        default=1, description="Requests that a rested site may get before the delay counts."
    )
    site_by: Literal["domain", "host"] = Field(
        default="domain", description="What one site is: a registrable domain or a host."
    )
    site_concurrency: kinds.SomeCount = Field(
        default=1, description="Visits in flight to one site; more than 1 is for your own sites."
    )
    concurrency: kinds.SomeCount = Field(default=500, description="Visits in flight to all sites, per worker process.")
    max_crawl_delay: kinds.Seconds = Field(
        default=300.0, description="Longest Crawl-delay obeyed; a site that asks for more is set aside."
    )
    retry_after_cap: kinds.Seconds = Field(default=86_400.0, description="Longest Retry-After believed.")
    slow_down: kinds.Growth = Field(default=2.0, description="How many times longer the delay gets with each 429.")
    slowest: kinds.SomeSeconds = Field(default=300.0, description="Longest delay that slowing down leads to.")
    recovery: kinds.Share = Field(default=0.1, description="Share of the added delay given back with each good answer.")


class VisitKeys(Section):
    """One visit"""

    timeout: kinds.SomeSeconds = Field(
        default=30.0, description="Longest time for one request, from the name to the last byte."
    )
    dns_timeout: kinds.SomeSeconds = Field(default=5.0, description="Longest wait for a name to be resolved.")
    connect_timeout: kinds.SomeSeconds = Field(default=10.0, description="Longest wait for a connection.")
    tls_timeout: kinds.SomeSeconds = Field(default=10.0, description="Longest TLS handshake.")
    first_byte_timeout: kinds.SomeSeconds = Field(
        default=20.0, description="Longest wait for the first byte of an answer."
    )
    idle_timeout: kinds.SomeSeconds = Field(default=15.0, description="Longest silence inside an answer.")
    min_rate: kinds.Count = Field(
        default=100, description="Slowest answer that is waited for, in bytes a second; 0 for any."
    )
    follow_redirects: kinds.Switch = Field(
        default=True, description="Walk redirects; off, the 3xx itself is the answer."
    )
    max_redirects: kinds.Count = Field(default=5, description="Redirects followed; N of them are N + 1 requests.")
    redirect_rewrite: Literal["any", "permanent"] = Field(
        default="any", description="Which redirects rename a page: any, or only 301 and 308."
    )
    redirect_revisits: kinds.Count = Field(default=1, description="Later visits of a URL that had too many redirects.")
    max_retries: kinds.Count = Field(default=3, description="Most retries inside one visit, of all kinds together.")
    network_retries: kinds.Count = Field(default=1, description="Retries after a failure of the network.")
    gateway_retries: kinds.Count = Field(default=2, description="Retries after a 502, 503 or 504.")
    server_error_retries: kinds.Count = Field(default=2, description="Retries after a 500 or another 5xx.")
    rate_limit_retries: kinds.Count = Field(default=1, description="Retries after a 429.")
    retry_backoff: kinds.Seconds = Field(default=2.0, description="Wait before the first retry; it doubles with each.")
    retry_wait_cap: kinds.Seconds = Field(
        default=30.0, description="Longest wait inside a visit; a longer one becomes a later visit."
    )
    http2: kinds.Switch = Field(default=True, description="Speak HTTP/2 where a site offers it.")
    proxy: kinds.Proxy = Field(default=None, description="Proxy for all requests.")
    verify_tls: kinds.Switch = Field(default=True, description="Refuse certificates that do not hold.")
    insecure_hosts: kinds.Hosts = Field(default=frozenset(), description="Hosts whose certificates are not verified.")


class RevisitKeys(Section):
    """Later visits"""

    max_visits: kinds.SomeCount = Field(
        default=3, description="Visits of a URL that fails by itself, before it is dead."
    )
    revisit_backoff: kinds.SomeSeconds = Field(
        default=60.0, description="Wait before the second visit; it doubles with each."
    )
    revisit_cap: kinds.SomeSeconds = Field(default=21_600.0, description="Longest wait between two such visits.")
    max_deferrals: kinds.Count = Field(default=30, description="Times that a URL may be put off because of its site.")
    max_recoveries: kinds.Count = Field(
        default=5, description="Times that a URL may outlive a worker that vanished with it."
    )
    recrawl_min: kinds.SomeSeconds = Field(
        default=3_600.0, description="Shortest time between two visits of a fetched page."
    )
    recrawl_max: kinds.SomeSeconds = Field(
        default=2_592_000.0, description="Longest time between two visits of a fetched page."
    )
    recrawl_first: kinds.SomeSeconds = Field(
        default=86_400.0, description="Time to the first revisit of a fetched page."
    )


class ContentKeys(Section):
    """Content"""

    max_body: kinds.Size = Field(default=10 * MIB, description="Most bytes of one body, as sent.")
    max_decoded: kinds.Size = Field(default=20 * MIB, description="Most bytes of one body, decompressed.")
    max_ratio: kinds.Factor = Field(default=200.0, description="Most that decompression may multiply a body by.")
    on_oversize: Literal["truncate", "fail"] = Field(
        default="truncate", description="What becomes of a body over those limits."
    )
    content_types: kinds.MediaTypes = Field(
        default=("text/html", "application/xhtml+xml"),
        description="Media types that are read; of others only the head is kept.",
    )


class RobotsKeys(Section):
    """robots.txt"""

    respect_robots: kinds.Switch = Field(default=True, description="Obey robots.txt.")
    robots_unreachable: Literal["defer", "allow", "deny"] = Field(
        default="defer",
        description="When robots.txt cannot be had and no copy is left: let the site wait, go on, or stay out.",
    )
    robots_blocked: Literal["skip", "status"] = Field(
        default="skip", description="A disallowed URL: no request at all, or one HEAD for its status."
    )
    robots_ttl: kinds.SomeSeconds = Field(default=86_400.0, description="How long a robots.txt is believed.")
    robots_failure_ttl: kinds.SomeSeconds = Field(
        default=300.0, description="How soon an unreachable robots.txt is asked for again."
    )
    robots_max_bytes: kinds.RobotsSize = Field(default=524_288, description="Bytes of a robots.txt that are read.")


class BreakerKeys(Section):
    """Sites that are down"""

    breaker_threshold: kinds.SomeCount = Field(
        default=5, description="Failures in a row after which a site counts as down."
    )
    breaker_backoff: kinds.SomeSeconds = Field(
        default=30.0, description="Wait before the first probe of a site that is down."
    )
    breaker_max_backoff: kinds.SomeSeconds = Field(default=300.0, description="Longest wait between two probes.")
    breaker_multiplier: kinds.Factor = Field(
        default=2.0, description="How many times longer the wait gets with each probe."
    )
    breaker_ladder: kinds.Steps = Field(
        default=(), description="The waits one by one, in place of the three keys above."
    )
    give_up_after: kinds.SecondsOrNever = Field(
        default=3_600.0, description="Time down after which a site is set aside."
    )
    give_up_probes: kinds.SomeCountOrNever = Field(
        default=12, description="Failed probes after which a site is set aside."
    )


class AdmissionKeys(Section):
    """Which URLs"""

    max_url_length: kinds.UrlLength = Field(default=2000, description="Longest URL admitted, in characters.")
    max_depth: kinds.CountOrNone = Field(default=None, description="Most links between a seed and a page.")
    scope: Literal["page", "prefix", "host", "domain", "any"] = Field(
        default="domain", description="How far from its seed a crawl goes."
    )
    include: kinds.Patterns = Field(default=(), description="When given, a URL must match one of these.")
    exclude: kinds.Patterns = Field(default=(), description="A URL that matches one of these is refused.")
    excluded_sites: kinds.Hosts = Field(default=frozenset(), description="Sites that are never visited.")
    skip_patterns: kinds.Paths = Field(default=(), description="Paths that are skipped.")
    skip_extensions: kinds.Extensions = Field(default=NON_TEXT, description="Endings of a path that promise no page.")
    site_quota: kinds.SomeCountOrNone = Field(default=None, description="Most URLs admitted for one site.")
    strip_tracking: kinds.Switch = Field(
        default=False, description="URLs that differ only in tracking parameters are one page."
    )
    sort_query: kinds.Switch = Field(
        default=False, description="URLs that differ only in the order of parameters are one page."
    )


class SafetyKeys(Section):
    """Safety"""

    allow_private: kinds.Networks = Field(
        default=(), description="Networks that are not public and may be visited all the same."
    )
    allow_ports: kinds.Ports = Field(
        default=frozenset({80, 443, 8000, 8008, 8080, 8443, 8888}), description="Ports that may be connected to."
    )


class ServiceKeys(Section):
    """The worker service"""

    redis_url: kinds.RedisUrl = Field(
        default="redis://localhost:6379", description="The service's Redis: redis://user:password@host:port/database."
    )
    kafka_servers: kinds.Servers = Field(default="localhost:9092", description="Kafka brokers to begin with.")
    input_queue: kinds.Name = Field(default="crawler_queue", description="Redis list that URLs come from.")
    dlq_queue: kinds.Name = Field(default="page_fetcher_dlq", description="Redis list that dead letters go to.")
    webpage_topic: kinds.Name = Field(default="webpage_log", description="Kafka topic that tells of fetched pages.")
    failure_topic: kinds.Name = Field(
        default="webpage_failures", description="Kafka topic that tells of pages that were not fetched, and why."
    )
    cache_ttl: kinds.SomeSeconds = Field(default=3_600.0, description="How long a fetched page stays in Redis.")
    poll_timeout: kinds.SomeSeconds = Field(
        default=5.0, description="Longest wait for a URL before the queue is asked again."
    )
    max_queue_size: kinds.SomeCount = Field(
        default=100_000, description="A queue this long gets nothing more from outrider schedule."
    )
    lease: kinds.SomeSeconds = Field(
        default=30.0,
        description="How long a site is lent to a worker at a time; one that vanishes keeps its sites for so long.",
    )
    drain_limit: kinds.SomeSeconds = Field(
        default=30.0, description="Longest time after SIGTERM for visits that are under way."
    )
    metrics_address: kinds.Listen = Field(
        default="127.0.0.1:9464", description="Where /metrics, /healthz and /readyz are served."
    )


SECTIONS: Final[tuple[type[Section], ...]] = (
    AgentKeys,
    PolitenessKeys,
    VisitKeys,
    RevisitKeys,
    ContentKeys,
    RobotsKeys,
    BreakerKeys,
    AdmissionKeys,
    DiscoveryKeys,
    LimitKeys,
    SafetyKeys,
    PlaceKeys,
    ServiceKeys,
    DashboardKeys,
)


class Settings(
    # From the last to the first: pydantic lines up the keys of the last base first.
    DashboardKeys,
    ServiceKeys,
    PlaceKeys,
    SafetyKeys,
    LimitKeys,
    DiscoveryKeys,
    AdmissionKeys,
    BreakerKeys,
    RobotsKeys,
    ContentKeys,
    RevisitKeys,
    VisitKeys,
    PolitenessKeys,
    AgentKeys,
):
    """Every key has a value. Made by `load`, or by `settings_of` in code: they say what is wrong in our own words."""

    @property
    def agent(self) -> str:
        """The User-Agent header."""
        return full_agent(self.user_agent, self.contact)

    @property
    def agent_token(self) -> str:
        """The product name that robots.txt groups are matched with."""
        return product_token(self.user_agent) or self.user_agent

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for key, value in super().__repr_args__():
            yield key, masked(value) if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _start_from_the_profile(cls, given: dict[str, object]) -> dict[str, object]:
        profile = given.get("profile")
        return {**PROFILES.get(profile, {}), **given} if isinstance(profile, str) else given

    @model_validator(mode="after")
    def _hold_no_contradiction(self) -> Self:
        found = [(one, claim, other) for one, claim, other, holds in self._contradictions() if holds]
        if found:
            raise PydanticCustomError("contradiction", "keys contradict each other", {"found": found, "settings": self})
        return self

    def _contradictions(self) -> Iterator[tuple[str, str, str, bool]]:
        """Only what cannot be meant: each would silently make one of the two keys idle."""
        longer = "is longer than"
        yield "delay", longer, "slowest", self.delay > self.slowest
        yield "burst", "means nothing with", "delay", self.burst > 1 and self.delay == 0
        yield "site_concurrency", "is more than", "concurrency", self.site_concurrency > self.concurrency
        never_retried = self.max_retries > 0 and self.retry_backoff > self.retry_wait_cap
        yield "retry_backoff", longer, "retry_wait_cap", never_retried
        yield "revisit_backoff", longer, "revisit_cap", self.revisit_backoff > self.revisit_cap
        yield "recrawl_min", longer, "recrawl_max", self.recrawl_min > self.recrawl_max
        yield "recrawl_first", "is shorter than", "recrawl_min", self.recrawl_first < self.recrawl_min
        yield "recrawl_first", longer, "recrawl_max", self.recrawl_first > self.recrawl_max
        yield (
            "max_site_pages",
            "is more than",
            "max_pages",
            (self.max_pages is not None and self.max_site_pages is not None and self.max_site_pages > self.max_pages),
        )
        ladderless = not self.breaker_ladder
        yield (
            "breaker_backoff",
            longer,
            "breaker_max_backoff",
            ladderless and (self.breaker_backoff > self.breaker_max_backoff),
        )
