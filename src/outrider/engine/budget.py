"""May one more page be fetched? The limits of a crawl, exact at any concurrency: no visit starts without a permit.

A permit is one page, and the most bytes that one body may have. It is taken before the visit and comes back when the
visit is settled, with what it really brought. So what is out never exceeds what is left, whoever dies meanwhile:
`Keeper` has the whole (one for a crawl), each worker's `Purse` has some of it in hand.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

_LOT: Final = 512
"""Permits handed out at once when there are plenty: enough that no visit of a worker waits for the next ones, and fewer
near the end, so that nobody starves beside a full purse."""


class Limits(Struct, frozen=True):
    """Of the whole crawl, earlier runs included; None is without limit. `body` is the most that one page may have."""

    pages: int | None = None
    bytes: int | None = None
    body: int = 1

    @property
    def exist(self) -> bool:
        return self.pages is not None or self.bytes is not None

    def permits(self, pages: int, size: int) -> int:
        """How many visits may still be made after so many pages of that many bytes in all."""
        by_pages = None if self.pages is None else self.pages - pages
        by_bytes = None if self.bytes is None else (self.bytes - size) // self.body
        return max(0, min(left for left in (by_pages, by_bytes) if left is not None))


class Account(Struct, frozen=True):
    """From a worker: so many permits come back, and this is what was done with them. `wants`: it needs more."""

    returned: int = 0
    pages: int = 0
    bytes: int = 0
    wants: bool = False


class Keeper:
    """Counts what was fetched and what is out. `exhausted` is decided on the store's own count, never on hearsay."""

    def __init__(self, limits: Limits, workers: int) -> None:
        self._limits = limits
        self._workers = workers
        self._pages = 0
        self._bytes = 0
        self._meanwhile = Account()
        self._out: dict[int, int] = {}

    def begin_recount(self) -> None:
        """The record is being counted: what is heard from here on may be missing in that count."""
        self._meanwhile = Account()

    def recount(self, pages: int, size: int) -> None:
        """What is on record. Pages that are recorded but not accounted for count twice until the next recount."""
        self._pages, self._bytes = pages + self._meanwhile.pages, size + self._meanwhile.bytes

    def hear(self, worker: int, account: Account) -> None:
        self._out[worker] = self._out.get(worker, 0) - account.returned
        self._pages += account.pages
        self._bytes += account.bytes
        late = self._meanwhile
        self._meanwhile = Account(pages=late.pages + account.pages, bytes=late.bytes + account.bytes)

    def forget(self, worker: int) -> None:
        """It died. What it had fetched is on record or will be fetched again: `recount` before the next grant."""
        self._out.pop(worker, None)

    @property
    def out(self) -> int:
        return sum(self._out.values())

    @property
    def available(self) -> int:
        return max(0, self._limits.permits(self._pages, self._bytes) - self.out)

    def grant(self, worker: int) -> int:
        lot = max(1, min(_LOT, self.available // (2 * self._workers)))
        granted = min(lot, self.available)
        self._out[worker] = self._out.get(worker, 0) + granted
        return granted


class Purse(Protocol):
    """A worker's permits."""

    async def take(self) -> bool:
        """Wait for one. False when there will never be one again."""
        ...

    def account_for(self, *, is_page: bool, size: int) -> None:
        """A visit that took a permit is settled, or was given up."""
        ...

    def close(self) -> None:
        """Nobody gets one any more."""
        ...


class Unlimited:
    """For a crawl without limits."""

    def __init__(self) -> None:
        self._is_closed = False

    async def take(self) -> bool:
        return not self._is_closed

    def account_for(self, *, is_page: bool, size: int) -> None:
        """Nothing was taken."""

    def close(self) -> None:
        self._is_closed = True


class Permits:
    """A purse that is filled from afar: `changed` is called when there is an account to send."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._in_hand = 0
        self._is_closed = False
        self._waiting = 0
        self._news = asyncio.Event()
        self._returned = self._pages = self._bytes = 0

    async def take(self) -> bool:
        while self._in_hand == 0 and not self._is_closed:
            self._waiting += 1
            self._news.clear()
            self._changed()
            try:
                await self._news.wait()
            finally:
                self._waiting -= 1
        if self._is_closed:
            return False
        self._in_hand -= 1
        return True

    def account_for(self, *, is_page: bool, size: int) -> None:
        self._returned += 1
        self._pages += is_page
        self._bytes += size if is_page else 0
        self._changed()

    def receive(self, permits: int) -> None:
        self._in_hand += permits
        self._news.set()

    def close(self) -> None:
        self._is_closed = True
        self._news.set()

    def put_back(self) -> None:
        """There is nothing to spend them on: let others have them."""
        self._returned += self._in_hand
        self._in_hand = 0

    def account(self) -> Account:
        """What has to be told, once."""
        told = Account(self._returned, self._pages, self._bytes, wants=self._waiting > 0 and not self._in_hand)
        self._returned = self._pages = self._bytes = 0
        return told
