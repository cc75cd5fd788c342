"""Which URLs are there? The ledger's lines first, then what was fetched, from the records: page by page at any size.

A compact frontier keeps no line of what was fetched, so those are told by their visits wherever there are records; then
the ledger's own lines of them are left out. A place in the list is one in the ledger (`l`) or in the records (`p`).
"""

from typing import Final

from outrider.errors import ConfigError
from outrider.model.ledger import Search, State
from outrider.model.record import PageFilter, PageStatus
from outrider.model.url import SiteBy
from outrider.ports import Browsable, BrowsablePages
from outrider.stores.none import NoRecords
from outrider.web.rows import row_of_entry, row_of_page
from outrider.web.shapes import UrlPage, UrlRow

LOOK: Final = 20_000
"""Lines that are looked through for one page: some tenths of a second, then a person is asked whether to go on."""
_HAD: Final = frozenset({PageStatus.FETCHED, PageStatus.NOT_MODIFIED, PageStatus.MOVED})


class UrlBook:
    def __init__(self, frontier: object, records: object, site_by: SiteBy) -> None:
        self._frontier = frontier
        self._records = None if isinstance(records, NoRecords) else records
        self._site_by = site_by

    async def page(self, search: Search, after: str | None, limit: int) -> UrlPage:
        """Raises `ConfigError` for an `after` that is not of its making."""
        kind, place = self._place(after, search)
        rows: list[UrlRow] = []
        looked_at = 0
        if kind == "l" and isinstance(self._frontier, Browsable):
            found = await self._frontier.browse(search, place, most=limit, look=LOOK)
            looked_at = found.looked_at
            hides = isinstance(self._records, BrowsablePages)
            rows = [row_of_entry(one) for one in found.entries if not (hides and one.state is State.FETCHED)]
            if found.after is not None:
                return UrlPage(tuple(rows), f"l{found.after}", looked_at)
            place = None
        if not self._has_pages(search):
            return UrlPage(tuple(rows), None, looked_at)
        if len(rows) >= limit or looked_at >= LOOK:
            return UrlPage(tuple(rows), "p", looked_at)
        return await self._pages(search, place, limit, rows, looked_at)

    def _has_pages(self, search: Search) -> bool:
        """Only what was had is told by the records: the ledger has a line of everything else."""
        return isinstance(self._records, BrowsablePages) and search.state in {None, State.FETCHED} and not search.reason

    async def _pages(
        self, search: Search, place: str | None, limit: int, rows: list[UrlRow], looked_at: int
    ) -> UrlPage:
        records = self._records
        if not isinstance(records, BrowsablePages):
            return UrlPage(tuple(rows), None, looked_at)
        wanted = PageFilter(
            status=PageStatus.FETCHED if search.state is State.FETCHED else None,
            status_code=search.status,
            site=search.site,
            text=search.text,
        )
        found = await records.browse_pages(wanted, place, most=limit - len(rows), look=LOOK)
        rows += [row_of_page(page, self._site_by) for page in found.pages if page.metadata.status in _HAD]
        after = None if found.before is None else f"p{found.before}"
        return UrlPage(tuple(rows), after, looked_at + found.looked_at)

    def _place(self, after: str | None, search: Search) -> tuple[str, str | None]:
        if not after:
            is_told_by_visits = search.state is State.FETCHED and isinstance(self._records, BrowsablePages)
            return "p" if is_told_by_visits else "l", None
        if after[0] not in "lp":
            raise ConfigError(f"after = {after!r}: is not of this list's making")
        return after[0], after[1:] or None
