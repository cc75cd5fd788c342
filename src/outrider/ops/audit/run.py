"""All rules, in the order of reading that a running crawl cannot disturb: what is said last was written first."""

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.errors import ConfigError
from outrider.model.asked import Manners, RobotsAnswer
from outrider.model.ledger import Census
from outrider.model.reason import Reason
from outrider.model.record import PageFilter
from outrider.model.url import SiteBy, Url
from outrider.ops.audit.limits import HAD, LimitsCheck
from outrider.ops.audit.orders import read_orders
from outrider.ops.audit.report import Findings, Report, Rule, Violation
from outrider.ops.audit.sorting import Sorted, open_sorted
from outrider.ops.audit.walk import Walk
from outrider.ops.verify.run import ledger_faults
from outrider.ports import AuditRecords, Records

Tell: TypeAlias = Callable[[str, int], None]
"""What is being read, and how much of it was."""

_OF_REQUESTS: Final = (
    *(Rule.GAP, Rule.PROMISE, Rule.BLOCK, Rule.BREAKER, Rule.ROBOTS, Rule.ROBOTS_UNASKED, Rule.ORDER, Rule.SITE),
    Rule.RECORDED,
)


class Sources(Struct, frozen=True):
    """`census` is the ledger's, read before anything else; `events` the folder with orders of operators, if any.

    `running` is None when nobody here can tell.
    """

    records: Records
    census: Census | None = None
    events: Path | None = None
    running: bool | None = False


async def audit(sources: Sources, tell: Tell = lambda *_: None) -> Report:
    """Raises `ConfigError` for records that keep no requests, and what the stores raise."""
    records, findings = sources.records, Findings()
    if not isinstance(records, AuditRecords):
        raise ConfigError("these records keep no requests: there is nothing that could be audited")
    with open_sorted() as requests:
        tell("requests", 0)
        findings.requests = await requests.fill(records.requests())
        manners = await records.manners()
        walk = Walk(manners, read_orders(sources.events), findings)
        if findings.requests:
            await _gather_skipped(records, requests, manners)
            tell("sites", 0)
            async with _files_by_site(records) as files_of:
                for count, (site, asked) in enumerate(requests.by_site()):
                    walk.site(site, await files_of(site), asked, requests.skipped_of(site))
                    tell("sites", count + 1)
        else:
            findings.skip("no requests are on record", *_OF_REQUESTS)
    tell("pages", 0)
    had = await _check_pages(sources, walk, findings, tell)
    _check_ledger(sources.census, had, findings)
    return findings.report(running=sources.running)


@asynccontextmanager
async def _files_by_site(records: AuditRecords) -> AsyncIterator[Callable[[str], Awaitable[list[RobotsAnswer]]]]:
    """Robots.txt answers come in the order of their sites, and so must those who ask for them."""
    batches = records.robots()
    waiting: deque[RobotsAnswer] = deque()
    is_done = False

    async def of(site: str) -> list[RobotsAnswer]:
        nonlocal is_done
        found: list[RobotsAnswer] = []
        while True:
            while waiting and waiting[0].site <= site:
                one = waiting.popleft()
                if one.site == site:
                    found.append(one)
            if waiting or is_done:
                return found
            batch = await anext(batches, None)
            is_done = batch is None
            waiting.extend(batch or ())

    try:
        yield of
    finally:
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()


async def _gather_skipped(records: Records, requests: Sorted, manners: dict[str, Manners]) -> None:
    """Whatever robots.txt forbade, at the end of its redirects."""
    site_by: SiteBy = next((one.site_by for one in manners.values()), "domain")
    async for batch in records.pages(PageFilter(reason=Reason.ROBOTS_DISALLOWED)):
        urls = [(Url.trusted(page.metadata.final_url), page.metadata.fetched_at) for page in batch]
        requests.add_skipped((url.site(site_by), datetime.fromisoformat(at).timestamp(), url) for url, at in urls)


async def _check_pages(sources: Sources, walk: Walk, findings: Findings, tell: Tell) -> int:
    """How many visits got a page."""
    records = sources.records
    if not walk.manners:
        findings.skip("no settings are on record: limits cannot be judged", Rule.LIMITS)
        tally = await records.tally()
        return sum(count for status, count in tally.pages.items() if status in HAD)
    if sources.running is not False:
        findings.skip("whether all requests are on record: pages may have come meanwhile", Rule.RECORDED)
    asked = walk.asked if sources.running is False and findings.requests else None
    check = LimitsCheck(walk.manners, findings, asked, walk.since)
    looked_at = 0
    async for batch in records.pages(PageFilter()):
        for page in batch:
            for violation in check.look(page):
                findings.add(violation)
        looked_at += len(batch)
        tell("pages", looked_at)
    for violation in check.sums():
        findings.add(violation)
    return check.had


def _check_ledger(census: Census | None, had: int, findings: Findings) -> None:
    if census is None:
        findings.skip("the frontier was not named: the ledger was not looked at", Rule.LEDGER)
        return
    findings.checked(Rule.LEDGER)
    for fault in ledger_faults(census, had=had, unsettled=0, is_exact=False):
        findings.add(Violation(Rule.LEDGER, fault))
