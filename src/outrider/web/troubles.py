"""What went wrong last at each site? The latest failures on record, read on from where the last look ended."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from outrider.model.record import PageFilter, PageStatus
from outrider.model.url import SiteBy, Url
from outrider.ports import BrowsablePages
from outrider.web.rows import trouble_of
from outrider.web.shapes import Trouble

MOST_SITES: Final = 50_000
_AT_ONCE: Final = 200
_MOST_READ: Final = 2_000
"""Pages read in one look: a crawl that fails faster than that has older troubles forgotten."""
_LOOK: Final = 20_000


class Troubles:
    def __init__(self, records: object, site_by: SiteBy) -> None:
        self._records = records
        self._site_by = site_by
        self._last: OrderedDict[str, Trouble] = OrderedDict()
        self._newest: str | None = None

    def by_site(self) -> Mapping[str, Trouble]:
        return self._last

    async def look(self) -> None:
        """Raises what the records raise."""
        if not isinstance(self._records, BrowsablePages):
            return
        found: dict[str, Trouble] = {}
        newest, before, read = None, None, 0
        while read < _MOST_READ:
            slice_ = await self._records.browse_pages(
                PageFilter(status=PageStatus.FAILED), before, most=_AT_ONCE, look=_LOOK
            )
            for page in slice_.pages:
                if page.fetch_id == self._newest:
                    read = _MOST_READ
                    break
                newest = newest or page.fetch_id
                found.setdefault(Url.trusted(page.url).site(self._site_by), trouble_of(page))
            before = slice_.before
            if before is None:
                break
            read += max(len(slice_.pages), _AT_ONCE)  # a slice without a page has cost as much
        self._newest = newest or self._newest
        self._last |= found
        while len(self._last) > MOST_SITES:
            self._last.popitem(last=False)
