"""Which pages next? In order of writing, a few at a time, each time by a short reading of its own.

One long reading would keep a database from tidying up for as long as somebody pages through a terminal. So that a
reader comes to an end while others write, what is written after it began is not shown.
"""

from collections.abc import Sequence
from typing import Any, Final

from outrider.model.record import Page, PageFilter
from outrider.stores.page_rows import as_fetched_at, can_match, page_of, site_wanted

MOST: Final = 1_000
MOST_VISITS: Final = 200
"""With their evidence: headers may be long."""

_SITE: Final = (
    "(host = :host OR (length(host) > length(:host) AND substr(host, length(host) - length(:host)) = '.' || :host))"
)
_TEXT: Final = "replace(url, :text, '') <> url"
"""Whether it is a part of it, in the words of every dialect; `LIKE` has marks to escape, and one folds its case."""


def conditions_of(wanted: PageFilter) -> tuple[list[str], dict[str, str | int]]:
    """What a row must be like, and the values behind it: no text of a filter is ever part of a statement."""
    conditions: list[str] = []
    values: dict[str, str | int] = {}
    if wanted.status is not None:
        conditions.append("status = :status")
        values["status"] = wanted.status.value
    if wanted.reason is not None:
        conditions.append("reason = :reason")
        values["reason"] = str(wanted.reason)
    if wanted.status_code is not None:
        conditions.append("status_code = :status_code")
        values["status_code"] = wanted.status_code
    if wanted.site is not None:
        site = site_wanted(wanted.site)
        conditions.append(_SITE)
        values["host"] = site.host
        if site.port is not None:
            conditions.append("port = :port")
            values["port"] = site.port
    if wanted.since is not None:
        conditions.append("fetched_at >= :since")
        values["since"] = as_fetched_at(wanted.since)
    if wanted.text:
        conditions.append(_TEXT)
        values["text"] = wanted.text
    return conditions, values


class PageQuery:
    """`conditions` go behind `WHERE id > :after AND id <= :last`, and `LIMIT :most` behind them."""

    def __init__(self, wanted: PageFilter, last: int, most: int = MOST) -> None:
        conditions, values = conditions_of(wanted)
        self.values: dict[str, str | int] = {"after": 0, "last": last, "most": most, **values}
        self._most = most
        self._left = wanted.limit if can_match(wanted) else 0
        self.conditions = "".join(f" AND {one}" for one in conditions)
        self._shorten()

    @property
    def is_done(self) -> bool:
        return not self.values["most"]

    def take(self, rows: Sequence[Sequence[Any]]) -> list[Page]:
        """Rows of the id and a page's columns, as they were asked for."""
        self.passed([row[0] for row in rows])
        return [page_of(row[1:]) for row in rows]

    def passed(self, ids: Sequence[int]) -> None:
        """These were shown: go on behind them."""
        if ids:
            self.values["after"] = ids[-1]
        if self._left is not None:
            self._left -= len(ids)
        self._shorten()

    def _shorten(self) -> None:
        if self._left is not None:
            self.values["most"] = min(self._most, max(self._left, 0))
