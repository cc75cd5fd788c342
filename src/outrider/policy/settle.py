"""What becomes of the task, and of its site, after this visit? Every outcome settles; none is left hanging (H0-5).

The rules of DESIGN 2.1 and 2.2 in one place. A failure of the URL spends one of its visits. A failure of the site
spends nothing while the site shows no life; once it answered somebody else since, the URL is no longer excused (H4-2),
but still never becomes a dead letter (S4-5): it is set aside, and `revive` brings it back.
"""

from typing import Final, TypeAlias, assert_never

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.outcome import Failed, Failure, Fetched, Moved, NotModified, Scope, Skipped, Visit
from outrider.model.reason import Family, Reason
from outrider.model.settlement import Dead, Done, Later, MovedTo, Settlement, Skip
from outrider.model.site import BreakerState, Site, Trouble
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.policy import breaker as breakers
from outrider.policy import pace as paces
from outrider.policy import recrawl
from outrider.policy.breaker import BreakerLimits, Sign
from outrider.policy.pace import PaceLimits
from outrider.policy.recrawl import RecrawlRules
from outrider.policy.redirect import is_permanent

JITTER: Final = 0.1


class SettleRules(Struct, frozen=True):
    """`recrawl` is None for a crawl that looks once; `recrawl_sites` differ. `rewrite_on_any` is C11's choice."""

    max_visits: int = 3
    redirect_revisits: int = 1
    max_deferrals: int = 30
    max_recoveries: int = 5
    revisit_backoff: float = 60.0
    revisit_cap: float = 21_600.0
    rewrite_on_any: bool = True
    pace: PaceLimits = PaceLimits()
    breaker: BreakerLimits = BreakerLimits()
    recrawl: RecrawlRules | None = None
    recrawl_sites: dict[str, RecrawlRules] = {}

    def recrawl_of(self, site: str) -> RecrawlRules | None:
        return self.recrawl and self.recrawl_sites.get(site, self.recrawl)


Settled: TypeAlias = tuple[Settlement, Site]


def settle(task: Task, visit: Visit, site: Site, rules: SettleRules, *, url: int, jitter: float) -> Settled:
    """`url` is the task's identity hash. The visit's end is the moment at which all of this is true."""
    now = visit.ended_at
    after = settle_site(site, visit, rules, url=url, jitter=jitter)
    match visit.outcome:
        case Fetched() | NotModified() as page:
            return _found(task, visit, page, rules, after.key), replace(after, fetched=after.fetched + 1)
        case Moved(to):
            return MovedTo(to), after
        case Skipped(reason, detail):
            return Skip(reason, detail), after
        case Failed(failure) if failure.scope is Scope.SITE:
            return _excused(task, failure, after, rules, now=now, jitter=jitter), after
        case Failed(failure):
            return _blamed(task, failure, after, rules, now=now, jitter=jitter), after
        case _:
            assert_never(visit.outcome)


def settle_site(site: Site, visit: Visit, rules: SettleRules, *, url: int, jitter: float) -> Site:
    """The site alone: also for a probe, which has no task."""
    now = visit.ended_at
    # What was decided without contact, such as a robots.txt remembered as unreachable, says nothing new of the site.
    sign = breakers.read_sign(visit.outcome) if visit.requests else Sign.NONE
    breaker = breakers.after(site.breaker, sign, url, now, rules.breaker, jitter)
    site = replace(paces.completed(site, now) if visit.requests else site, breaker=breaker)
    if sign is Sign.ALIVE:
        return paces.recover(replace(site, alive_at=now), rules.pace)
    failure = visit.outcome.failure if isinstance(visit.outcome, Failed) else None
    if visit.requests and failure is not None:
        site = replace(site, trouble=Trouble(failure.reason, now))
    if sign is Sign.WAIT and failure is not None:
        site = paces.slow_down(site, now, failure.retry_after, rules.pace)
    if breaker.state is BreakerState.OPEN:
        site = paces.hold_until(site, breaker.probe_at)
        if failure is not None and breakers.is_given_up(breaker, failure.reason, now, rules.breaker):
            site = replace(site, set_aside=True)
    return site


def written_back(stored: Site, given: Site) -> Site:
    """The site as its holder gives it back. Its times only move forward; what the store counts stays the store's."""
    pace = replace(given.pace, full_at=max(stored.pace.full_at, given.pace.full_at))
    return replace(
        given,
        pace=pace,
        not_before=max(stored.not_before, given.not_before),
        admitted=stored.admitted,
        excluded=stored.excluded,
    )


def restored(stored: Site, given: Site) -> Site:
    """The site as another store knew it, over what this one may know already.

    What it admitted is said by the site alone: of the ended ones a compact store has no line that could be counted.
    """
    admitted = max(stored.admitted, given.admitted)
    return replace(written_back(stored, given), admitted=admitted, excluded=stored.excluded or given.excluded)


def rested(site: Site, deadline: float) -> Site:
    """A lease ran out at `deadline`: its holder may have asked until then, so the site rests from there."""
    return paces.hold_until(site, deadline + site.pace.interval)


def expired(task: Task, deadline: float, rules: SettleRules) -> Later | Dead:
    """Its lease ran out: the worker died, or the page kills workers. Only so often (H0-5)."""
    if task.recoveries >= rules.max_recoveries:
        return Dead(Reason.LEASE_EXPIRED_TOO_OFTEN, task.visits, f"{task.recoveries + 1} leases expired")
    return Later(deadline, Reason.LEASE_EXPIRED_TOO_OFTEN, task.visits, task.deferrals, task.deferred_at)


def _found(task: Task, visit: Visit, page: Fetched | NotModified, rules: SettleRules, site: str) -> Done:
    again = rules.recrawl_of(site)
    sha256 = page.body.sha256 if isinstance(page, Fetched) else task.content_sha256
    changes = task.changes
    if task.visited_at is not None:
        changed = sha256 != task.content_sha256
        changes = recrawl.looked(changes, visit.ended_at - task.visited_at, changed=changed)
    return Done(
        url=_name(task, visit, page.url, rules),
        asked=task.url,
        status=page.status if isinstance(page, Fetched) else 304,
        validators=page.validators,
        changes=changes,
        sha256=sha256,
        due_at=visit.ended_at + recrawl.interval(changes, again) if again else None,
        visited_at=visit.ended_at,
    )


def _name(task: Task, visit: Visit, found_at: Url, rules: SettleRules) -> Url:
    hops = [hop for hop in visit.hops if hop.location is not None]
    return found_at if rules.rewrite_on_any or all(is_permanent(hop.status) for hop in hops) else task.url


def _excused(
    task: Task, failure: Failure, site: Site, rules: SettleRules, *, now: float, jitter: float
) -> Later | Skip:
    if site.set_aside:
        return Skip(Reason.SITE_UNREACHABLE, failure.reason)
    if breakers.asks_to_wait(failure):
        if task.deferrals >= rules.max_deferrals:
            return Skip(failure.reason, f"put off {task.deferrals} times")
        return _deferred(task, failure, site, now)
    answered_since = task.deferred_at is not None and site.alive_at is not None and site.alive_at > task.deferred_at
    if not answered_since:
        return _deferred(task, failure, site, now)
    if task.visits + 1 >= rules.max_visits:
        return Skip(failure.reason, f"failed {task.visits + 1} times while the site answered others")
    return Later(
        max(site.not_before, _revisit_at(task, rules, now, jitter)),
        failure.reason,
        task.visits + 1,
        task.deferrals,
        deferred_at=now,
    )


def _deferred(task: Task, failure: Failure, site: Site, now: float) -> Later:
    return Later(max(site.not_before, now), failure.reason, task.visits, task.deferrals + 1, deferred_at=now)


def _blamed(task: Task, failure: Failure, site: Site, rules: SettleRules, *, now: float, jitter: float) -> Later | Dead:
    visits = task.visits + 1
    asked_to_wait = min(failure.retry_after or 0.0, rules.pace.retry_after_cap)
    due_at = max(_revisit_at(task, rules, now, jitter), now + asked_to_wait, site.not_before)
    again = Later(due_at, failure.reason, visits, task.deferrals, task.deferred_at)
    dead = Dead(failure.reason, visits, failure.detail, failure.status)
    if failure.reason.family is Family.REDIRECT:
        return again if visits <= rules.redirect_revisits else dead
    if failure.transient:
        return again if visits < rules.max_visits else dead
    was_there = task.visited_at is not None and failure.status in {404, 410}
    looks_again = rules.recrawl_of(site.key)
    if looks_again and was_there and not recrawl.is_gone(recrawl.missed(task.changes), looks_again):
        gone = recrawl.missed(task.changes)
        return Later(now + recrawl.interval(gone, looks_again), failure.reason, task.visits, gone=gone.gone)
    return dead


def _revisit_at(task: Task, rules: SettleRules, now: float, jitter: float) -> float:
    wait = rules.revisit_backoff * 2.0 ** min(task.visits + 1, 32)
    return now + min(wait, rules.revisit_cap) * (1 + JITTER * jitter)
