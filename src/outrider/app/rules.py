"""Which setting feeds which decision: settings in, rules and limits out. Nothing else reads settings."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.engine.budget import Limits as CrawlLimits
from outrider.engine.gate import GateRules
from outrider.engine.intake import IntakeRules
from outrider.engine.worker import WorkerRules
from outrider.fetch.body import BodyLimits
from outrider.fetch.robots_txt import RobotsSettings
from outrider.fetch.transport import Limits
from outrider.fetch.visit import VisitRules
from outrider.model.asked import Manners
from outrider.model.identity import Identity
from outrider.model.url import Url
from outrider.policy.admit import AdmitRules, Reach, admit_rules
from outrider.policy.breaker import BreakerLimits
from outrider.policy.pace import PaceLimits
from outrider.policy.recrawl import RecrawlRules
from outrider.policy.redirect import RedirectRules
from outrider.policy.retry import RetryLimits
from outrider.policy.robots import Unreachable
from outrider.policy.settle import SettleRules
from outrider.policy.traps import TrapLimits
from outrider.ports import FrontierRules
from outrider.settings import Settings

LISTING_TYPES: Final = frozenset(
    {
        *("application/xml", "text/xml", "application/rss+xml", "application/atom+xml", "application/rdf+xml"),
        *("text/plain", "application/gzip", "application/x-gzip", "application/octet-stream"),
    }
)
_MIB: Final = 1_048_576
_LEAST_BODY: Final = 65_536
_BARE_SUPERVISOR: Final = 90 * _MIB
_BARE_WORKER: Final = 105 * _MIB
"""What a process takes before it has done anything, with its libraries."""
_ONE_SITE: Final = 320 * 1024
"""A site that is held: its connection with buffers, its tasks, an answer under way."""
_SUDDEN: Final = 24 * _MIB
"""What may come at once on top: hashes that are sorted, a batch that is compressed, a large page."""


class Memory(Struct, frozen=True):
    """How one worker divides what it may use, in bytes. Beyond `most` it starts no more visits.

    `new_hashes` is how many the frontier gathers before it sorts them, `sites` how many are held at once. A connection
    to the database forgets its cache whenever another has written, so `database_cache` is for one act, not for later.
    `common` is shared by all workers that were forked together, and a power of two.
    """

    waiting_to_be_written: int = 32 * _MIB
    database_cache: int = 8 * _MIB
    known: int = _MIB
    common: int = 32 * _MIB
    robots: int = 64 * _MIB
    new_hashes: int = 131_072
    sites: int | None = None
    most: int | None = None


def _power_of_two(most: int) -> int:
    return 1 << (most.bit_length() - 1)


def memory_of(settings: Settings, workers: int) -> Memory:
    """A part of what is left beside the libraries is for caches, the rest for what is under way."""
    if settings.max_memory is None:
        return Memory()
    share = (settings.max_memory - _BARE_SUPERVISOR) // workers
    free = max(share - _BARE_WORKER, 16 * _MIB)
    return Memory(
        waiting_to_be_written=min(free // 8, 32 * _MIB),
        database_cache=min(free // 16, 8 * _MIB),
        known=min(free // 40, _MIB),
        common=_power_of_two(min(free // 8, 32 * _MIB)),
        robots=min(free // 12, 64 * _MIB),
        new_hashes=min(max(free // 4_096, 4_096), 131_072),
        sites=max(free // _ONE_SITE, 8),
        most=share - _SUDDEN,
    )


def identity(settings: Settings, seed: int = 0) -> Identity:
    return Identity(seed, settings.strip_tracking, settings.sort_query)


def admission(settings: Settings, reach: Reach, seeds: Sequence[Url] = ()) -> AdmitRules:
    return admit_rules(
        reach=reach,
        seeds=seeds,
        include=settings.include,
        exclude=settings.exclude,
        skip_patterns=settings.skip_patterns,
        extensions=settings.skip_extensions,
        excluded_sites=settings.excluded_sites,
        max_length=settings.max_url_length,
        max_depth=settings.max_depth,
        site_quota=settings.site_quota,
        site_by=settings.site_by,
        traps=TrapLimits(settings.trap_repeats, settings.trap_segments, settings.trap_parameters),
    )


def listing_admission(settings: Settings, seeds: Sequence[Url]) -> AdmitRules:
    """For sitemaps and feeds: called .xml, and lying elsewhere on the host than the pages that are wanted."""
    reach = Reach(settings.scope) if seeds else Reach.ANY
    rules = admission(settings, Reach.HOST if reach is Reach.PREFIX else reach, seeds)
    return replace(rules, extensions=frozenset(), include=(), max_depth=None)


def gate_rules(settings: Settings, seeds: Sequence[Url]) -> GateRules:
    """A single page leads nowhere, so it has no listings either. Without seeds, each page is its own measure."""
    leads_on = Reach(settings.scope) is not Reach.PAGE and settings.follow_links
    return GateRules(
        admit=admission(settings, Reach(settings.scope), seeds),
        listing=listing_admission(settings, seeds),
        agent=settings.agent_token,
        sitemaps=settings.sitemaps and leads_on,
        feeds=settings.feeds and leads_on,
        nofollow=settings.respect_nofollow,
        follow=settings.follow_links,
        from_page=not seeds,
    )


def worker_rules(settings: Settings, memory: Memory) -> WorkerRules:
    return WorkerRules(
        agent=settings.agent_token,
        concurrency=min(settings.concurrency, memory.sites or settings.concurrency),
        most_bytes=memory.waiting_to_be_written,
        lease=settings.lease,
        manners=manners(settings),
    )


def manners(settings: Settings) -> Manners:
    """What goes on record with the requests, so that an audit needs nothing else to judge them by."""
    return Manners(
        agent=settings.agent_token,
        site_by=settings.site_by,
        delay=settings.delay,
        burst=settings.burst,
        site_concurrency=settings.site_concurrency,
        slow_down=settings.slow_down,
        slowest=settings.slowest,
        recovery=settings.recovery,
        max_crawl_delay=settings.max_crawl_delay,
        retry_after_cap=settings.retry_after_cap,
        breaker_backoff=settings.breaker_backoff,
        breaker_multiplier=settings.breaker_multiplier,
        breaker_max_backoff=settings.breaker_max_backoff,
        breaker_ladder=settings.breaker_ladder,
        give_up_after=settings.give_up_after,
        give_up_probes=settings.give_up_probes,
        respect_robots=settings.respect_robots,
        robots_unreachable=settings.robots_unreachable,
        robots_blocked=settings.robots_blocked,
        robots_max_bytes=settings.robots_max_bytes,
        max_redirects=settings.max_redirects,
        max_retries=settings.max_retries,
        max_body=crawl_limits(settings).body,
        max_decoded=settings.max_decoded,
        max_url_length=settings.max_url_length,
        max_depth=settings.max_depth,
        max_pages=settings.max_pages,
        max_site_pages=settings.max_site_pages,
    )


def intake_rules(settings: Settings) -> IntakeRules:
    """A batch is many URLs and several stores: it is lent for twice as long as a site."""
    admit, listing = admission(settings, Reach.ANY), listing_admission(settings, ())
    return IntakeRules(admit, listing, poll=settings.poll_timeout, lease=2 * settings.lease)


def crawl_limits(settings: Settings) -> CrawlLimits:
    """With a limit of bytes, one body may take a twentieth of it: else the first permits would be all of it."""
    size = settings.size_limit
    body = settings.max_body if size is None else min(settings.max_body, size, max(size // 20, _LEAST_BODY))
    return CrawlLimits(settings.max_pages, size, body)


def pace_limits(settings: Settings) -> PaceLimits:
    return PaceLimits(
        delay=settings.delay,
        burst=settings.burst,
        slow_down=settings.slow_down,
        slowest=settings.slowest,
        recovery=settings.recovery,
        max_crawl_delay=settings.max_crawl_delay,
        retry_after_cap=settings.retry_after_cap,
    )


def breaker_limits(settings: Settings) -> BreakerLimits:
    return BreakerLimits(
        threshold=settings.breaker_threshold,
        backoff=settings.breaker_backoff,
        multiplier=settings.breaker_multiplier,
        max_backoff=settings.breaker_max_backoff,
        ladder=settings.breaker_ladder,
        give_up_after=settings.give_up_after,
        give_up_probes=settings.give_up_probes,
    )


def retry_limits(settings: Settings) -> RetryLimits:
    return RetryLimits(
        total=settings.max_retries,
        network=settings.network_retries,
        gateway=settings.gateway_retries,
        server_error=settings.server_error_retries,
        rate_limit=settings.rate_limit_retries,
        backoff=settings.retry_backoff,
        wait_cap=settings.retry_wait_cap,
    )


def redirect_rules(settings: Settings) -> RedirectRules:
    return RedirectRules(
        follow=settings.follow_redirects,
        limit=settings.max_redirects,
        site_by=settings.site_by,
        identity=identity(settings),
    )


def settle_rules(settings: Settings) -> SettleRules:
    return SettleRules(
        max_visits=settings.max_visits,
        redirect_revisits=settings.redirect_revisits,
        max_deferrals=settings.max_deferrals,
        max_recoveries=settings.max_recoveries,
        revisit_backoff=settings.revisit_backoff,
        revisit_cap=settings.revisit_cap,
        rewrite_on_any=settings.redirect_rewrite == "any",
        pace=pace_limits(settings),
        breaker=breaker_limits(settings),
        recrawl=recrawl_rules(settings) if settings.recrawl else None,
        recrawl_sites={
            site: RecrawlRules(first=every, least=every, most=every) for site, every in settings.recrawl_sites.items()
        },
    )


def recrawl_rules(settings: Settings) -> RecrawlRules:
    return RecrawlRules(first=settings.recrawl_first, least=settings.recrawl_min, most=settings.recrawl_max)


def frontier_rules(settings: Settings) -> FrontierRules:
    return FrontierRules(
        identity=identity(settings),
        site_by=settings.site_by,
        site_quota=settings.site_quota,
        settle=settle_rules(settings),
    )


def listing_visit_rules(settings: Settings, seeds: Sequence[Url]) -> VisitRules:
    """What calls itself a listing is read whatever it says it is: `extract` looks at the bytes."""
    rules = visit_rules(settings, listing_admission(settings, seeds))
    return replace(rules, content_types=LISTING_TYPES)


def visit_rules(settings: Settings, admit: AdmitRules) -> VisitRules:
    return VisitRules(
        admit=admit,
        redirect=redirect_rules(settings),
        pace=pace_limits(settings),
        body=BodyLimits(decoded=settings.max_decoded, ratio=settings.max_ratio, on_oversize=settings.on_oversize),
        body_cap=crawl_limits(settings).body,
        content_types=frozenset(settings.content_types),
        robots_blocked=settings.robots_blocked,
    )


def robots_settings(settings: Settings, cache_bytes: int = Memory().robots) -> RobotsSettings:
    return RobotsSettings(
        cache_bytes=cache_bytes,
        agent=settings.agent_token,
        respect=settings.respect_robots,
        unreachable=Unreachable(settings.robots_unreachable),
        ttl=settings.robots_ttl,
        failure_ttl=settings.robots_failure_ttl,
        max_bytes=settings.robots_max_bytes,
    )


def transport_limits(settings: Settings) -> Limits:
    return Limits(
        connect=settings.connect_timeout,
        tls=settings.tls_timeout,
        first_byte=settings.first_byte_timeout,
        idle=settings.idle_timeout,
        total=settings.timeout,
        min_rate=settings.min_rate,
    )
