"""Pages on record as a person reads them: a line a page, or all that is known of one URL.

Everything here came from the web, so nothing is printed before it is made visible.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from outrider.cli.terminal import GAP, labelled, shortened
from outrider.model.record import Decision, Page, PageStatus, Record
from outrider.observe.words import visible

_CODE: Final = 4
_SIZE: Final = 8
_WIDEST_RESULT: Final = 24
_STYLES: Final = {PageStatus.FAILED: "red", PageStatus.SKIPPED: "yellow"}
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class Table:
    """Its columns are as wide as the first pages need, because the rest is not there yet."""

    def __init__(self, first: Sequence[Page], width: int) -> None:
        self._result = min(max((len(_result(page)) for page in first), default=6), _WIDEST_RESULT)
        self._url = width - _CODE - self._result - _SIZE - 3 * len(GAP)

    def head(self) -> Text:
        return self._line("CODE", "RESULT", "SIZE", "URL", "bold")

    def line(self, page: Page) -> Text:
        code = str(page.status_code) if page.status_code else "-"
        size = readable_size(page.metadata.content_length) if page.metadata.content_length else "-"
        return self._line(code, _result(page), size, page.url, _STYLES.get(page.metadata.status, ""))

    def _line(self, code: str, result: str, size: str, url: str, style: str) -> Text:
        shown = shortened(result, self._result)
        result = shown + " " * (self._result - cell_len(shown))
        text = GAP.join((code.rjust(_CODE), result, size.rjust(_SIZE), shortened(url, self._url)))
        return Text(text, style)


def story(url: str, records: Sequence[Record], width: int) -> Iterator[Text]:
    """All visits of one URL, and what was decided about it."""
    for record in records:
        if record.page is not None:
            yield from labelled(_page_rows(url, record.page, record), width)
            yield Text()
        for one in record.decisions:
            yield from labelled(_decision_rows(one), width)
            yield Text()


def readable_size(length: int) -> str:
    if length < 1_000:
        return f"{length} B"
    size, unit = float(length), 0
    while size >= 999.5 and unit < len(_UNITS) - 1:
        size, unit = size / 1_000, unit + 1
    return f"{size:.3g} {_UNITS[unit]}" if size < 999.5 else f"{size:.0f} {_UNITS[unit]}"


def _result(page: Page) -> str:
    return page.metadata.reason or page.metadata.status.value


def _page_rows(url: str, page: Page, record: Record) -> list[tuple[str, Text]]:
    data = page.metadata
    rows = [("visit", f"{page.fetch_id} at {data.fetched_at}")]
    if page.url != url:
        rows.append(("asked for", page.url))
    if data.final_url != page.url:
        rows.append(("ended at", data.final_url))
    code = f" ({page.status_code})" if page.status_code else ""
    rows.append(("result", f"{_result(page)}{code} in {page.load_time} ms"))
    if data.error:
        rows.append(("error", data.error))
    if data.content_length:
        kind = f", {data.content_type}" if data.content_type else ""
        rows.append(("content", f"{readable_size(data.content_length)}{kind}"))
    rows += [(label, value) for label, value in (("title", data.title), ("kept as", data.content_key)) if value]
    if record.evidence:
        rows.append(("evidence", ", ".join(one.kind for one in record.evidence)))
    return [(label, Text(visible(value))) for label, value in rows]


def _decision_rows(one: Decision) -> list[tuple[str, Text]]:
    rows = [("refused", f"{one.reason}, by {one.by}"), ("rule", one.rule), ("evidence", one.evidence)]
    if one.parent:
        rows.append(("named by", one.parent))
    return [(label, Text(visible(value))) for label, value in rows if value]
