"""Outrider inside your own program: `async with Client(contact="you@example.org") as client: await client.fetch(url)`.

As many fetches at once as you like, from as many tasks: of one site they are made one after the other and at its pace,
of different sites side by side, `concurrency` at most. A redirect to another site is followed as a visit of that site.
"""

import asyncio
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import islice
from types import TracebackType
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from outrider.app import Visits, admission, new_fetch_id, open_visits, visits_over
from outrider.clock import SystemClock
from outrider.errors import ConfigError
from outrider.extract.charset import sniff_charset, to_text
from outrider.fetch.evidence import error_message, evidence, final_url, last_answer, page_record, status_code
from outrider.fetch.hold import Hold
from outrider.fetch.probe import probe
from outrider.fetch.visit import Haul
from outrider.model.outcome import Failed, Failure, Fetched, Moved, NotModified, Outcome, Scope, Validators, Visit
from outrider.model.reason import Reason
from outrider.model.record import Confidence, Evidence, Page
from outrider.model.site import Site
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy.admit import Reach
from outrider.policy.breaker import Probe, StayAway, next_step
from outrider.policy.confidence import confidence
from outrider.policy.pace import fresh_pace, ready_at
from outrider.policy.settle import settle, settle_site
from outrider.ports import Clock, Transport
from outrider.settings import Settings, load, require_contact

_BUDGET: Final = 300.0
"""How long one visit may take with all its waits: there is no lease here that would end it."""

MOST_SITES: Final = 10_000
"""How many sites a client remembers, unless more of them are in use or must not be asked yet."""


class Fetch(Struct, frozen=True):
    """One page, and all that is known of how it was fetched. `visit` joins the visits of every site on the way.

    `page` and `evidence` are the records of S1; both are empty for a URL that a rule of yours kept us from asking for.
    """

    visit: Visit
    content: bytes
    page: Page | None
    evidence: tuple[Evidence, ...]

    def __repr__(self) -> str:
        what = self.error or f"{type(self.outcome).__name__}, {len(self.content)} bytes"
        return f"<Fetch {self.status} {self.url} {what}>"

    @property
    def outcome(self) -> Outcome:
        return self.visit.outcome

    @property
    def ok(self) -> bool:
        """A 2xx with content, or a 304 that was asked for."""
        return isinstance(self.outcome, Fetched | NotModified)

    @property
    def error(self) -> str | None:
        """Why it is not `ok`: the reason, and what is known of it."""
        return error_message(self.visit)

    @property
    def retry_after(self) -> float | None:
        """Seconds after which it may be worth asking again, when that is known."""
        return self.outcome.failure.retry_after if isinstance(self.outcome, Failed) else None

    @property
    def url(self) -> Url:
        """Where it was found, after all redirects."""
        return final_url(self.visit)

    @property
    def status(self) -> int:
        """Of the last response; 0 when there was none."""
        return status_code(self.visit)

    @property
    def headers(self) -> Mapping[str, str]:
        """Of the last response, names in lower case, repeated ones joined (RFC 9110 5.3)."""
        answer = last_answer(self.visit)
        joined: dict[str, str] = {}
        for name, value in answer.headers if answer else ():
            key = name.lower()
            joined[key] = f"{joined[key]}, {value}" if key in joined else value
        return joined

    @property
    def text(self) -> str:
        charset = self.outcome.body.charset if isinstance(self.outcome, Fetched) else None
        return to_text(self.content, sniff_charset(self.content, charset))

    @property
    def validators(self) -> Validators | None:
        """For the next `fetch` of the same page, which then costs no body if nothing has changed."""
        return self.outcome.validators if isinstance(self.outcome, Fetched | NotModified) else None

    @property
    def robots_allowed(self) -> bool | None:
        """None when robots.txt could not be had, or the visit ended before it was asked."""
        return self.visit.robots.allowed if self.visit.robots else None

    @property
    def confidence(self) -> Confidence:
        return confidence(self.outcome, self.visit.robots)

    @property
    def elapsed(self) -> float:
        """Seconds, our own polite waits included; `page.load_time` is what the answers took."""
        return self.visit.ended_at - self.visit.started_at


class Sites:
    """What a client knows of sites, each lent to one fetch at a time, first come, first served.

    The least recently used is forgotten first, but never one that is in use or must not be asked yet: to forget it
    would be to ask it too soon.
    """

    class Lent:
        def __init__(self, site: Site) -> None:
            self.site = site
            self.users = 0
            self.lock = asyncio.Lock()

    def __init__(self, most: int = MOST_SITES) -> None:
        self._most = most
        self._sites: OrderedDict[str, Sites.Lent] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sites)

    @asynccontextmanager
    async def lend(self, new: Site, now: Callable[[], float]) -> AsyncIterator[Lent]:
        """Wait for the site of this key; `new` is what it is when it is not known yet."""
        lent = self._sites.setdefault(new.key, self.Lent(new))
        if not lent.users:
            lent.lock = asyncio.Lock()  # a client may be opened again, and in another event loop
        lent.users += 1
        try:
            async with lent.lock:
                yield lent
        finally:
            lent.users -= 1
            self._sites.move_to_end(new.key)
            self._forget(now())

    def _forget(self, now: float) -> None:
        excess = len(self._sites) - self._most
        # Two looks for each one too many: what must stay is passed over, and a long list is never walked at once.
        for key in tuple(islice(self._sites, max(0, 2 * excess))):
            lent = self._sites[key]
            if lent.users or ready_at(lent.site) > now:
                self._sites.move_to_end(key)
            elif len(self._sites) > self._most:
                del self._sites[key]


class Client:
    """Settings are given by name, as in `outrider.toml`. Environment and file count too, unless `settings` is given.

    A key that nobody knows, or a value that cannot be, is a `ConfigError`. For tests: `hosts` maps names (`"*.test"`)
    to addresses, `ca_file` replaces the system's certificate authorities, and `transport` (a `ScriptedSite`) with
    `clock` (a `FakeClock`) replaces the network altogether.
    """

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        hosts: Mapping[str, Sequence[str]] | None = None,
        ca_file: str | None = None,
        transport: Transport | None = None,
        clock: Clock | None = None,
        **given: object,
    ) -> None:
        if settings is not None and given:
            raise ConfigError(f"{', '.join(given)}: either settings, or keys by name")
        if transport is not None and (hosts or ca_file):
            raise ConfigError("hosts and ca_file mean nothing with a transport of your own")
        self._settings = settings or load(flags=given).settings
        self._hosts = hosts
        self._ca_file = ca_file
        self._transport = transport
        self._clock = clock or SystemClock()
        self._stack = AsyncExitStack()
        self._sites = Sites()
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        self._visits: Visits | None = None

    async def __aenter__(self) -> Self:
        if self._visits is not None:
            raise RuntimeError("this client is open already")
        self._slots = asyncio.Semaphore(self._settings.concurrency)
        if self._transport is not None:
            admit = admission(self._settings, Reach.ANY)
            self._visits = visits_over(self._transport, self._settings, self._clock, admit)
        else:
            opening = open_visits(self._settings, clock=self._clock, hosts=self._hosts, ca_file=self._ca_file)
            self._visits = await self._stack.enter_async_context(opening)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Requests that are still in flight end as failures. What is known of sites is kept, should it open again."""
        self._visits = None
        await self._stack.aclose()

    async def fetch(self, url: str, *, validators: Validators | None = None, scan_id: str = "") -> Fetch:
        """Visit one URL, through all its redirects. What the web does is in the result, never an exception.

        `validators` of an earlier fetch make it conditional; `scan_id` goes into the page record. A site that is down,
        or that asked to be left alone for long, is not waited for: the result's `retry_after` says when to come back.

        Raises `InvalidUrl` for text that is no http or https URL, `ConfigError` when the way leads off this machine and
        nobody could reach you (`contact`), and `RuntimeError` outside of `async with`.
        """
        if self._visits is None:
            raise RuntimeError("the client is not open; use it as `async with Client(...) as client:`")
        visits = self._visits
        task = Task(Url(url), validators=validators)
        hauls: list[Haul] = []
        while True:
            require_contact(self._settings, [task.url])
            hauls.append(await self._visit(task, visits))
            moved = hauls[-1].visit.outcome
            if not isinstance(moved, Moved):
                break
            task = Task(moved.to, via=(*task.via, *hauls[-1].visit.hops))
        haul = _joined(hauls)
        return Fetch(haul.visit, haul.content, page_record(haul, scan_id), evidence(haul, self._settings.agent_token))

    async def _visit(self, task: Task, visits: Visits) -> Haul:
        new = Site(task.url.site(self._settings.site_by), pace=fresh_pace(visits.settle.pace))
        # The site first, then a slot: whoever waits for a site keeps nobody from visiting others.
        async with self._sites.lend(new, visits.clock.now) as lent, self._slots:
            hold = Hold(lent.site, visits.clock, visits.clock.now() + _BUDGET)
            try:
                return await _visit_held(task, hold, visits)
            finally:
                # Also when cancelled: the request may have been sent. Files of robots.txt have a bounded cache of
                # their own.
                lent.site = replace(hold.site, robots=())


async def _visit_held(task: Task, hold: Hold, visits: Visits) -> Haul:
    clock, rules = visits.clock, visits.settle
    url = visits.identity.hash(task.url)
    step = next_step(hold.site.breaker, clock.now())
    if isinstance(step, Probe):
        probed = await probe(task.url, hold, visits.asker, clock, new_fetch_id)
        hold.site = settle_site(hold.site, probed, rules, url=url, jitter=random.random())  # noqa: S311 - no secret
        step = next_step(hold.site.breaker, clock.now())
    now = clock.now()
    if isinstance(step, StayAway):
        return _put_off(task.url, now, step.until, Reason.SITE_UNREACHABLE, "it failed too often")
    if ready_at(hold.site) > now + _BUDGET:
        return _put_off(task.url, now, ready_at(hold.site), Reason.RATE_LIMITED, "it asked to be left alone")
    haul = await visits.visitor.visit(task, hold)
    if haul.visit.requests:  # without a request, nothing was learned about the site
        _, hold.site = settle(task, haul.visit, hold.site, rules, url=url, jitter=random.random())  # noqa: S311
    return haul


def _put_off(url: Url, now: float, until: float, reason: Reason, why: str) -> Haul:
    wait = until - now
    detail = f"{why}; it is asked again in {wait:.0f} s"
    failure = Failure(reason, Scope.SITE, transient=True, retry_after=wait, detail=detail)
    return Haul(Visit(new_fetch_id(), url, now, now, Failed(failure)))


def _joined(hauls: Sequence[Haul]) -> Haul:
    """One story of several visits: asked for the first URL, ended as the last one did."""
    if len(hauls) == 1:
        return hauls[0]
    visits = [haul.visit for haul in hauls]
    whole = replace(
        visits[-1],
        requested=visits[0].requested,
        started_at=visits[0].started_at,
        hops=tuple(hop for visit in visits for hop in visit.hops),
        tries=tuple(past for visit in visits for past in visit.tries),
        requests=sum(visit.requests for visit in visits),
    )
    return replace(hauls[-1], visit=whole)
