"""Whoever holds a site visits its URLs, one after the other, until there is a reason to give it back.

A bug in here is turned into an event, and the crawl goes on: the URL is put off, as if its worker had vanished.
"""

import asyncio
import random
import traceback
from collections import deque
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.engine.brake import Brake, is_sign_of_life
from outrider.engine.budget import Purse
from outrider.engine.finisher import Finished, Finisher
from outrider.engine.gate import Gate
from outrider.engine.story import capture_of, fetch_id, site_events
from outrider.errors import StoreError
from outrider.fetch.ask import Asker
from outrider.fetch.hold import Hold
from outrider.fetch.probe import probe
from outrider.fetch.sent import RequestHeads
from outrider.fetch.visit import Haul, Visitor
from outrider.model.event import BugFound, Event, SiteProbed
from outrider.model.identity import Identity
from outrider.model.lease import Lease
from outrider.model.outcome import Fetched, NotModified
from outrider.model.reason import Reason
from outrider.model.settlement import Dead, Later, Skip
from outrider.model.site import BreakerState
from outrider.model.task import Origin, Task
from outrider.policy.breaker import Probe, StayAway, next_step
from outrider.policy.pace import ready_at
from outrider.policy.settle import SettleRules, settle, settle_site
from outrider.ports import Clock

PATIENCE: Final = 5.0
"""A site whose next turn is further away than this is given back: others may use its place meanwhile."""


class Tools(Struct, frozen=True):
    """What it takes to visit. `listings` is for sitemaps and feeds. `keeps_content`: somebody wants to see pages."""

    visitor: Visitor
    listings: Visitor
    asker: Asker
    clock: Clock
    settle: SettleRules
    identity: Identity
    heads: RequestHeads
    site_pages: int | None = None
    site_concurrency: int = 1
    keeps_content: bool = False


class Crew:
    def __init__(self, tools: Tools, gate: Gate, finisher: Finisher, purse: Purse, brake: Brake) -> None:
        self._tools = tools
        self._gate = gate
        self._finisher = finisher
        self._purse = purse
        self._brake = brake
        self.in_flight = 0
        self.stopping = False

    async def serve(self, lease: Lease, hold: Hold) -> None:
        """Until its tasks are done, its site wants to be left alone, or we are to stop. Then the site is given back."""
        tasks = deque(lease.tasks)
        try:
            visitors = [self._work(lease, hold, tasks) for _ in range(min(self._tools.site_concurrency, len(tasks)))]
            if len(visitors) == 1:
                await visitors[0]
            else:
                await asyncio.gather(*visitors)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where a bug becomes an event (house style)
            self._report(error, lease.site.key, None)
        finally:
            # Also when cancelled: requests may have been sent, and their pause has to be kept.
            self._finisher.finish(Finished(lease, hold.site, last=True))

    async def _work(self, lease: Lease, hold: Hold, tasks: deque[Task]) -> None:
        while tasks and not self.stopping and (self._brake.on_trial or not self._brake.is_on):
            task = tasks.popleft()
            if not await self._may_go_on(lease, hold, task):
                return
            if self._is_full(lease, hold, task):
                continue
            await self._finisher.room()
            if not await self._purse.take():
                return
            await self._visit(lease, hold, task)
            if self._brake.is_on:
                return

    async def _may_go_on(self, lease: Lease, hold: Hold, task: Task) -> bool:
        """Is the site up, and is its next turn near?"""
        clock = self._tools.clock
        step = next_step(hold.site.breaker, clock.now())
        if isinstance(step, Probe):
            await self._probe(lease, hold, task)
            step = next_step(hold.site.breaker, clock.now())
        return not isinstance(step, StayAway) and ready_at(hold.site) <= clock.now() + PATIENCE

    async def _probe(self, lease: Lease, hold: Hold, task: Task) -> None:
        tools, before = self._tools, hold.site
        visit = await probe(task.url, hold, tools.asker, tools.clock, lambda: fetch_id(task, tools.identity.seed))
        self._brake.hear(lease.site.key, visit)
        if self._brake.is_on and not is_sign_of_life(visit):
            hold.site = replace(hold.site, breaker=before.breaker)
            return
        url = tools.identity.hash(task.url)
        hold.site = settle_site(hold.site, visit, tools.settle, url=url, jitter=_luck())
        alive = hold.site.breaker.state is BreakerState.CLOSED
        probed = SiteProbed(at=visit.ended_at, site=lease.site.key, alive=alive)
        self._finisher.finish(Finished(lease, hold.site, events=[probed, *site_events(before, hold.site, visit)]))

    def _is_full(self, lease: Lease, hold: Hold, task: Task) -> bool:
        """Enough pages of this site: exact, because nobody else fetches from it meanwhile."""
        most = self._tools.site_pages
        if most is None or hold.site.fetched < most:
            return False
        skip = Skip(Reason.SITE_QUOTA, f"max_site_pages={most}")
        self._finisher.finish(Finished(lease, hold.site, task, settlement=skip))
        return True

    async def _visit(self, lease: Lease, hold: Hold, task: Task) -> None:
        tools = self._tools
        finished: Finished | None = None
        self.in_flight += 1
        try:
            visitor = tools.listings if task.origin is Origin.LISTING else tools.visitor
            haul = await visitor.visit(task, hold)
            finished = self._settled(lease, hold, task, haul)
        except asyncio.CancelledError:
            raise
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - see above
            self._report(error, lease.site.key, task)
            finished = Finished(lease, hold.site, task, settlement=self._put_off(task), permit=True)
        finally:
            self.in_flight -= 1
            if finished is None:
                self._purse.account_for(is_page=False, size=0)
        if finished is not None:
            self._finisher.finish(finished)

    def _settled(self, lease: Lease, hold: Hold, task: Task, haul: Haul) -> Finished | None:
        """None when our own network is to blame: then the task stays owed, and the site as it was."""
        tools = self._tools
        visit = replace(haul.visit, id=fetch_id(task, tools.identity.seed))
        haul = replace(haul, visit=visit)
        if visit.requests:
            self._brake.hear(lease.site.key, visit)
            if self._brake.is_on and not is_sign_of_life(visit):
                return None
        before = hold.site
        url = tools.identity.hash(task.url)
        settlement, hold.site = settle(task, visit, before, tools.settle, url=url, jitter=_luck())
        found = self._gate.read(task, haul, visit.ended_at)
        capture = capture_of(task, haul, tools.heads)
        size = len(capture.body) if capture is not None else 0
        if not tools.keeps_content:
            # It has been read; what the archive needs is in the capture.
            haul = replace(haul, content=b"", response=None)
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
        )

    def _put_off(self, task: Task) -> Later | Dead:
        """After a bug of ours: it may be gone with the next version, but the crawl has to end."""
        rules, visits = self._tools.settle, task.visits + 1
        if visits >= rules.max_visits:
            return Dead(Reason.INTERNAL_ERROR, visits)
        due_at = self._tools.clock.now() + rules.revisit_backoff
        return Later(due_at, Reason.INTERNAL_ERROR, visits, task.deferrals, task.deferred_at)

    def _report(self, error: Exception, site: str, task: Task | None) -> None:
        what = f"visiting {task.url if task else site}"
        bug: Event = BugFound(
            at=self._tools.clock.now(),
            what=what,
            error="".join(traceback.format_exception(error, limit=-3)),
            url=task.url if task else None,
        )
        self._finisher.tell(bug)


def is_page(finished: Finished) -> bool:
    """Does it count against the limits?"""
    return finished.haul is not None and isinstance(finished.haul.visit.outcome, Fetched | NotModified)


def _luck() -> float:
    return random.random()  # noqa: S311 - jitter, no secret
