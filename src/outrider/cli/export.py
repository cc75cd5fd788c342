"""`outrider export`: what a crawl has found, as rows for other programs. It only reads, also while the crawl runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from outrider.cli.crawl_folder import answers_of, check_crawl, kept_elsewhere, records_of
from outrider.cli.page_filter import Code, Ended, Since, Site, Why, filter_of
from outrider.errors import ConfigError

if TYPE_CHECKING:
    from outrider.cli.export_run import Sources
    from outrider.model.record import PageFilter

What = Literal["pages", "links", "evidence", "decisions", "redirects", "cdxj"]
Format = Literal["jsonl", "csv", "parquet"]

_SUFFIXES: Final[dict[str, Format]] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_STDOUT: Final = Path("-")


def export(  # noqa: PLR0913 - one argument for each option
    what: Annotated[What, typer.Argument(metavar="WHAT", help="pages, links, evidence, decisions, redirects or cdxj.")],
    folder: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The crawl's folder; else this one.", show_default=False)
    ] = None,
    *,
    records: Annotated[
        str | None, typer.Option("--records", metavar="URL", help="Records elsewhere: postgresql://…, sqlite:///FILE.")
    ] = None,
    contents: Annotated[
        str | None, typer.Option("--contents", metavar="URL", help="Answers elsewhere: redis://…, warc:///DIR.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="There whole or not at all; - for standard output.")
    ] = _STDOUT,
    output_format: Annotated[
        Format | None, typer.Option("--format", help="Else by the name of the output, else jsonl.")
    ] = None,
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="CSV in which no cell is taken for a formula.")
    ] = False,
    status: Ended = None,
    reason: Why = None,
    code: Code = None,
    site: Site = None,
    since: Since = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="At most so many rows.")] = None,
) -> int:
    """Write pages, links, evidence, decisions, redirects or the archive's index for other programs.

    For the ledger there is `outrider frontier export`.
    """
    from outrider.cli import export_run  # noqa: PLC0415 - late, as in options
    from outrider.loop import run  # noqa: PLC0415 - the same

    wanted = filter_of(status, reason, code, site, since)
    _check_filters(what, wanted, limit)
    if what == "cdxj":
        if output_format is not None or spreadsheet or records is not None:
            raise ConfigError("cdxj is a format of its own, out of the archive; leave --format and --records out")
        return export_run.write_index(_sources(what, folder, None, contents), output)
    form: Format = output_format or _SUFFIXES.get(output.suffix.lower(), "csv" if spreadsheet else "jsonl")
    if form == "parquet" and output == _STDOUT:
        raise ConfigError("Parquet needs a file; name one with --output FILE")
    if spreadsheet and form != "csv":
        raise ConfigError(f"--spreadsheet goes with CSV, not with {form}")
    asked = export_run.Asked(what, wanted, limit, "spreadsheet" if spreadsheet else form, output)
    return run(export_run.write_rows(asked, _sources(what, folder, records, contents)))


def _check_filters(what: What, wanted: "PageFilter", limit: int | None) -> None:
    """Raises `ConfigError` for a filter that means nothing there."""
    from outrider.model.record import PageFilter  # noqa: PLC0415 - late, as in options

    if what == "cdxj" and (wanted != PageFilter() or limit is not None):
        raise ConfigError("cdxj is the whole index; it takes no filter")
    if what == "decisions" and (wanted.status is not None or wanted.status_code is not None):
        raise ConfigError("a decision has no status: it was made before anybody asked; use --reason, --site or --since")


def _sources(what: What, folder: Path | None, records: str | None, contents: str | None) -> "Sources":
    """A folder is looked into unless everything is named. Raises `ConfigError` for what is not there."""
    from outrider.cli.export_run import Sources  # noqa: PLC0415 - late, as in options

    is_index = what == "cdxj"
    wants_answers = is_index or what == "links"
    if contents is not None and not wants_answers:
        raise ConfigError(f"{what} are read from the records; --contents has nothing to do with them")
    if folder is None and records is not None and wants_answers and contents is None:
        raise ConfigError("links are read from the answers; name the crawl's folder too, or --contents URL")
    if folder is not None or (records is None and not is_index) or (contents is None and wants_answers):
        folder = folder or Path()
        check_crawl(folder)
        kept = kept_elsewhere(folder)
        if not is_index:
            records = records or records_of(folder, kept.get("records"), "--records")
        if wants_answers:
            contents = contents or answers_of(folder, kept.get("contents"), "--contents")
    found = Sources(records or "", contents or "")
    if found.records.startswith("none:"):
        raise ConfigError("this crawl keeps no records (records = none:), so there is nothing to export")
    if found.answers.startswith("none:"):
        raise ConfigError("this crawl keeps no answers (contents = none:), so there is nothing to read them from")
    return found
