"""The contract of records that can be written out whole: every visit with its evidence, and every decision, once.

Inherit from `RecordsExportContract` beside `RecordsContract`, whose `open` and `name` it uses.
"""

# ruff: noqa: S101 - a contract asserts

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from msgspec.structs import replace

from outrider.model.record import Decision, HttpHeaders, PageFilter, PageStatus, Record
from outrider.ports import ExportsRecords, Records
from outrider.testing.contracts.records import decision, visit


async def visits_of(records: ExportsRecords, wanted: PageFilter = PageFilter()) -> list[Record]:  # noqa: B008 - frozen
    return [record async for batch in records.visits(wanted) for record in batch]


async def decisions_of(records: ExportsRecords) -> list[Decision]:
    return [one async for batch in records.decisions() for one in batch]


class RecordsExportContract:
    def open(self, name: str) -> AbstractAsyncContextManager[Records]:
        raise NotImplementedError("say how to open the backend")

    @asynccontextmanager
    async def _open(self, name: str) -> AsyncIterator[tuple[Records, ExportsRecords]]:
        """The same store by both its names."""
        async with self.open(name) as records:
            assert isinstance(records, ExportsRecords)
            yield records, records

    async def test_visits_come_with_their_evidence_as_they_were_written(self, name: str) -> None:
        odd = visit(2, final="http://example.org/b", title="\x00日本", error="é")
        bare = replace(visit(3), evidence=())
        elsewhere = replace(visit(4), evidence=(replace(visit(4).evidence[0], url="http://other.org/"),))
        async with self._open(name) as (records, exported):
            await records.write([visit(1), odd])
            await records.write([bare, elsewhere, Record(decisions=(decision(),))])

            assert await visits_of(exported) == [visit(1), odd, bare, elsewhere]

    async def test_a_visit_written_again_keeps_its_place_and_says_what_it_says_now(self, name: str) -> None:
        again = replace(visit(1, code=500), evidence=visit(1).evidence[:1])
        async with self._open(name) as (records, exported):
            await records.write([visit(1), visit(2)])
            await records.write([again])

            assert await visits_of(exported) == [again, visit(2)]

    async def test_visits_are_filtered_as_pages_are(self, name: str) -> None:
        some = [
            visit(1, "http://example.org/", at="1970-01-01T00:00:01.000Z"),
            visit(2, "http://www.example.org/", code=404, at="1970-01-01T00:00:02.000Z"),
            visit(3, "http://other.org:8080/", at="1970-01-01T00:00:03.000Z"),
        ]
        async with self._open(name) as (records, exported):
            await records.write(some)

            assert await visits_of(exported, PageFilter(status=PageStatus.FAILED)) == [some[1]]
            assert await visits_of(exported, PageFilter(site="example.org", limit=1)) == [some[0]]
            assert await visits_of(exported, PageFilter(since=2.0)) == some[1:]
            assert await visits_of(exported, PageFilter(site="other.org:8080", status_code=200)) == [some[2]]
            assert await visits_of(exported, PageFilter(limit=0)) == []

    async def test_decisions_come_once_in_the_order_of_their_writing(self, name: str) -> None:
        first = replace(decision(), rule="Disallow: /\x00", parent=None)
        last = decision("http://example.org/x", at=0.5)
        async with self._open(name) as (records, exported):
            await records.write([Record(decisions=(first, decision(by="scope"))), visit(1)])
            await records.write([Record(decisions=(replace(first, at=9.0), last))])

            assert await decisions_of(exported) == [first, decision(by="scope"), last]

    async def test_many_come_in_batches_while_others_are_written(self, name: str) -> None:
        proof = visit(1).evidence[:1]
        many = [
            replace(visit(n), evidence=tuple(replace(one, fetch_id=f"fetch-{n}") for one in proof)) for n in range(700)
        ]
        decided = [decision(f"http://example.org/{n}") for n in range(1_200)]
        async with self._open(name) as (records, exported):
            for start in range(0, 700, 350):
                await records.write(many[start : start + 350])
            await records.write([Record(decisions=tuple(decided))])

            visits: list[list[Record]] = []
            async for batch in exported.visits(PageFilter()):
                if not visits:
                    await records.write([visit(9_999), Record(decisions=(decision("http://late.org/"),))])
                visits.append(batch)
            decisions: list[list[Decision]] = []
            async for some in exported.decisions():
                if not decisions:
                    await records.write([Record(decisions=(decision("http://later.org/"),))])
                decisions.append(some)

        assert len(visits) > 1
        assert [record for batch in visits for record in batch] == many
        assert len(decisions) > 1
        assert [one.url for some in decisions for one in some] == [one.url for one in decided] + ["http://late.org/"]

    async def test_who_stops_reading_early_leaves_nothing_open(self, name: str) -> None:
        async with self._open(name) as (records, exported):
            await records.write([visit(n) for n in range(300)])
            reading = exported.visits(PageFilter())

            first = await anext(reading)
            await reading.aclose()  # type: ignore[attr-defined]  # all of them are generators

            assert first[0] == visit(0)
            await records.write([visit(301)])

    async def test_nothing_is_written_out_of_nothing(self, name: str) -> None:
        async with self._open(name) as (_, exported):
            assert await visits_of(exported) == []
            assert await decisions_of(exported) == []

    async def test_long_evidence_comes_whole(self, name: str) -> None:
        long = HttpHeaders(tuple((f"X-{n}", "v" * 1_000) for n in range(100)))
        record = replace(visit(1), evidence=(replace(visit(1).evidence[3], content=long),))
        async with self._open(name) as (records, exported):
            await records.write([record])

            assert await visits_of(exported) == [record]
