"""Pages on record as flat rows: the metadata's fields beside the page's own, all with the names of S1."""

from typing import Any, Final

from msgspec.structs import astuple

from outrider.model.record import Page, PageMetadata
from outrider.ops.formats import Kind, Sheet

_KINDS: Final = {
    **dict.fromkeys(
        (
            *("statusCode", "loadTime", "contentLength", "redirectCount", "attempts", "retries", "wireLength"),
            *("depth", "links"),
        ),
        Kind.WHOLE,
    ),
    **dict.fromkeys(("robotsBlocked", "skipContentExtraction", "truncated"), Kind.SWITCH),
    "directives": Kind.TEXTS,
    "fetchedAt": Kind.MOMENT,
}


def _values(page: Page) -> tuple[Any, ...]:
    return (*astuple(page)[:-1], *astuple(page.metadata))


PAGES: Final[Sheet[Page]] = Sheet(
    {
        name: _KINDS.get(name, Kind.TEXT)
        for name in (*Page.__struct_encode_fields__[:-1], *PageMetadata.__struct_encode_fields__)
    },
    _values,
)
