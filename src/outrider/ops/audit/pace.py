"""Was every pause kept, and was it as long as it had to be? `policy.pace` is walked again, request by request.

The site's state is recomputed to the shortest pause that can have been due: every good answer counts as a recovery;
behind a request that we gave up, and with several visits at once, a pause counts from the request and not from its
answer, since the next turn may have been taken by then. So what is found to be too short was too short.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from outrider.model.asked import Asked, AskedFor, Manners
from outrider.model.site import Site
from outrider.ops.audit.moments import SLACK, moment
from outrider.ops.audit.orders import Orders
from outrider.ops.audit.report import Findings, Rule, Violation
from outrider.policy.pace import (
    PaceLimits,
    TooSlow,
    completed,
    fresh_pace,
    heed_crawl_delay,
    ready_at,
    recover,
    reserve,
    silence,
    slow_down,
)

_JUDGED: Final = frozenset({AskedFor.PAGE, AskedFor.STATUS})


class PaceCheck:
    """Of one site. `smallest` is the shortest pause so far, what was due then, and the URL that followed it."""

    def __init__(self, site: str, orders: Orders, findings: Findings) -> None:
        self._site: Site | None = None
        self._key = site
        self._orders = orders
        self._findings = findings
        self._unheard: list[tuple[Asked, Manners]] = []
        self._last: Asked | None = None
        self._quiet_until = 0.0
        self._quiet_since: Asked | None = None
        self.smallest: tuple[float, float, str] | None = None

    def look(self, asked: Asked, manners: Manners, crawl_delay: float | None) -> Iterator[Violation]:
        limits = _limits(manners, self._orders.delay(self._key, asked.at, manners.delay))
        site = self._site or Site(self._key, pace=fresh_pace(limits))
        if limits.burst > site.pace.burst:
            site = replace(site, pace=replace(site.pace, burst=limits.burst))
        site = self._hear(site, asked, manners)
        if asked.kind in _JUDGED:
            paced = heed_crawl_delay(replace(site, pace=replace(site.pace, burst=limits.burst)), crawl_delay, limits)
            if isinstance(paced, TooSlow):
                said = (
                    f"robots.txt asks for {crawl_delay:g} s between requests, the limit is {limits.max_crawl_delay:g} s"
                )
                yield _violation(asked, Rule.PROMISE, said)
            else:
                site = paced
                self._findings.checked(Rule.PROMISE)
                if asked.interval < site.pace.interval * (1 - 1e-6) - 1e-6:
                    yield _violation(asked, Rule.PROMISE, _too_small(asked, site, limits))
        self._findings.checked(Rule.GAP)
        self._measure(asked, manners, site.pace.interval)
        earliest = min(asked.at, asked.not_before)
        if self._quiet_since is not None:
            self._findings.checked(Rule.BLOCK)
        if self._quiet_since is not None and earliest < self._quiet_until - SLACK:
            yield _violation(asked, Rule.BLOCK, self._told_to_wait(self._quiet_since))
        elif earliest < ready_at(site) - SLACK:
            yield _violation(asked, Rule.GAP, self._too_soon(site, earliest))
        elif asked.at < asked.not_before - SLACK:
            yield _violation(asked, Rule.GAP, f"sent {asked.not_before - asked.at:.3f} s before its turn")
        self._site = reserve(site, earliest)
        self._unheard.append((asked, manners))
        self._last = asked

    def _hear(self, site: Site, asked: Asked, manners: Manners) -> Site:
        """The answers that were there when this request was sent. With one visit at a time, that is all of them."""
        is_single = manners.site_concurrency == 1
        waiting = []
        for one in self._unheard:
            if is_single or one[0].ended_at + SLACK < asked.at:
                site = self._answered(site, *one)
            else:
                waiting.append(one)
        self._unheard = waiting
        return site

    def _answered(self, site: Site, asked: Asked, manners: Manners) -> Site:
        ended_at = max(asked.at, asked.ended_at)
        limits = _limits(manners, site.pace.base)
        is_given_up = asked.status is None and asked.reason is None
        if manners.site_concurrency == 1 and not is_given_up:
            site = completed(site, ended_at)
        if asked.asked_to_wait:
            until = ended_at + silence(site.pace, asked.retry_after, limits)
            if until > self._quiet_until:
                self._quiet_until, self._quiet_since = until, asked
            # A bucket of wider steps opens earlier for a burst: how much of the width is left must be known exactly.
            site = slow_down(site, ended_at, asked.retry_after, limits) if site.pace.burst == 1 else site
        elif asked.status is not None and asked.status < 500:
            site = recover(site, limits)
        return site

    def _measure(self, asked: Asked, manners: Manners, due: float) -> None:
        last = self._last
        if last is None:
            return
        since = max(last.at, last.ended_at) if manners.site_concurrency == 1 else last.at
        gap = asked.at - since
        if self.smallest is None or gap - due < self.smallest[0] - self.smallest[1]:
            self.smallest = gap, due, asked.url

    def _too_soon(self, site: Site, earliest: float) -> str:
        early = ready_at(site) - earliest
        last = self._last
        before = "" if last is None else f"; the last one was sent {moment(last.at)}, answered {moment(last.ended_at)}"
        return f"{early:.3f} s too early: {site.pace.interval:g} s were due between requests{before}"

    def _told_to_wait(self, asked: Asked) -> str:
        said = "" if asked.retry_after is None else f" and Retry-After: {asked.retry_after:g}"
        answer = f"{asked.url} was answered with {asked.status}{said} at {moment(asked.ended_at)}"
        return f"silence was due until {moment(self._quiet_until)}: {answer}"


def _limits(manners: Manners, delay: float) -> PaceLimits:
    return PaceLimits(
        delay=delay,
        burst=manners.burst,
        slow_down=manners.slow_down,
        slowest=manners.slowest,
        recovery=manners.recovery,
        max_crawl_delay=manners.max_crawl_delay,
        retry_after_cap=manners.retry_after_cap,
    )


def _too_small(asked: Asked, site: Site, limits: PaceLimits) -> str:
    asks = f"robots.txt asks for {site.pace.base:g} s" if site.pace.base > limits.delay else f"delay={limits.delay:g}"
    more = f" and a 429 for {site.pace.interval:g} s" if site.pace.interval > site.pace.base else ""
    return f"a pause of {asked.interval:g} s was in force, but {asks}{more}"


def _violation(asked: Asked, rule: Rule, evidence: str) -> Violation:
    return Violation(rule, f"{asked.kind} {asked.method}: {evidence}", asked.site, asked.url, asked.at)
