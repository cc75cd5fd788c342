"""Why was a request repeated? Records count it; reason and wait are in the events, where those are kept in files."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from msgspec import DecodeError
from msgspec.structs import replace

from outrider.errors import StoreError
from outrider.model.codec import from_json
from outrider.model.event import RequestRetried
from outrider.model.record import RedirectChain
from outrider.ops.story import Story
from outrider.stores.files.event_lines import event_files

_MARK: Final = b'"request_retried"'


def with_retries(story: Story, events: Path) -> Story:
    """The same with the repeated requests of its visits. The files are read only when there were some."""
    other = None if story.other is None else with_retries(story.other, events)
    urls = _retried(story)
    found = _events_about(urls, events) if urls else ()
    return replace(story, retries=found, other=other)


def _retried(story: Story) -> set[str]:
    """What may have been asked for more than once: the URLs of such visits, and those of their hops."""
    urls: set[str] = set()
    for record in story.visits:
        if record.page is None or not record.page.metadata.retries:
            continue
        urls |= {record.page.url, record.page.metadata.final_url}
        for one in record.evidence:
            if isinstance(one.content, RedirectChain):
                urls |= {step.url for step in one.content.steps}
    return urls


def _events_about(urls: Collection[str], folder: Path) -> tuple[RequestRetried, ...]:
    found: list[RequestRetried] = []
    try:
        for file in event_files(folder):
            with file.open("rb") as lines:
                found += [event for line in lines if _MARK in line and (event := _read(line)) and event.url in urls]
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror}") from error
    return tuple(sorted(found, key=lambda event: event.at))


def _read(line: bytes) -> RequestRetried | None:
    """None for a line that is damaged, or still being written."""
    try:
        return from_json(line, RequestRetried)
    except (DecodeError, UnicodeDecodeError):
        return None
