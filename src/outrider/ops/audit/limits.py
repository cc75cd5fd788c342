"""Were the limits kept, and is everything on record? What each page can show: how many, how deep, how far, how large.

A crawl that goes on under other settings has several manners on record, and a page does not say by which it was
fetched: it is judged by the widest of them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from outrider.model.asked import Manners
from outrider.model.record import Page, PageStatus
from outrider.model.task import Origin
from outrider.model.url import Url
from outrider.ops.audit.moments import moment
from outrider.ops.audit.report import Findings, Rule, Violation

HAD: Final = frozenset({PageStatus.FETCHED, PageStatus.NOT_MODIFIED})


class LimitsCheck:
    """`had` is how many visits got a page. `asked` is how many requests for pages are on record, by site, and `since`.

    Without `asked` it is not judged whether all are: a crawl that runs has pages that are younger.
    """

    def __init__(
        self, manners: Sequence[Manners], findings: Findings, asked: Mapping[str, int] | None, since: float
    ) -> None:
        self._findings = findings
        self._redirects = max(one.max_redirects for one in manners)
        self._retries = max(one.max_retries for one in manners)
        self._body = max(one.max_body for one in manners)
        self._decoded = max(one.max_decoded for one in manners)
        self._length = max(one.max_url_length for one in manners)
        self._depth = _widest(manners, lambda one: one.max_depth)
        self._pages = _widest(manners, lambda one: one.max_pages)
        self._site_pages = _widest(manners, lambda one: one.max_site_pages)
        self._site_by = manners[0].site_by
        self._by_site: Counter[str] = Counter()
        self._asked = asked
        self._since = moment(since)
        self._attempts: Counter[str] = Counter()
        self.had = 0

    def look(self, page: Page) -> Iterator[Violation]:
        self._findings.checked(Rule.LIMITS)
        data = page.metadata
        site = Url.trusted(page.url).site(self._site_by)
        if data.status in HAD:
            self.had += 1
            if self._site_pages is not None:
                self._by_site[site] += 1
        if self._asked is not None and data.fetched_at >= self._since:
            self._findings.checked(Rule.RECORDED)
            self._attempts[site] += data.attempts
        depth = None if data.origin == Origin.LISTING else data.depth
        for what, value, most in (
            ("max_depth", depth, self._depth),
            ("max_redirects", data.redirect_count, self._redirects),
            ("max_retries", data.retries, self._retries * (data.redirect_count + 1)),
            ("max_body", data.wire_length, self._body),
            ("max_decoded", data.content_length, self._decoded),
            ("max_url_length", len(page.url), self._length),
        ):
            if value is not None and most is not None and value > most:
                evidence = f"{value:,} is more than {what}={most:,} (visit {page.fetch_id}, {data.fetched_at})"
                yield Violation(Rule.LIMITS, evidence, site, page.url)

    def sums(self) -> Iterator[Violation]:
        """Once all pages were looked at."""
        if self._pages is not None and self.had > self._pages:
            yield Violation(Rule.LIMITS, f"{self.had:,} pages are more than max_pages={self._pages:,}")
        for site, count in self._by_site.items():
            if self._site_pages is not None and count > self._site_pages:
                yield Violation(Rule.LIMITS, f"{count:,} pages are more than max_site_pages={self._site_pages:,}", site)
        for site, count in self._attempts.items():
            known = (self._asked or {}).get(site, 0)
            if count > known:
                missing = f"its pages took {count:,} requests, and {known:,} are on record"
                yield Violation(Rule.RECORDED, missing, site)


def _widest(manners: Sequence[Manners], limit: Callable[[Manners], int | None]) -> int | None:
    values = [value for one in manners if (value := limit(one)) is not None]
    return max(values) if len(values) == len(manners) else None
