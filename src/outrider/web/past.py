"""What happened before anybody watched? From the latest visits on record, as many as can be read in a moment."""

from typing import Final

from outrider.model.record import PageFilter, PageStatus
from outrider.ops.ancestry import instant
from outrider.ports import BrowsablePages
from outrider.web.history import points_of
from outrider.web.shapes import Point

_AT_ONCE: Final = 500
_MOST: Final = 20
"""Looks; so 10,000 visits at the most."""
_KINDS: Final = {
    PageStatus.FETCHED: "pages",
    PageStatus.NOT_MODIFIED: "unchanged",
    PageStatus.MOVED: "moved",
    PageStatus.SKIPPED: "skipped",
    PageStatus.FAILED: "failed",
}


async def past_points(records: object) -> list[Point]:
    """Raises what the records raise; none where they cannot be looked at page by page."""
    if not isinstance(records, BrowsablePages):
        return []
    found: list[tuple[float, str, int]] = []
    before: str | None = None
    for _ in range(_MOST):
        some = await records.browse_pages(PageFilter(), before, most=_AT_ONCE, look=_AT_ONCE)
        for page in some.pages:
            at = instant(page.metadata.fetched_at)
            if at is not None:
                found.append((at, _KINDS[page.metadata.status], page.metadata.wire_length))
        before = some.before
        if before is None:
            break
    return points_of(found)
