"""Whoever holds a site visits its URLs, one after the other, until there is a reason to give it back.

A bug in here is turned into an event, and the crawl goes on: the URL is put off, as if its worker had vanished.
"""

import asyncio
import random
import traceback
from collections import deque
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.clock import SharedClock
from outrider.engine.brake import Brake, is_sign_of_life
from outrider.engine.budget import Purse
from outrider.engine.finisher import Finished, Finisher
from outrider.engine.gate import Gate
from outrider.engine.orders import Orders
from outrider.engine.story import capture_of, fetch_id, site_events
from outrider.errors import LeaseLost, StoreError
from outrider.fetch.ask import Asker
from outrider.fetch.hold import Hold, SiteSilenced
from outrider.fetch.probe import probe
from outrider.fetch.sent import RequestHeads
from outrider.fetch.timesheet import Timesheet
from outrider.fetch.visit import Haul, Visitor
from outrider.model.activity import Activity
from outrider.model.event import BugFound, Event, PageSkipped, SiteProbed, UrlDied
from outrider.model.identity import Identity
from outrider.model.lease import Lease
from outrider.model.outcome import Fetched, NotModified
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, Skip
from outrider.model.site import BreakerState
from outrider.model.task import Origin, Task
from outrider.policy.breaker import Probe, Proceed, next_step
from outrider.policy.orders import Banned, Silence, Welcome, treatment
from outrider.policy.pace import hold_until, ready_at
from outrider.policy.settle import SettleRules, settle, settle_site

PATIENCE: Final = 5.0
"""A site whose next turn is further away than this is given back: others may use its place meanwhile."""


class Tools(Struct, frozen=True):
    """What it takes to visit. `listings` is for sitemaps and feeds. `keeps_content`: somebody wants to see pages.

    `decodes`: the content store keeps pages as they are read, not as they were sent.
    """

    visitor: Visitor
    listings: Visitor
    asker: Asker
    clock: SharedClock
    settle: SettleRules
    identity: Identity
    heads: RequestHeads
    site_pages: int | None = None
    site_concurrency: int = 1
    keeps_content: bool = False
    decodes: bool = False


class _Stay:
    """One lease while it is served: what all visitors of the site share."""

    __slots__ = ("hold", "lease", "probing", "tasks", "under_way")

    def __init__(self, lease: Lease, hold: Hold) -> None:
        self.lease = lease
        self.hold = hold
        self.tasks = deque(lease.tasks)
        self.under_way = 0
        self.probing = asyncio.Lock()


class Crew:
    """`activity` is where the seconds of all visitors are summed up."""

    def __init__(
        self,
        tools: Tools,
        gate: Gate,
        finisher: Finisher,
        purse: Purse,
        brake: Brake,
        orders: Orders,
        activity: dict[Activity, float] | None = None,
    ) -> None:
        self._tools = tools
        self._activity = {} if activity is None else activity
        self._gate = gate
        self._finisher = finisher
        self._purse = purse
        self._brake = brake
        self._orders = orders
        self.in_flight = 0
        self.stopping = False

    async def serve(self, lease: Lease, hold: Hold) -> None:
        """Until its tasks are done, its site wants to be left alone, or we are to stop. Then it may be given back."""
        stay = _Stay(lease, hold)
        visitors = [self._work(stay) for _ in range(min(self._tools.site_concurrency, len(stay.tasks)))]
        if len(visitors) == 1:
            # Whose lease has ended drops the work: it stays owed, and another has the site.
            with suppress(LeaseLost):
                await visitors[0]
            return
        # All of them have to be gone before another may have the site.
        for error in await asyncio.gather(*visitors, return_exceptions=True):
            if error is not None and not isinstance(error, LeaseLost):
                raise error

    async def _work(self, stay: _Stay) -> None:
        sheet = Timesheet(self._tools.clock, self._activity)
        try:
            await self._visit_all(stay, sheet)
        finally:
            sheet.lap(Activity.OTHER)

    async def _visit_all(self, stay: _Stay, sheet: Timesheet) -> None:
        while stay.tasks and not self.stopping and (self._brake.on_trial or not self._brake.is_on):
            if not self._is_welcome(stay):
                return
            task = stay.tasks.popleft()
            try:
                if not await self._next(stay, task, sheet):
                    return
            except SiteSilenced:
                # Said while it was under way: what becomes of it is decided with the rest.
                stay.tasks.appendleft(task)

    def _is_welcome(self, stay: _Stay) -> bool:
        """Has no operator said that the site is to be left alone? What an excluded one owes ends here."""
        hold, now = stay.hold, self._tools.clock.now()
        match treatment(hold.order, now):
            case Welcome():
                return True
            case Silence(until):
                self._orders.note_silence(hold.site.key)
                hold.site = hold_until(hold.site, until)
            case Banned(skip):
                while stay.tasks:
                    self._skip(stay, stay.tasks.popleft(), skip)
        return False

    async def _next(self, stay: _Stay, task: Task, sheet: Timesheet) -> bool:
        """One more task; False when the site is to be given back."""
        if not await self._may_go_on(stay, task, sheet):
            return False
        if self._is_full(stay, task):
            return True
        if self._may_be_full(stay):
            # Who is under way may bring the last page, and sees to the rest when not.
            stay.tasks.appendleft(task)
            return False
        stay.under_way += 1
        try:
            await self._finisher.room()
            may_visit = await self._purse.take()
            sheet.lap(Activity.ROOM)
            if not may_visit:
                return False
            await self._visit(stay, task, sheet)
        finally:
            stay.under_way -= 1
        return not self._brake.is_on

    async def _may_go_on(self, stay: _Stay, task: Task, sheet: Timesheet) -> bool:
        """Is the site still ours, is it up, and is its next turn near?"""
        clock, hold = self._tools.clock, stay.hold
        is_probed = stay.probing.locked()  # by another visitor
        if is_probed:
            sheet.lap(Activity.OTHER)
        async with stay.probing:
            if is_probed:
                sheet.lap(Activity.PROBING)
            if clock.now() >= hold.until:
                return False
            step = next_step(hold.site.breaker, clock.now())
            if isinstance(step, Probe):
                try:
                    with sheet.only(Activity.PROBING):
                        await self._probe(stay.lease, hold, task, sheet)
                except StoreError:
                    raise
                except Exception as error:  # noqa: BLE001 - see `_visit`
                    self._finisher.finish(self._put_off(stay, task, error))
                    return False
                step = next_step(hold.site.breaker, clock.now())
        return isinstance(step, Proceed) and ready_at(hold.site) <= clock.now() + PATIENCE

    async def _probe(self, lease: Lease, hold: Hold, task: Task, sheet: Timesheet) -> None:
        tools, before = self._tools, hold.site
        name = fetch_id(task, tools.identity.seed)
        try:
            visit = await probe(task.url, hold.counting_apart(name, sheet), tools.asker, tools.clock, lambda: name)
        except SiteSilenced:
            # Nobody has asked: who probes next does so for the first time.
            hold.site = replace(hold.site, breaker=before.breaker)
            raise
        self._brake.hear(lease.site.key, visit)
        if self._brake.is_on and not is_sign_of_life(visit):
            hold.site = replace(hold.site, breaker=before.breaker)
            return
        url = tools.identity.hash(task.url)
        hold.site = settle_site(hold.site, visit, tools.settle, url=url, jitter=_luck())
        alive = hold.site.breaker.state is BreakerState.CLOSED
        probed = SiteProbed(at=visit.ended_at, site=lease.site.key, alive=alive)
        events = [probed, *site_events(before, hold.site, visit)]
        self._finisher.finish(Finished(lease, hold.site, events=events, traffic=hold.traffic()))

    def _is_full(self, stay: _Stay, task: Task) -> bool:
        """Enough pages of this site: exact, because nobody else fetches from it meanwhile."""
        most, site = self._tools.site_pages, stay.hold.site
        if most is None or site.fetched < most:
            return False
        self._skip(stay, task, Skip(Reason.SITE_QUOTA, f"max_site_pages={most}"))
        return True

    def _skip(self, stay: _Stay, task: Task, skip: Skip) -> None:
        """It ends without a request."""
        site, now = stay.hold.site, self._tools.clock.now()
        told = PageSkipped(at=now, url=task.url, site=site.key, reason=skip.reason, detail=skip.detail)
        self._finisher.finish(Finished(stay.lease, site, task, settlement=skip, events=[told]))

    def _may_be_full(self, stay: _Stay) -> bool:
        most = self._tools.site_pages
        return most is not None and stay.hold.site.fetched + stay.under_way >= most

    async def _visit(self, stay: _Stay, task: Task, sheet: Timesheet) -> None:
        tools, hold = self._tools, stay.hold
        finished: Finished | None = None
        self.in_flight += 1
        try:
            visitor = tools.listings if task.origin is Origin.LISTING else tools.visitor
            name = fetch_id(task, tools.identity.seed)
            haul = await visitor.visit(task, hold.counting_apart(name, sheet))
            finished = self._settled(stay.lease, hold, task, haul)
            sheet.lap(Activity.READING)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where a bug becomes an event (house style)
            finished = self._put_off(stay, task, error, permit=True)
        finally:
            self.in_flight -= 1
            if finished is None:
                self._purse.account_for(is_page=False, size=0)
        if finished is not None:
            self._finisher.finish(finished)

    def _settled(self, lease: Lease, hold: Hold, task: Task, haul: Haul) -> Finished | None:
        """None when our own network is to blame: then the task stays owed, and the site as it was."""
        tools, visit = self._tools, haul.visit
        if visit.requests:
            self._brake.hear(lease.site.key, visit)
            if self._brake.is_on and not is_sign_of_life(visit):
                return None
        before = hold.site
        url = tools.identity.hash(task.url)
        settlement, hold.site = settle(task, visit, before, tools.settle, url=url, jitter=_luck())
        found = self._gate.read(task, haul, visit.ended_at)
        capture = capture_of(task, haul, tools.heads, decoded=tools.decodes)
        size = len(capture.body) if capture is not None else 0
        if not tools.keeps_content:
            # It has been read; what the archive needs is in the capture.
            haul = replace(haul, content=b"", response=None)
            found.forget_links()
        return Finished(
            lease,
            hold.site,
            task,
            haul,
            settlement,
            found,
            capture,
            events=site_events(before, hold.site, visit),
            permit=True,
            size=size + 4_096,
            traffic=hold.traffic(),
        )

    def _put_off(self, stay: _Stay, task: Task, error: Exception, *, permit: bool = False) -> Finished:
        """After a bug of ours: it may be gone with the next version, but the crawl has to end."""
        rules, visits, now = self._tools.settle, task.visits + 1, self._tools.clock.now()
        key = stay.lease.site.key
        trace = "".join(traceback.format_exception(error, limit=-3))
        events: list[Event] = [BugFound(at=now, what=f"visiting {task.url}", error=trace, url=task.url)]
        settlement: Later | Dead
        if visits >= rules.max_visits:
            settlement = Dead(Reason.INTERNAL_ERROR, visits)
            name = fetch_id(task, self._tools.identity.seed)
            events.append(
                UrlDied(at=now, url=task.url, site=key, reason=settlement.reason, visits=visits, fetch_id=name)
            )
        else:
            due_at = now + rules.revisit_backoff
            settlement = Later(due_at, Reason.INTERNAL_ERROR, visits, task.deferrals, task.deferred_at)
        return Finished(
            stay.lease,
            stay.hold.site,
            task,
            settlement=settlement,
            events=events,
            permit=permit,
            traffic=stay.hold.traffic(),
        )


def is_page(finished: Finished) -> bool:
    """Does it count against the limits?"""
    return finished.haul is not None and isinstance(finished.haul.visit.outcome, Fetched | NotModified)


def _luck() -> float:
    return random.random()  # noqa: S311 - jitter, no secret
