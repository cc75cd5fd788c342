"""The SQLite records keep the contract, whatever is written."""

import asyncio
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outrider.model.record import Record
from outrider.model.url import Url
from outrider.ports import Records
from outrider.stores.memory.records import MemoryRecords
from outrider.stores.records import open_records
from outrider.testing.contracts.records import pages_of, visits
from outrider.testing.contracts.records_browsing import BrowsedRecordsContract
from outrider.testing.contracts.records_export import RecordsExportContract
from outrider.testing.contracts.traffic import TrafficContract


class TestSqliteRecords(BrowsedRecordsContract, RecordsExportContract, TrafficContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path

    def open(self, name: str) -> AbstractAsyncContextManager[Records]:
        return open_records(f"sqlite://{self.path}/{name}.db")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(written=st.lists(visits(), max_size=3))
def test_any_visit_comes_back_as_from_memory(tmp_path: Path, written: list[Record]) -> None:
    async def both() -> None:
        model = MemoryRecords()
        async with open_records(f"sqlite://{tmp_path}/{uuid4().hex}.db") as store:
            for records in (model, store):
                await records.write(written)
                await records.write(written[:1])
            urls = {page.url for page in await pages_of(model)} | {
                one.url for each in written for one in each.decisions
            }
            for url in urls:
                assert await store.find(Url.trusted(url)) == await model.find(Url.trusted(url))
            assert await pages_of(store) == await pages_of(model)
            assert await store.tally() == await model.tally()

    asyncio.run(both())
