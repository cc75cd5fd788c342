"""Where does every redirect lead, and where does it all end? A row for each hop, with the end of its chain beside it.

A visit ends where a chain leaves its site, and the rest is told by the visit of the next site. Here they are joined.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Final

from msgspec import Struct, field

from outrider.errors import InvalidUrl
from outrider.model.outcome import first_value
from outrider.model.record import ChainStep, Page, PageFilter, PageStatus, Record, RedirectChain
from outrider.model.url import Url
from outrider.ops.export.ends import Ends
from outrider.ops.formats import Kind, Sheet, flat
from outrider.ops.walks import walking
from outrider.policy.redirect import is_redirect
from outrider.ports import ExportsRecords, Records


class Step(Struct, frozen=True):
    """One redirect as it was answered. `target` is None for a Location that is no URL; it may not be `followed`."""

    source: str
    target: str | None
    status_code: int
    followed: bool
    at: str


class Redirect(Struct, frozen=True, rename="camel"):
    """One hop of the chain that begins at `url`: number `hop` of `hops`, those on other sites included.

    `result` and `reason` are those of the visit that the chain ends with: `moved` when nobody has visited its last
    target (yet), and then there is no `final_status` either. It is None as well where no answer came.
    """

    url: str
    hop: int
    hops: int
    source: str = field(name="from")
    target: str | None = field(name="to")
    status_code: int
    followed: bool
    at: str
    final_url: str
    final_status: int | None
    result: str
    reason: str | None
    fetch_id: str


REDIRECTS: Final[Sheet[Redirect]] = flat(
    Redirect,
    {
        **dict.fromkeys(("hop", "hops", "statusCode", "finalStatus"), Kind.WHOLE),
        "followed": Kind.SWITCH,
        "at": Kind.MOMENT,
    },
)


async def redirects(records: Records, exported: ExportsRecords, wanted: PageFilter) -> AsyncIterator[list[Redirect]]:
    """Both are the same store. It is read up to three times, because the end of a chain may come before its start."""
    with Ends() as ends:
        async for pages in records.pages(PageFilter(status=PageStatus.MOVED)):
            ends.look_for([page.metadata.final_url for page in pages])
        if ends.are_wanted:
            async for pages in records.pages(PageFilter()):
                ends.note(pages)
        async with walking(exported.visits(wanted)) as found:
            async for visits in found:
                yield [row for record in visits if record.page is not None for row in _rows(record, record.page, ends)]


def steps_of(record: Record) -> list[Step]:
    """The redirects of one visit, in the order in which they were walked."""
    page = record.page
    chains = [one.content for one in record.evidence if isinstance(one.content, RedirectChain)]
    if page is None or not chains:
        return []
    return list(_steps(chains[0].steps, page.metadata.final_url))


def _steps(chain: tuple[ChainStep, ...], final_url: str) -> Iterator[Step]:
    for number, step in enumerate(chain, 1):
        if step.location is not None:
            target = chain[number].url if number < len(chain) else final_url
            yield Step(step.url, target, step.status_code, followed=True, at=step.at)
        elif is_redirect(step.status_code):
            # One too many, or in a circle, or to nowhere: it was answered, and not followed.
            yield Step(step.url, _refused(step), step.status_code, followed=False, at=step.at)


def _refused(step: ChainStep) -> str | None:
    location = first_value(step.headers, "location")
    try:
        return None if location is None else str(Url.trusted(step.url).resolve(location))
    except InvalidUrl:
        return None


def _rows(record: Record, page: Page, ends: Ends) -> Iterator[Redirect]:
    steps = steps_of(record)
    if not steps:
        return
    end = ends.of(page)
    hops = len(steps) + end.hops - page.metadata.redirect_count
    for number, step in enumerate(steps, 1):
        yield Redirect(
            url=page.url,
            hop=number,
            hops=hops,
            source=step.source,
            target=step.target,
            status_code=step.status_code,
            followed=step.followed,
            at=step.at,
            final_url=end.url,
            final_status=end.status_code or None,
            result=end.status,
            reason=end.reason,
            fetch_id=page.fetch_id,
        )
