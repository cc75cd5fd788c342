"""The composition root: settings in, working objects out, in the order of a URL's journey. Nothing else reads settings.

`…_rules` and `…_limits` say which setting feeds which decision; `open_visits` opens what a visit needs.
"""

import random
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from outrider.clock import SystemClock
from outrider.fetch.ask import Asker
from outrider.fetch.body import BodyLimits
from outrider.fetch.guard import Guard
from outrider.fetch.resolver import Resolver
from outrider.fetch.robots_txt import RobotsSettings, RobotsTexts
from outrider.fetch.transport import CurlTransport, Limits, Pin
from outrider.fetch.visit import Visitor, VisitRules
from outrider.model.identity import Identity
from outrider.model.url import Url
from outrider.policy.address import AddressRules
from outrider.policy.admit import AdmitRules, Reach, admit_rules
from outrider.policy.breaker import BreakerLimits
from outrider.policy.pace import PaceLimits
from outrider.policy.redirect import RedirectRules
from outrider.policy.retry import RetryLimits
from outrider.policy.robots import Unreachable
from outrider.policy.settle import SettleRules
from outrider.ports import Clock, FrontierRules, Transport
from outrider.settings import Settings


class Visits(Struct, frozen=True):
    """What it takes to visit URLs; `settle` and `pace` are for whoever holds the sites."""

    visitor: Visitor
    asker: Asker
    robots: RobotsTexts
    clock: Clock
    settle: SettleRules
    identity: Identity


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
    )


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
    )


def frontier_rules(settings: Settings) -> FrontierRules:
    return FrontierRules(
        identity=identity(settings),
        site_by=settings.site_by,
        site_quota=settings.site_quota,
        settle=settle_rules(settings),
    )


def visit_rules(settings: Settings, admit: AdmitRules) -> VisitRules:
    return VisitRules(
        admit=admit,
        redirect=redirect_rules(settings),
        pace=pace_limits(settings),
        body=BodyLimits(decoded=settings.max_decoded, ratio=settings.max_ratio, on_oversize=settings.on_oversize),
        body_cap=settings.max_body,
        content_types=frozenset(settings.content_types),
        robots_blocked=settings.robots_blocked,
    )


def robots_settings(settings: Settings) -> RobotsSettings:
    return RobotsSettings(
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


@asynccontextmanager
async def open_transport(
    settings: Settings,
    clock: Clock,
    *,
    hosts: Mapping[str, Sequence[str]] | None = None,
    ca_file: str | None = None,
) -> AsyncIterator[Transport]:
    """Names resolved by us, every address judged, connections only to what was judged.

    `hosts` answers for names that the DNS does not know, as tests and the demo need; the guard judges those too.
    """
    rules = AddressRules(
        allow_private=tuple(map(str, settings.allow_private)), allow_ports=frozenset(settings.allow_ports)
    )
    async with Resolver(clock, hosts=hosts, timeout=settings.dns_timeout) as resolver:
        guard = Guard(resolver, rules)

        async def resolve(url: Url) -> Pin:
            return Pin(await guard.pin(url))

        def recall(url: Url) -> Pin | None:
            known = guard.recall(url)
            return None if known is None else Pin(known)

        async with CurlTransport(
            resolve,
            transport_limits(settings),
            user_agent=settings.agent,
            check_address=guard.approves,
            recall=recall,
            http2=settings.http2,
            verify=lambda url: settings.verify_tls and url.host not in settings.insecure_hosts,
            ca_file=ca_file,
            proxy=settings.proxy,
        ) as transport:
            yield transport


@asynccontextmanager
async def open_visits(
    settings: Settings,
    *,
    admit: AdmitRules | None = None,
    clock: Clock | None = None,
    hosts: Mapping[str, Sequence[str]] | None = None,
    ca_file: str | None = None,
) -> AsyncIterator[Visits]:
    clock = clock or SystemClock()
    async with open_transport(settings, clock, hosts=hosts, ca_file=ca_file) as transport:
        yield visits_over(transport, settings, clock, admit or admission(settings, Reach.ANY))


def visits_over(transport: Transport, settings: Settings, clock: Clock, admit: AdmitRules) -> Visits:
    """The same over any transport, such as a `ScriptedSite`."""
    asker = Asker(transport, clock, retry_limits(settings), random.random, pace_limits(settings))
    robots = RobotsTexts(asker, clock, robots_settings(settings))
    visitor = Visitor(asker, robots, clock, visit_rules(settings, admit), new_fetch_id)
    return Visits(visitor, asker, robots, clock, settle_rules(settings), identity(settings))


def new_fetch_id() -> str:
    return secrets.token_hex(12)
