"""An export that has begun: stores are opened, rows are written, and what is missing among them is said."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeAlias

import typer
from msgspec import Struct

from outrider.cli.exit_codes import ExitCode
from outrider.cli.whole_file import STDOUT, output_to
from outrider.errors import ConfigError
from outrider.model.record import PageFilter
from outrider.observe.words import visible
from outrider.ops.export.cdxj import merged_index
from outrider.ops.export.evidence import DECISIONS, EVIDENCE, decisions, facts
from outrider.ops.export.links import EDGES, Unread, edges
from outrider.ops.export.reading import limited
from outrider.ops.export.redirects import REDIRECTS, redirects
from outrider.ops.formats import FORMATS, Sheet, for_spreadsheets
from outrider.ops.pages import PAGES
from outrider.ops.walks import walking
from outrider.ports import ExportsRecords, Records
from outrider.stores.contents import open_answers
from outrider.stores.place import Place
from outrider.stores.records import open_records
from outrider.stores.warc.reader import folders_of

Rows: TypeAlias = tuple[Sheet[Any], AsyncIterator[list[Any]]]


class Sources(Struct, frozen=True):
    """Where the rows come from, as URLs; empty for what is not needed."""

    records: str = ""
    answers: str = ""


class Asked(Struct, frozen=True):
    what: str
    wanted: PageFilter
    limit: int | None
    form: str
    output: Path


async def write_rows(asked: Asked, sources: Sources) -> int:
    unread = Unread()
    count = 0
    async with AsyncExitStack() as stack:
        records = await stack.enter_async_context(open_records(sources.records, create=False))
        sheet, found = await _rows(asked, records, sources, unread, stack)
        out = stack.enter_context(output_to(asked.output, "--output"))
        form = for_spreadsheets if asked.form == "spreadsheet" else FORMATS[asked.form]
        write = stack.enter_context(form(out, sheet))
        async for batch in await stack.enter_async_context(walking(limited(found, asked.limit))):
            write(batch)
            count += len(batch)
    _say_how_many(asked.what, count, asked.output)
    if unread.gone:
        typer.echo(f"the answers of {unread.gone:,} pages are gone; what these link to is not in here", err=True)
    if unread.damaged:
        typer.echo(
            f"the answers of {unread.damaged:,} pages cannot be read; what these link to is not in here; "
            f"the first is {visible(unread.complaint)}",
            err=True,
        )
    return ExitCode.STORE if unread.damaged else ExitCode.OK


def write_index(sources: Sources, output: Path) -> int:
    """Raises `ConfigError` when the answers are no archive, or it is not there."""
    place = Place(sources.answers)
    if place.scheme != "warc":
        raise ConfigError(f"{place}: only an archive has an index, and the answers of this crawl are in none")
    archive, indexes = folders_of(place)
    count = 0
    with output_to(output, "--output") as out:
        for line in merged_index(archive, indexes):
            out.write(line)
            count += 1
    _say_how_many("captures", count, output)
    return ExitCode.OK


async def _rows(asked: Asked, records: Records, sources: Sources, unread: Unread, stack: AsyncExitStack) -> Rows:
    if asked.what == "pages":
        return PAGES, records.pages(asked.wanted)
    if not isinstance(records, ExportsRecords):
        raise ConfigError(f"{Place(sources.records)}: these records give out pages alone")
    match asked.what:
        case "evidence":
            return EVIDENCE, facts(records, asked.wanted)
        case "decisions":
            return DECISIONS, decisions(records, asked.wanted)
        case "redirects":
            return REDIRECTS, redirects(records, records, asked.wanted)
        case _:
            answers = await stack.enter_async_context(open_answers(sources.answers))
            return EDGES, edges(records, answers, asked.wanted, unread)


def _say_how_many(what: str, count: int, output: Path) -> None:
    if not count:
        typer.echo(f"there are no {what} that match", err=True)
    elif output != STDOUT:
        typer.echo(f"{count:,} {what} written", err=True)
