"""Those who are watched over, what they are held to, and what their counts mean."""

import asyncio
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from outrider.engine.messages import Channel, Drain, Report, Stop
from outrider.model.progress import Counts
from outrider.model.reason import Reason
from outrider.model.record import PageStatus, Tally

_SILENT: Final = frozenset(
    {
        *(Reason.DNS_FAILURE, Reason.DNS_NOT_FOUND, Reason.CONNECT_FAILED, Reason.CONNECT_REFUSED),
        *(Reason.CONNECT_TIMEOUT, Reason.BLOCKED_ADDRESS, Reason.TLS_FAILURE, Reason.TLS_EXPIRED),
        *(Reason.TLS_UNTRUSTED, Reason.TLS_WRONG_NAME),
    }
)
"""Ends of visits that never got an answer."""


class Mate(Protocol):
    """A worker, wherever it runs."""

    @property
    def channel(self) -> Channel: ...

    async def wait(self) -> int:
        """Its exit code, once it is gone."""
        ...

    def kill(self) -> None: ...


class Terms(Struct, frozen=True):
    """What the whole crawl is held to. `seconds` is the longest that this run may take. A service is `endless`."""

    workers: int = 1
    pages: int | None = None
    seconds: float | None = None
    recrawls: bool = False
    resumed: bool = False
    directory: str = ""
    endless: bool = False


class Watched(Struct):
    mate: Mate
    report: Report = field(default_factory=lambda: Report(Counts()))
    listening: asyncio.Task[None] | None = None
    is_done: bool = False
    is_broken: bool = False
    told: Drain | Stop | None = None


def pages_of(tally: Tally) -> int:
    """What counts against the limit: pages that were had, new or unchanged."""
    return tally.pages.get(PageStatus.FETCHED, 0) + tally.pages.get(PageStatus.NOT_MODIFIED, 0)


def satisfied(report: Report) -> Report:
    """Until the next one says otherwise, its worker has what it wanted."""
    return replace(report, account=replace(report.account, wants=False))


def silent(counts: Counts) -> int:
    """Visits to which nothing came back."""
    return sum(number for reason, number in counts.errors.items() if reason in _SILENT)
