"""Outrider inside your own program: `async with Client(contact="you@example.org") as client: await client.fetch(url)`.

One visit at a time and per site, at the site's pace, whatever the number of tasks that ask. A redirect to another site
is followed as a visit of that site.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from outrider.app import Visits, open_visits
from outrider.extract.charset import sniff_charset, to_text
from outrider.fetch.evidence import evidence, page_record
from outrider.fetch.hold import Hold
from outrider.fetch.probe import probe
from outrider.fetch.visit import Haul
from outrider.model.outcome import Failed, Failure, Fetched, Moved, NotModified, Outcome, Scope, Validators, Visit
from outrider.model.reason import Reason
from outrider.model.record import Confidence, Evidence, Page
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.breaker import Probe, StayAway, next_step
from outrider.policy.confidence import confidence
from outrider.policy.pace import fresh_pace
from outrider.policy.settle import settle, settle_site
from outrider.settings import Settings, load, require_contact

_BUDGET: Final = 300.0
"""How long one visit may take with all its waits: there is no lease here that would end it."""


class Fetch(Struct, frozen=True):
    """One page, and all that is known of how it was fetched. `visit` joins the visits of every site on the way."""

    visit: Visit
    content: bytes
    page: Page | None
    evidence: tuple[Evidence, ...]

    @property
    def outcome(self) -> Outcome:
        return self.visit.outcome

    @property
    def ok(self) -> bool:
        return isinstance(self.outcome, Fetched | NotModified)

    @property
    def url(self) -> Url:
        """Where it was found, after all redirects."""
        return self.visit.final_url

    @property
    def status(self) -> int:
        """Of the last response; 0 when there was none."""
        return self.visit.hops[-1].status if self.visit.hops else 0

    @property
    def headers(self) -> Mapping[str, str]:
        """Of the last response, names in lower case; the last of repeated ones."""
        return {name.lower(): value for name, value in self.visit.hops[-1].headers} if self.visit.hops else {}

    @property
    def text(self) -> str:
        return to_text(self.content, sniff_charset(self.content, self._charset))

    @property
    def confidence(self) -> Confidence:
        return confidence(self.outcome, self.visit.robots)

    @property
    def _charset(self) -> str | None:
        return self.outcome.body.charset if isinstance(self.outcome, Fetched) else None


class Client:
    """Settings are given by name, as in `outrider.toml`. Environment and file count too, unless `settings` is given.

    `hosts` maps names (`"*.test"`) to addresses, for tests; `ca_file` replaces the system's certificate authorities.
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        hosts: Mapping[str, Sequence[str]] | None = None,
        ca_file: str | None = None,
        **given: object,
    ) -> None:
        self._settings = settings or load(flags=given).settings
        self._hosts = hosts
        self._ca_file = ca_file
        self._stack = AsyncExitStack()
        self._sites: dict[str, Site] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._visits: Visits | None = None

    async def __aenter__(self) -> Self:
        self._visits = await self._stack.enter_async_context(
            open_visits(self._settings, hosts=self._hosts, ca_file=self._ca_file)
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def fetch(self, url: str, *, validators: Validators | None = None, scan_id: str = "") -> Fetch:
        """Visit one URL. Raises `InvalidUrl` and `ConfigError`; what the web does is in the result."""
        task = Task(Url(url), validators=validators)
        require_contact(self._settings, [task.url])
        hauls = [await self._visit(task)]
        while isinstance(moved := hauls[-1].visit.outcome, Moved):
            task = Task(moved.to, via=(*task.via, *hauls[-1].visit.hops))
            hauls.append(await self._visit(task))
        haul = _joined(hauls)
        return Fetch(haul.visit, haul.content, page_record(haul, scan_id), evidence(haul, self._settings.agent_token))

    async def _visit(self, task: Task) -> Haul:
        if self._visits is None:
            raise RuntimeError("use the client as a context manager: async with Client(...) as client")
        visits = self._visits
        key = task.url.site(self._settings.site_by)
        async with self._locks.setdefault(key, asyncio.Lock()):
            clock, rules = visits.clock, visits.settle
            site = self._sites.get(key) or Site(key, pace=fresh_pace(rules.pace))
            hold = Hold(site, clock, clock.now() + _BUDGET)
            url = visits.identity.hash(task.url)
            step = next_step(site.breaker, clock.now())
            if isinstance(step, Probe):
                probed = await probe(task.url, hold, visits.asker, clock, lambda: "probe")
                hold.site = settle_site(hold.site, probed, rules, url=url, jitter=random.random())  # noqa: S311 - no secret
                step = next_step(hold.site.breaker, clock.now())
            if isinstance(step, StayAway):
                self._sites[key] = hold.site
                return _stayed_away(task.url, clock.now(), step.until)
            haul = await visits.visitor.visit(task, hold)
            _, self._sites[key] = settle(task, haul.visit, hold.site, rules, url=url, jitter=random.random())  # noqa: S311
            return haul


def _stayed_away(url: Url, now: float, until: float) -> Haul:
    failure = Failure(
        Reason.SITE_UNREACHABLE,
        Scope.SITE,
        retry_after=until - now,
        detail=f"it failed too often; it is asked again in {until - now:.0f} s",
    )
    return Haul(Visit("", url, now, now, Failed(failure)))


def _joined(hauls: Sequence[Haul]) -> Haul:
    """One story of several visits: asked for the first URL, ended as the last one did."""
    first, last = hauls[0].visit, hauls[-1].visit
    if first is last:
        return hauls[0]
    visits = [haul.visit for haul in hauls]
    whole = replace(
        last,
        requested=first.requested,
        started_at=first.started_at,
        hops=tuple(hop for visit in visits for hop in visit.hops),
        tries=tuple(past for visit in visits for past in visit.tries),
        requests=sum(visit.requests for visit in visits),
    )
    return replace(hauls[-1], visit=whole)
