"""Records that are not kept: written without complaint, and never found."""

import pytest

from outrider.errors import ConfigError
from outrider.model.record import PageFilter, PageSlice, Tally
from outrider.ports import BrowsablePages, ExportsRecords
from outrider.stores.records import open_records
from outrider.testing.contracts.records import HOME, pages_of, visit
from outrider.testing.contracts.records_export import decisions_of, visits_of
from outrider.testing.contracts.traffic import auditable, requests_of, robots_of


async def test_none_takes_everything_and_finds_nothing() -> None:
    async with open_records("none:") as records:
        await records.write([visit(1)])

        assert await records.find(HOME) == []
        assert await pages_of(records, PageFilter()) == []
        assert await records.tally() == Tally()
        assert isinstance(records, ExportsRecords)
        assert await visits_of(records) == []
        assert await decisions_of(records) == []
        assert await requests_of(auditable(records)) == []
        assert await robots_of(auditable(records)) == []
        assert await auditable(records).manners() == {}
        assert isinstance(records, BrowsablePages)
        assert await records.browse_pages(PageFilter()) == PageSlice(())
        with pytest.raises(ConfigError, match="no records here"):
            await records.browse_pages(PageFilter(), "x")
