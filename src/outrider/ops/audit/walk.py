"""What was asked of one site after the other, by whichever workers: every request is held against every rule."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from outrider.model.asked import Asked, AskedFor, Manners, RobotsAnswer
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.ops.audit.breaker import BreakerCheck
from outrider.ops.audit.moments import moment
from outrider.ops.audit.orders import Orders
from outrider.ops.audit.pace import PaceCheck
from outrider.ops.audit.report import Findings, Rule, SiteLine, Violation
from outrider.ops.audit.robots import ParsedFiles, RobotsCheck

_OF_PAGES: Final = frozenset({AskedFor.PAGE, AskedFor.STATUS})
_ELSEWHERE: Final = frozenset({AskedFor.ROBOTS})
"""A robots.txt may lead to another site's, which is asked without being held: one small request a day."""


class Walk:
    """Site by site. `asked` counts the requests for pages of each, `since` is the first moment on record."""

    def __init__(self, manners: dict[str, Manners], orders: Orders, findings: Findings) -> None:
        self._manners = manners
        self._orders = orders
        self._findings = findings
        self._parsed = ParsedFiles()
        self.manners = list(manners.values())
        self.asked: Counter[str] = Counter()
        self.since = float("inf")

    def site(
        self,
        site: str,
        answers: Sequence[RobotsAnswer],
        requests: Iterable[Asked],
        skipped: Sequence[tuple[float, str]],
    ) -> None:
        pace = PaceCheck(site, self._orders, self._findings)
        breaker = BreakerCheck(self._findings)
        robots = RobotsCheck(answers, self._parsed, self._findings)
        count = found = 0
        first_at = float("inf")
        seen: dict[str, Manners] = {}
        for asked in requests:
            count += 1
            first_at = min(first_at, asked.at)
            self.asked[site] += asked.kind in _OF_PAGES
            manners = self._manners.get(asked.manners)
            violations: list[Violation] = []
            if manners is None:
                evidence = (
                    f"{asked.kind} {asked.method}: the settings {asked.manners!r} that it was sent by are not on record"
                )
                violations.append(Violation(Rule.PROMISE, evidence, site, asked.url, asked.at))
            elif asked.reason != Reason.BLOCKED_ADDRESS:  # refused by our own guard: nothing was sent
                seen[asked.manners] = manners
                violations += self._place(asked, manners)
                violations += robots.look(asked, manners)
                violations += pace.look(asked, manners, robots.crawl_delay)
                violations += breaker.look(asked, manners)
            found += self._told(violations)
        self.since = min(self.since, first_at)
        for at, skipped_url in skipped:
            # What an older version skipped, before requests were on record, cannot be judged.
            if at >= first_at:
                self._findings.checked(Rule.ROBOTS)
                found += self._told(_skipped(robots, site, Url.trusted(skipped_url), at, seen.values()))
        gap, due, url = pace.smallest or (None, None, None)
        self._findings.sites.append(SiteLine(site, count, gap, due, url, found))

    def _told(self, violations: Sequence[Violation]) -> int:
        for violation in violations:
            self._findings.add(violation)
        return len(violations)

    def _place(self, asked: Asked, manners: Manners) -> list[Violation]:
        """Was it held, and was it to be asked at all?"""
        found = []
        self._findings.checked(Rule.SITE)
        own = Url.trusted(asked.url).site(manners.site_by)
        if own != asked.site and asked.kind not in _ELSEWHERE:
            evidence = f"{asked.kind} {asked.method}: asked by the holder of {asked.site}, and is of {own}"
            found.append(Violation(Rule.SITE, evidence, asked.site, asked.url, asked.at))
        self._findings.checked(Rule.ORDER)
        order = self._orders.silence(asked.site, asked.at)
        if order is not None:
            said = "excluded" if order.excluded else "paused"
            evidence = f"{asked.kind} {asked.method}: the site was {said} by an operator at {moment(order.at)}"
            found.append(Violation(Rule.ORDER, evidence, asked.site, asked.url, asked.at))
        return found


def _skipped(robots: RobotsCheck, site: str, url: Url, at: float, manners: Collection[Manners]) -> Sequence[Violation]:
    """A page does not say by which settings it was skipped: one that forbids it will do."""
    judged = [list(robots.look_at_skipped(site, url, at, one)) for one in manners if one.respect_robots]
    return judged[-1] if judged and all(judged) else ()
