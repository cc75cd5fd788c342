"""The contract of records that can also be looked at page by page, the latest first: `BrowsedRecordsContract`.

Inherit from it in place of `RecordsContract` when your backend offers `browse_pages`.
"""

# ruff: noqa: S101 - a contract asserts

from typing import Final

import pytest

from outrider.errors import ConfigError
from outrider.model.record import Page, PageFilter, PageSlice, PageStatus, Record
from outrider.ports import BrowsablePages, Records
from outrider.testing.contracts.records import RecordsContract, ids, pages_of, visit

_ENOUGH: Final = 10_000
"""So many slices would be a reader that never comes to an end."""

TEXTS: Final = (
    *("", "/", "org/1", "%", "_", "\\", "'", '"', "ä", "日", "A", "a_b", "100%", "%_", "HTTP", "nowhere", "x|y"),
    *("\x00", "\ud800", "?q=", "[::1]", "*", "."),
)

FILTERS: Final = (
    PageFilter(status=PageStatus.FAILED),
    PageFilter(reason="too_many_redirects"),
    PageFilter(reason="http_404"),
    PageFilter(reason="http_404", text="example.org/1"),
    PageFilter(reason="no_such_reason"),
    PageFilter(reason="\x00"),
    PageFilter(status_code=404),
    PageFilter(status_code=1 << 70),
    PageFilter(site="example.org"),
    PageFilter(site="127.0.0.1:8080"),
    PageFilter(site="\ud800"),
    PageFilter(since=3.0),
    PageFilter(site="example.org", text="a_b", status=PageStatus.FAILED),
)


async def look(records: Records, wanted: PageFilter, before: str | None = None, **sizes: int) -> PageSlice:
    assert isinstance(records, BrowsablePages)
    return await records.browse_pages(wanted, before, **sizes)


async def browsed(records: Records, wanted: PageFilter, **sizes: int) -> list[Page]:
    """All slices, the latest page first."""
    found: list[Page] = []
    before: str | None = None
    for _ in range(_ENOUGH):
        one = await look(records, wanted, before, **sizes)
        assert len(one.pages) <= sizes.get("most", 100)
        found += one.pages
        before = one.before
        if before is None:
            return found
    raise AssertionError(f"still not at the end: {wanted}")


def visits() -> list[Record]:
    return [
        visit(1, "http://example.org/", at="1970-01-01T00:00:01.000Z"),
        visit(2, "https://www.example.org/a_b", code=404, at="1970-01-01T00:00:02.000Z"),
        visit(3, "http://127.0.0.1/100%", code=500, reason="too_many_redirects", at="1970-01-01T00:00:03.000Z"),
        visit(4, 'http://127.0.0.1:8080/it\'s?q="x|y"', at="1970-01-01T00:00:04.000Z"),
        visit(5, "http://[::1]:81/ä\\日", at="1970-01-01T00:00:05.000Z"),
        visit(6, "http://example.org/10", code=404, at="1970-01-01T00:00:06.000Z"),
        visit(7, "http://example.org/axb", at="1970-01-01T00:00:07.000Z"),
    ]


class BrowsedRecordsContract(RecordsContract):
    """Set `by_reason = False` when a backend finds the pages of one reason only among all the others."""

    by_reason = True

    async def test_the_latest_come_first_each_once_whatever_the_size_of_a_page(self, name: str) -> None:
        async with self.open(name) as records:
            for one in visits():
                await records.write([one])

            for most, far in ((1, 100), (3, 100), (100, 1), (100, 2), (7, 7), (1_000, 100_000)):
                assert await browsed(records, PageFilter(), most=most, look=far) == (await pages_of(records))[::-1]

    async def test_the_same_pages_are_found_as_by_a_walk_over_all(self, name: str) -> None:
        """S0-18."""
        async with self.open(name) as records:
            await records.write(visits())

            for wanted in FILTERS:
                expected = (await pages_of(records, wanted))[::-1]
                for most, far in ((2, 100_000), (100, 2)):
                    assert await browsed(records, wanted, most=most, look=far) == expected, wanted

    async def test_text_is_a_part_of_the_url_letter_by_letter(self, name: str) -> None:
        async with self.open(name) as records:
            await records.write(visits())

            for text in TEXTS:
                has = [n for n, one in enumerate(visits(), start=1) if one.page is not None and text in one.page.url]
                assert await ids(records, PageFilter(text=text)) == has, text
                found = await browsed(records, PageFilter(text=text), look=3)
                assert [page.fetch_id for page in found] == [f"fetch-{n}" for n in reversed(has)], text

    async def test_a_limit_is_left_to_the_size_of_a_page(self, name: str) -> None:
        async with self.open(name) as records:
            await records.write(visits())

            assert len(await browsed(records, PageFilter(limit=1))) == 7

    async def test_a_rare_match_is_found_over_several_slices(self, name: str) -> None:
        async with self.open(name) as records:
            await records.write([visit(1, "http://example.org/rare")])
            await records.write([visit(n) for n in range(2, 202)])
            sizes: list[int] = []
            looked = 0
            before: str | None = None
            for _ in range(_ENOUGH):
                one = await look(records, PageFilter(text="rare"), before, most=10, look=30)
                sizes.append(len(one.pages))
                looked += one.looked_at
                if (before := one.before) is None:
                    break

        assert sum(sizes) == 1
        assert sizes.count(0) > 3, "empty slices do not mean the end"
        assert looked >= 201

    async def test_a_rare_reason_is_found_at_once(self, name: str) -> None:
        """Looking for one does not pass all the others by."""
        if not self.by_reason:
            pytest.skip("these records are walked through")
        async with self.open(name) as records:
            await records.write([visit(1, code=404)])
            await records.write([visit(n) for n in range(2, 202)])

            one = await look(records, PageFilter(reason="http_404"), look=30)

        assert [page.fetch_id for page in one.pages] == ["fetch-1"]

    async def test_what_is_written_meanwhile_moves_nothing(self, name: str) -> None:
        """New visits come before the first page; one that is written again keeps its place."""
        async with self.open(name) as records:
            await records.write([visit(n) for n in range(20)])
            seen: list[str] = []
            before: str | None = None
            for turn in range(_ENOUGH):
                one = await look(records, PageFilter(), before, most=6)
                seen += [page.fetch_id for page in one.pages]
                if (before := one.before) is None:
                    break
                await records.write([visit(100 + turn), visit(turn, code=404)])

        assert seen == [f"fetch-{n}" for n in reversed(range(20))]

    async def test_only_what_these_records_said_is_a_place_to_go_on(self, name: str) -> None:
        async with self.open(name) as records, self.open(f"{name}b") as other:
            for store in (records, other):
                await store.write(visits())
            mine = (await look(records, PageFilter(), most=3)).before
            theirs = (await look(other, PageFilter(), most=3)).before
            assert mine is not None
            assert theirs is not None

            for wrong in (theirs, "", "x", mine[:-1], mine + "A", f"{mine}=", "é", "0", "\ud800", "a" * 9_999):
                with pytest.raises(ConfigError, match="is not where"):
                    await look(records, PageFilter(), wrong)
            assert len((await look(records, PageFilter(), mine)).pages) == 4

    async def test_no_pages_are_one_empty_slice(self, name: str) -> None:
        async with self.open(name) as records:
            assert await look(records, PageFilter()) == PageSlice(())
