"""`outrider pages`: what is on record of a crawl's visits? It only reads, also while the crawl runs."""

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final, Literal
from urllib.parse import quote

import typer

from outrider.cli.exit_codes import ExitCode
from outrider.cli.page_filter import Code, Ended, Since, Site, Why, filter_of
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console

    from outrider.model.record import Page, PageFilter

Format = Literal["table", "jsonl", "csv", "parquet"]

FILE: Final = "crawl.db"
"""Where a crawl's folder keeps its records, and its frontier."""

_SUFFIXES: Final[dict[str, Format]] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def pages(  # noqa: PLR0913 - one argument for each option
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The crawl's folder; else this one.", show_default=False)
    ] = None,
    *,
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="Records elsewhere: postgresql://…, sqlite:///FILE.")
    ] = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="All that is known of this URL.")] = None,
    status: Ended = None,
    reason: Why = None,
    code: Code = None,
    site: Site = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="A part of the URL, letter by letter.")
    ] = None,
    since: Since = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many.")] = None,
    output_format: Annotated[
        Format | None, typer.Option("--format", help="Else by the name of the output, else a table.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="- for standard output.")] = Path("-"),
) -> int:
    """List the pages on record, or all that is known of one URL."""
    from outrider.loop import run  # noqa: PLC0415 - late, as in options
    from outrider.model.record import PageFilter  # noqa: PLC0415 - the same

    wanted = filter_of(status, reason, code, site, since, limit=limit, text=text)
    place = _place(folder, store)
    chosen: Format = output_format or _SUFFIXES.get(output.suffix.lower(), "table")
    if url is not None:
        if wanted != PageFilter():
            raise ConfigError("--url shows all that is known of one URL; it goes with --format and --output alone")
        return run(_show(place, url, chosen, output))
    if chosen == "parquet" and str(output) == "-" and sys.stdout.isatty():
        raise ConfigError("Parquet is not for a terminal; use --output FILE, or a pipe")
    return run(_list(place, wanted, chosen, output))


def _place(folder: Path | None, store: str | None) -> str:
    """As the URL of a store. Whoever mistypes a name must not be shown a new, empty one."""
    if store is not None:
        if folder is not None:
            raise ConfigError("name a folder or a --store, not both")
        return store
    folder = folder or Path()
    file = folder / FILE
    if not folder.is_dir():
        raise ConfigError(f"{folder}: there is no such folder")
    if not file.exists():
        raise ConfigError(f"{file}: there is no such file; name the folder of a crawl, or a --store")
    try:
        return f"sqlite://{quote(str(file.absolute()))}"
    except UnicodeEncodeError:
        raise ConfigError(f"{str(file)!r}: its name is not UTF-8; give the folder another") from None


async def _list(place: str, wanted: "PageFilter", chosen: Format, output: Path) -> int:
    from outrider.cli.whole_file import output_to  # noqa: PLC0415 - late, as in options
    from outrider.ops.formats import FORMATS  # noqa: PLC0415 - the same
    from outrider.ops.pages import PAGES  # noqa: PLC0415 - the same
    from outrider.ops.walks import walking  # noqa: PLC0415 - the same
    from outrider.stores.records import open_records  # noqa: PLC0415 - the same

    async with AsyncExitStack() as stack:
        records = await stack.enter_async_context(open_records(place, create=False))
        out = stack.enter_context(output_to(output, "--output"))
        found = await stack.enter_async_context(walking(records.pages(wanted)))
        if chosen == "table":
            count = await _print_table(found, out)
        else:
            write = stack.enter_context(FORMATS[chosen](out, PAGES))
            count = 0
            async for batch in found:
                write(batch)
                count += len(batch)
    if not count:
        typer.echo("no pages on record that match", err=True)
    return ExitCode.OK


async def _print_table(found: "AsyncIterator[list[Page]]", out: BinaryIO) -> int:
    from outrider.cli.pages_table import Table  # noqa: PLC0415 - late, as in options
    from outrider.cli.terminal import page_width, print_lines  # noqa: PLC0415 - the same

    console = _console(out)
    table: Table | None = None
    count = 0
    async for batch in found:
        if table is None:
            table = Table(batch, page_width(console))
            print_lines([table.head()], console)
        print_lines(map(table.line, batch), console)
        count += len(batch)
    console.file.flush()
    return count


async def _show(place: str, url: str, chosen: Format, output: Path) -> int:
    from outrider.cli.pages_table import story  # noqa: PLC0415 - late, as in options
    from outrider.cli.terminal import page_width, print_lines  # noqa: PLC0415 - the same
    from outrider.cli.whole_file import output_to  # noqa: PLC0415 - the same
    from outrider.model.codec import to_json  # noqa: PLC0415 - the same
    from outrider.model.url import Url  # noqa: PLC0415 - the same
    from outrider.stores.records import open_records  # noqa: PLC0415 - the same

    if chosen not in {"table", "jsonl"}:
        raise ConfigError(f"--url goes with --format table or jsonl, not with {chosen}")
    page = Url(url)
    async with open_records(place, create=False) as records:
        found = await records.find(page)
    with output_to(output, "--output") as out:
        if chosen == "jsonl":
            out.write(b"".join(to_json(record) + b"\n" for record in found))
        else:
            console = _console(out)
            print_lines(story(page, found, page_width(console)), console)
            console.file.flush()
    if not found:
        typer.echo(f"nothing is on record about {page}", err=True)
    return ExitCode.OK


def _console(out: BinaryIO) -> "Console":
    from outrider.cli.terminal import console_on  # noqa: PLC0415 - late, as in options

    if out is sys.stdout.buffer:
        return console_on(sys.stdout)
    # Line by line into the file, which is closed by whoever opened it.
    return console_on(open(out.fileno(), "w", encoding="utf-8", closefd=False))
