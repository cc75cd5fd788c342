"""Stores that tell what was asked of them, and that fail when the test wants them to. The work is done by others."""

from collections.abc import Sequence

from outrider.errors import StoreError, StoreUnavailable
from outrider.model.capture import Capture
from outrider.model.event import Event
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Census, Filter, Leased, Settled
from outrider.model.reason import Reason
from outrider.model.record import Record, Tally
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import ContentStore, EventSink, Frontier
from outrider.stores.memory.records import MemoryRecords


class Acts:
    """`done` is the log of acts. An act in `away` is refused so many times, one in `late` happens and is then refused;
    one in `broken` fails for good.
    """

    def __init__(self) -> None:
        self.done: list[str] = []
        self.away: dict[str, int] = {}
        self.late: dict[str, int] = {}
        self.broken: set[str] = set()

    def begin(self, act: str) -> None:
        if act in self.broken:
            raise StoreError(f"{act} is broken")
        if self.away.get(act, 0):
            self.away[act] -= 1
            raise StoreUnavailable(f"{act} is away")
        self.done.append(act)

    def end(self, act: str) -> None:
        if self.late.get(act, 0):
            self.late[act] -= 1
            raise StoreUnavailable(f"the answer of {act} is lost")


class WrappedFrontier:
    def __init__(self, inner: Frontier, acts: Acts) -> None:
        self._inner = inner
        self._acts = acts

    async def add(self, tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> list[Added]:
        self._acts.begin("add")
        added = await self._inner.add(tasks, refused)
        self._acts.end("add")
        return added

    async def lease(self, *, sites: int, tasks: int, seconds: float) -> Leased:
        self._acts.begin("lease")
        return await self._inner.lease(sites=sites, tasks=tasks, seconds=seconds)

    async def extend(self, leases: Sequence[Lease], seconds: float) -> list[Lease | None]:
        self._acts.begin("extend")
        return await self._inner.extend(leases, seconds)

    async def settle(self, accounts: Sequence[Settled]) -> list[bool]:
        self._acts.begin("settle")
        answers = await self._inner.settle(accounts)
        self._acts.end("settle")
        return answers

    async def release(self, leases: Sequence[Lease]) -> None:
        await self._inner.release(leases)

    async def revive(self, wanted: Filter) -> int:
        return await self._inner.revive(wanted)

    async def census(self) -> Census:
        return await self._inner.census()


class WrappedRecords(MemoryRecords):
    def __init__(self, acts: Acts) -> None:
        super().__init__()
        self._acts = acts

    async def write(self, records: Sequence[Record]) -> None:
        self._acts.begin("write")
        await super().write(records)
        self._acts.end("write")

    async def tally(self) -> Tally:
        return await super().tally()


class WrappedContents:
    def __init__(self, inner: ContentStore, acts: Acts) -> None:
        self._inner = inner
        self._acts = acts

    async def put(self, captures: Sequence[Capture]) -> list[str]:
        self._acts.begin("put")
        return await self._inner.put(captures)

    async def confirm(self, keys: Sequence[str]) -> None:
        self._acts.begin("confirm")
        await self._inner.confirm(keys)

    async def get(self, key: str) -> Capture | None:
        return await self._inner.get(key)


class WrappedEvents:
    def __init__(self, inner: EventSink, acts: Acts) -> None:
        self._inner = inner
        self._acts = acts

    async def publish(self, events: Sequence[Event]) -> None:
        self._acts.begin("publish")
        await self._inner.publish(events)
