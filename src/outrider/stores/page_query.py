"""Which pages next? In order of writing, a few at a time, each time by a short reading of its own.

One long reading would keep a database from tidying up for as long as somebody pages through a terminal. So that a
reader comes to an end while others write, what is written after it began is not shown.
"""

from collections.abc import Sequence
from typing import Any, Final

from outrider.model.record import Page, PageFilter
from outrider.stores.page_rows import as_fetched_at, can_match, page_of, site_wanted

MOST: Final = 1_000

_SITE: Final = (
    "(host = :host OR (length(host) > length(:host) AND substr(host, length(host) - length(:host)) = '.' || :host))"
)


class PageQuery:
    """`conditions` go behind `WHERE id > :after AND id <= :last`, and `LIMIT :most` behind them."""

    def __init__(self, wanted: PageFilter, last: int) -> None:
        self.values: dict[str, str | int] = {"after": 0, "last": last, "most": MOST}
        self._left = wanted.limit if can_match(wanted) else 0
        conditions: list[str] = []
        if wanted.status is not None:
            conditions.append("status = :status")
            self.values["status"] = wanted.status.value
        if wanted.reason is not None:
            conditions.append("reason = :reason")
            self.values["reason"] = str(wanted.reason)
        if wanted.status_code is not None:
            conditions.append("status_code = :status_code")
            self.values["status_code"] = wanted.status_code
        if wanted.site is not None:
            site = site_wanted(wanted.site)
            conditions.append(_SITE)
            self.values["host"] = site.host
            if site.port is not None:
                conditions.append("port = :port")
                self.values["port"] = site.port
        if wanted.since is not None:
            conditions.append("fetched_at >= :since")
            self.values["since"] = as_fetched_at(wanted.since)
        self.conditions = "".join(f" AND {one}" for one in conditions)
        self._shorten()

    @property
    def is_done(self) -> bool:
        return not self.values["most"]

    def take(self, rows: Sequence[Sequence[Any]]) -> list[Page]:
        """Rows of the id and a page's columns, as they were asked for."""
        if rows:
            self.values["after"] = rows[-1][0]
        if self._left is not None:
            self._left -= len(rows)
        self._shorten()
        return [page_of(row[1:]) for row in rows]

    def _shorten(self) -> None:
        if self._left is not None:
            self.values["most"] = min(MOST, max(self._left, 0))
