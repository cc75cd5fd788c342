"""The PostgreSQL records keep the contract, whatever is written."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.services.postgres import PostgresServer, running

from outrider.model.record import Record
from outrider.model.url import Url
from outrider.ports import Records
from outrider.stores.memory.records import MemoryRecords
from outrider.stores.records import open_records
from outrider.testing.contracts.records import pages_of, visits
from outrider.testing.contracts.records_browsing import BrowsedRecordsContract
from outrider.testing.contracts.records_export import RecordsExportContract
from outrider.testing.contracts.traffic import TrafficContract


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


class TestPostgresRecords(BrowsedRecordsContract, RecordsExportContract, TrafficContract):
    @pytest.fixture(autouse=True)
    async def drop_schemas(self, server: PostgresServer, name: str) -> AsyncIterator[None]:
        self.server = server
        yield
        await server.drop(name)
        await server.drop(f"{name}b")

    def open(self, name: str) -> AbstractAsyncContextManager[Records]:
        return open_records(self.server.url(name))


def test_any_visit_comes_back_as_from_memory(server: PostgresServer) -> None:
    @settings(max_examples=15, deadline=None)
    @given(written=st.lists(visits(), max_size=3))
    def judge(written: list[Record]) -> None:
        asyncio.run(both(written))

    async def both(written: list[Record]) -> None:
        model = MemoryRecords()
        name = f"t{uuid4().hex[:12]}"
        async with open_records(server.url(name)) as store:
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
        await server.drop(name)
        await server.drop(f"{name}b")

    judge()
