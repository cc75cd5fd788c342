"""Evidence and decisions as rows: one for each piece, its content beside it as JSON."""

from collections.abc import AsyncIterator
from typing import Any, Final

from msgspec import Struct

from outrider.model.codec import to_json
from outrider.model.record import Decision, EvidenceContent, PageFilter
from outrider.ops.formats import Kind, Sheet, flat
from outrider.ops.walks import walking
from outrider.ports import ExportsRecords
from outrider.stores.page_rows import site_wanted


class Fact(Struct, frozen=True, rename="camel"):
    """One piece of evidence, with the moment of its visit."""

    fetch_id: str
    url: str
    fetched_at: str
    kind: str
    content: EvidenceContent
    metadata: dict[str, str | int | float | bool | None]


def _values(fact: Fact) -> tuple[Any, ...]:
    content, metadata = to_json(fact.content).decode(), to_json(fact.metadata).decode()
    return fact.fetch_id, fact.url, fact.fetched_at, fact.kind, content, metadata


EVIDENCE: Final[Sheet[Fact]] = Sheet(
    {name: Kind.MOMENT if name == "fetchedAt" else Kind.TEXT for name in Fact.__struct_encode_fields__}, _values
)
DECISIONS: Final[Sheet[Decision]] = flat(Decision, {"at": Kind.NUMBER})


async def facts(records: ExportsRecords, wanted: PageFilter) -> AsyncIterator[list[Fact]]:
    async with walking(records.visits(wanted)) as found:
        async for visits in found:
            yield [
                Fact(one.fetch_id, one.url, record.page.metadata.fetched_at, one.kind, one.content, one.metadata)
                for record in visits
                if record.page is not None
                for one in record.evidence
            ]


async def decisions(records: ExportsRecords, wanted: PageFilter) -> AsyncIterator[list[Decision]]:
    """By site, reason and moment; a decision has no status."""
    site = None if wanted.site is None else site_wanted(wanted.site)
    async with walking(records.decisions()) as found:
        async for some in found:
            yield [
                one
                for one in some
                if (site is None or site.has(one.url))
                and wanted.reason in {None, one.reason}
                and (wanted.since is None or one.at >= wanted.since)
            ]
