"""The records in memory keep the contract."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from outrider.ports import Records
from outrider.stores.memory.records import MemoryRecords
from outrider.stores.records import open_records
from outrider.testing.contracts.records_browsing import BrowsedRecordsContract
from outrider.testing.contracts.records_export import RecordsExportContract
from outrider.testing.contracts.traffic import TrafficContract


class TestMemoryRecords(BrowsedRecordsContract, RecordsExportContract, TrafficContract):
    by_reason = False

    def open(self, name: str) -> AbstractAsyncContextManager[Records]:
        return self._same(name)

    @asynccontextmanager
    async def _same(self, name: str) -> AsyncIterator[Records]:
        """One process is all it has, so every handle is the same object."""
        stores: dict[str, Records] = self.__dict__.setdefault("stores", {})
        yield stores.setdefault(name, MemoryRecords())


async def test_they_are_opened_by_their_url() -> None:
    async with open_records("memory:") as records:
        assert isinstance(records, MemoryRecords)
