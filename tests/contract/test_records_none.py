"""Records that are not kept: written without complaint, and never found."""

from outrider.model.record import PageFilter, Tally
from outrider.stores.records import open_records
from outrider.testing.contracts.records import HOME, pages_of, visit


async def test_none_takes_everything_and_finds_nothing() -> None:
    async with open_records("none:") as records:
        await records.write([visit(1)])

        assert await records.find(HOME) == []
        assert await pages_of(records, PageFilter()) == []
        assert await records.tally() == Tally()
