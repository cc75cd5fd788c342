"""What it takes to visit URLs, opened in the order of their journey."""

import random
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from outrider.app.rules import (
    Memory,
    admission,
    identity,
    pace_limits,
    retry_limits,
    robots_settings,
    settle_rules,
    transport_limits,
    visit_rules,
)
from outrider.clock import SystemClock
from outrider.fetch.ask import Asker
from outrider.fetch.guard import Guard
from outrider.fetch.resolver import Resolver
from outrider.fetch.robots_txt import RobotsTexts
from outrider.fetch.transport import CurlTransport, Pin
from outrider.fetch.visit import Visitor
from outrider.model.identity import Identity
from outrider.model.url import Url
from outrider.policy.address import AddressRules
from outrider.policy.admit import AdmitRules, Reach
from outrider.policy.settle import SettleRules
from outrider.ports import Clock, Transport
from outrider.settings import Settings


class Visits(Struct, frozen=True):
    """What it takes to visit URLs; `settle` is for whoever holds the sites."""

    visitor: Visitor
    asker: Asker
    robots: RobotsTexts
    clock: Clock
    settle: SettleRules
    identity: Identity


@asynccontextmanager
async def open_transport(
    settings: Settings,
    clock: Clock,
    *,
    hosts: Mapping[str, Sequence[str]] | None = None,
    ca_file: str | None = None,
) -> AsyncIterator[Transport]:
    """Names resolved by us, every address judged, connections only to what was judged.

    `hosts` answers for names that the DNS does not know, beside those of the settings; the guard judges those too.
    """
    hosts = {**settings.hosts, **(hosts or {})}
    ca_file = ca_file or settings.ca_file
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


def visits_over(
    transport: Transport, settings: Settings, clock: Clock, admit: AdmitRules, robots_cache: int = Memory().robots
) -> Visits:
    """The same over any transport, such as a `ScriptedSite`."""
    asker = Asker(transport, clock, retry_limits(settings), random.random, pace_limits(settings))
    robots = RobotsTexts(asker, clock, robots_settings(settings, robots_cache))
    visitor = Visitor(asker, robots, clock, visit_rules(settings, admit), new_fetch_id)
    return Visits(visitor, asker, robots, clock, settle_rules(settings), identity(settings))


def new_fetch_id() -> str:
    return secrets.token_hex(12)
