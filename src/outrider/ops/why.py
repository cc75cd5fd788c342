"""Why is this URL where it is? Its whole story, from the ledger and the records of any engine. It only reads.

Where something was never written down, the story says nothing rather than something likely: when a URL was discovered
is known by the visit of the page that named it, or by the decision that refused it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import InvalidUrl
from outrider.model.ledger import Entry, State
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.record import Decision, Page, PageStatus, Record
from outrider.model.robots import RobotsBasis, RobotsVerdict
from outrider.model.site import Site
from outrider.model.task import Origin, Task
from outrider.model.url import SiteBy, Url
from outrider.ops.ancestry import discovery_of
from outrider.ops.outlook import outlook
from outrider.ops.story import Knowledge, RobotsNow, SiteNow, Standing, Story
from outrider.policy.admit import AdmitRules
from outrider.policy.admit_explained import rulings
from outrider.policy.pace import ready_at
from outrider.policy.robots import Unreachable, judge
from outrider.ports import Ledger, Records, TakesOrders
from outrider.stores.registry import LooksAtSites

MOST_NAMES: Final = 10
"""How many aliases of aliases are followed."""
MOST_SITES: Final = 200_000
"""How many sites are looked through in a store that cannot name one."""

_NOT_ASKED: Final = RobotsVerdict(allowed=True, basis=RobotsBasis.NOT_ASKED)
_HAD: Final = frozenset({PageStatus.FETCHED, PageStatus.NOT_MODIFIED})


class Terms(Struct, frozen=True):
    """What judges a URL here: `admit` and `listing` (for sitemaps and feeds) whether it may enter.

    `agent` and `unreachable` are for what robots.txt says to us.
    """

    admit: AdmitRules
    listing: AdmitRules
    agent: str
    site_by: SiteBy = "domain"
    respects_robots: bool = True
    unreachable: Unreachable = Unreachable.DEFER


async def why(url: Url, ledger: Ledger, records: Records, terms: Terms, now: float) -> Story:
    """The story of the URL, and of the page that it is another name of. Raises what the stores raise."""
    return await _story(url, ledger, records, terms, now, known=(url,))


async def _story(url: Url, ledger: Ledger, records: Records, terms: Terms, now: float, known: tuple[Url, ...]) -> Story:
    entry = await ledger.find(url)
    is_known = entry is not None or (await ledger.knows([url]))[0]
    visits, decisions = _parted(await _found(url, entry, records))
    names = {str(url), str(entry.url)} if entry is not None else {str(url)}
    standing = _standing(url, entry, visits, decisions, names, is_known=is_known)
    site, held_until = await _site(ledger, entry.site if entry is not None else url.site(terms.site_by))
    here = replace(_site_now(site, held_until), order=await _order(ledger, site.key))
    robots = _robots(url, site, terms)
    discovery = await discovery_of(names, entry, visits, decisions, records)
    judged = rulings(
        url,
        discovery.depth if discovery is not None else 0,
        terms.listing if standing.origin is Origin.LISTING else terms.admit,
        site=site if here.is_known else None,
        robots=robots.verdict if robots is not None else None if terms.respects_robots else _NOT_ASKED,
    )
    other = None
    if standing.of is not None and standing.of not in known and len(known) < MOST_NAMES:
        other = await _story(standing.of, ledger, records, terms, now, (*known, standing.of))
    return Story(
        url=url,
        at=now,
        site=here,
        standing=standing,
        outlook=outlook(standing, here, judged, now, last=_last_failure(visits)),
        discovery=discovery,
        decisions=tuple(decisions),
        visits=tuple(visits),
        rulings=judged,
        robots=robots,
        other=other,
    )


async def _found(url: Url, entry: Entry | None, records: Records) -> list[Record]:
    """Also under the name that the ledger has for the same page."""
    found = await records.find(url)
    if entry is not None and entry.url != url:
        found += [record for record in await records.find(entry.url) if record not in found]
    return found


def _parted(found: Sequence[Record]) -> tuple[list[Record], list[Decision]]:
    """A visit's own decisions are about the links of the page, not about the page."""
    visits = [record for record in found if record.page is not None]
    visits.sort(key=lambda record: record.page.metadata.fetched_at if record.page else "")
    return visits, [one for record in found if record.page is None for one in record.decisions]


def _standing(
    url: Url,
    entry: Entry | None,
    visits: Sequence[Record],
    decisions: Sequence[Decision],
    names: set[str],
    *,
    is_known: bool,
) -> Standing:
    if entry is None:
        if not is_known:
            return Standing(Knowledge.RECORDS if visits else Knowledge.NOTHING)
        return _by_hash(visits, decisions, names)
    # What has ended and cannot be revived has no task any more: its counts are the line's.
    task = entry.task or Task(entry.url, visits=entry.visits)
    is_owed = entry.state in {State.PENDING, State.WAITING}
    return Standing(
        known_by=Knowledge.LINE,
        state=entry.state,
        name=entry.url if entry.url != url else None,
        reason=entry.reason,
        detail=entry.detail,
        status=entry.status,
        of=entry.of,
        visits=entry.visits,
        deferrals=task.deferrals,
        recoveries=task.recoveries,
        priority=task.priority,
        due_at=task.due_at if is_owed else None,
        visited_at=task.visited_at,
        origin=entry.task.origin if entry.task is not None else None,
        can_be_revived=entry.task is not None and entry.state in {State.SKIPPED, State.DEAD},
    )


def _by_hash(visits: Sequence[Record], decisions: Sequence[Decision], names: set[str]) -> Standing:
    """The ledger knows only that it has ended and cannot be revived: what the last visit was says how."""
    page = visits[-1].page if visits else None
    if page is None:
        if decisions:
            return Standing(Knowledge.HASH, State.SKIPPED, reason=_reason(decisions[-1].reason))
        return Standing(Knowledge.HASH, State.FETCHED)
    final = page.metadata.final_url
    if page.metadata.status is PageStatus.MOVED or (page.metadata.status in _HAD and final not in names):
        with suppress(InvalidUrl):
            return Standing(Knowledge.HASH, State.ALIAS, of=Url(final))
    status = page.status_code if page.metadata.status in _HAD else None
    return Standing(Knowledge.HASH, State.FETCHED, status=status)


def _reason(text: str | None) -> Reason | None:
    """None for what a later version wrote."""
    return Reason(text) if text in set(Reason) else None


def _last_failure(visits: Sequence[Record]) -> Reason | None:
    page: Page | None = visits[-1].page if visits else None
    return None if page is None else _reason(page.metadata.reason)


async def _site(ledger: Ledger, key: str) -> tuple[Site, float | None]:
    if isinstance(ledger, LooksAtSites):
        return await ledger.look_at(key) or (Site(key), None)
    looked_at = 0
    async for sites in ledger.sites():
        for site in sites:
            if site.key == key:
                return site, None
        looked_at += len(sites)
        if looked_at >= MOST_SITES:
            break
    return Site(key), None


async def _order(ledger: Ledger, site: str) -> SiteOrder | None:
    orders = await ledger.orders() if isinstance(ledger, TakesOrders) else []
    return next((order for order in orders if order.site == site), None)


def _site_now(site: Site, held_until: float | None) -> SiteNow:
    return SiteNow(
        key=site.key,
        is_known=site != Site(site.key),
        ready_at=ready_at(site),
        interval=site.pace.interval,
        base=site.pace.base,
        breaker=site.breaker,
        alive_at=site.alive_at,
        admitted=site.admitted,
        fetched=site.fetched,
        set_aside=site.set_aside,
        excluded=site.excluded,
        held_until=held_until,
    )


def _robots(url: Url, site: Site, terms: Terms) -> RobotsNow | None:
    file = next((file for file in site.robots if file.origin == url.origin), None)
    if file is None or not terms.respects_robots:
        return None
    said = judge(file, None, url.target, terms.agent, terms.unreachable)
    verdict = said if isinstance(said, RobotsVerdict) else None
    return RobotsNow(file.origin, file.status, file.fetched_at, file.expires_at, file.http_status, verdict)
