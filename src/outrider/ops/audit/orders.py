"""What had operators said about a site then? Their orders are events, where those are kept in files.

An order is obeyed within seconds, so around its moment both what it asks for and what held before are accepted.
"""

from bisect import bisect_right
from pathlib import Path
from typing import Final

from msgspec import DecodeError

from outrider.errors import StoreError
from outrider.model.codec import from_json
from outrider.model.event import SiteOrdered
from outrider.stores.files.event_lines import event_files

GRACE: Final = 10.0
_MARK: Final = b'"site_ordered"'


class Orders:
    def __init__(self, events: list[SiteOrdered] | None = None) -> None:
        self._by_site: dict[str, list[SiteOrdered]] = {}
        for event in sorted(events or [], key=lambda one: one.at):
            self._by_site.setdefault(event.site, []).append(event)

    def delay(self, site: str, at: float, setting: float) -> float:
        """The shortest that may have been in force, in the place of the setting's."""
        if site not in self._by_site:
            return setting
        found = [setting if order is None or order.delay is None else order.delay for order in self._around(site, at)]
        return min(found)

    def silence(self, site: str, at: float) -> SiteOrdered | None:
        """The order that kept the site silent then, if one surely did."""
        if site not in self._by_site:
            return None
        around = self._around(site, at)
        if all(order is not None and (order.paused or order.excluded) for order in around):
            return around[-1]
        return None

    def _around(self, site: str, at: float) -> list[SiteOrdered | None]:
        orders = self._by_site[site]
        moments = [order.at for order in orders]
        first, last = bisect_right(moments, at - GRACE), bisect_right(moments, at + GRACE)
        before = orders[first - 1] if first else None
        return [before, *orders[first:last]]


def read_orders(folder: Path | None) -> Orders:
    """Raises `StoreError` for files that cannot be read."""
    if folder is None:
        return Orders()
    found: list[SiteOrdered] = []
    try:
        for file in event_files(folder):
            with file.open("rb") as lines:
                found += [event for line in lines if _MARK in line and (event := _read(line))]
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error
    return Orders(found)


def _read(line: bytes) -> SiteOrdered | None:
    """None for a line that is damaged, or still being written."""
    try:
        return from_json(line, SiteOrdered)
    except (DecodeError, UnicodeDecodeError):
        return None
