"""A crawl that was made without `recrawl` is given it: how do the pages that it fetched come to be owed another visit?

The frontier may have forgotten their names, and keep their hashes only; the records know them all, with the validators
and the hash of the content that were seen. So the records are read from the first page to the last, each page becomes
the task that it would be, had the crawl looked again from the beginning, and the frontier owes those that are fetched.
What is owed already, skipped, dead or another's alias is left alone, so all of it may be repeated: the directory says
`recrawl` only when it is done, and after a kill the same command does the rest.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from outrider.app.directory import CrawlDirectory
from outrider.errors import ConfigError
from outrider.fetch.content import is_sendable
from outrider.model.outcome import Headers, Validators, first_value
from outrider.model.record import HttpHeaders, Page, PageFilter, PageStatus, Record
from outrider.model.task import Changes, Origin, Task
from outrider.model.url import Url
from outrider.policy.recrawl import RecrawlRules, interval, looked
from outrider.ports import FrontierRules, OwesAgain, Records
from outrider.settings import Settings, load

_AT_ONCE: Final = 20_000
"""Tasks an act: the frontier reads the queues of their sites for each."""
_SIDE_BY_SIDE: Final = 50
"""Pages that are looked up at once: a store that answers one at a time need not be waited for each time."""


def begins_recrawl(settings: Settings, directory: CrawlDirectory) -> bool:
    """Is this a crawl that looked once so far, and is to look again from now on?"""
    if not settings.recrawl or not directory.is_begun:
        return False
    return not load(file=directory.settings_file, environment={}).settings.recrawl


def without_recrawl(settings: Settings) -> Settings:
    """What the directory may say until all is owed."""
    return settings.model_copy(update={"recrawl": False})


async def owe_fetched(frontier: object, records: Records, rules: FrontierRules) -> int:
    """Owe every page on record that the frontier has fetched; how many. Raises `ConfigError` when it cannot."""
    if not isinstance(frontier, OwesAgain):
        raise ConfigError(
            "recrawl: this crawl was begun without it, and its frontier cannot owe fetched pages again; "
            "switch it off, give another --directory, or start anew with --fresh"
        )
    count = 0
    tasks: dict[Url, Task] = {}
    async for pages in records.pages(PageFilter(status=PageStatus.FETCHED)):
        names = [url for url in _names(pages) if url not in tasks]
        for start in range(0, len(names), _SIDE_BY_SIDE):
            some = names[start : start + _SIDE_BY_SIDE]
            found = await asyncio.gather(*map(records.find, some))
            visited = ((url, _visits(url, one)) for url, one in zip(some, found, strict=True))
            tasks.update((url, task_again(url, visits, rules)) for url, visits in visited if visits)
        if len(tasks) >= _AT_ONCE:
            count += await frontier.owe_again([*tasks.values()])
            tasks.clear()
    return count + await frontier.owe_again([*tasks.values()])


def task_again(url: Url, visits: Sequence[tuple[Page, Headers]], rules: FrontierRules) -> Task:
    """The next visit of a page, after these: all that succeeded, oldest first, with the headers of their answers."""
    last = visits[-1][0].metadata
    changes, visited_at, content = _history([page for page, _ in visits])
    again = rules.settle.recrawl_of(url.site(rules.site_by)) or RecrawlRules()
    return Task(
        url,
        depth=last.depth,
        # As admission has it: broad comes before deep.
        priority=-last.depth,
        origin=Origin(last.origin) if last.origin else Origin.RECRAWL,
        parent=Url.trusted(last.parent) if last.parent else None,
        due_at=visited_at + interval(changes, again),
        validators=_validators(visits),
        changes=changes,
        visited_at=visited_at,
        content_sha256=content,
    )


def _names(pages: Sequence[Page]) -> Mapping[Url, None]:
    """Asked for, and ended at: under which of the two a page is known, the frontier knows."""
    names = (name for page in pages for name in (page.url, page.metadata.final_url))
    return dict.fromkeys(map(Url.trusted, names))


def _visits(url: Url, records: Sequence[Record]) -> list[tuple[Page, Headers]]:
    """Those that succeeded and asked for this very name; of a page that took it from a redirect, the last to end there.

    What came by way of another name in between is no look of this page's: it says nothing of how often it changes.
    """
    successes = [
        (record.page, _headers(record))
        for record in records
        if record.page is not None and record.page.metadata.status in {PageStatus.FETCHED, PageStatus.NOT_MODIFIED}
    ]
    own = [visit for visit in successes if visit[0].url == url]
    return own or successes[-1:]


def _headers(record: Record) -> Headers:
    return next((one.content.headers for one in record.evidence if isinstance(one.content, HttpHeaders)), ())


def _history(pages: Sequence[Page]) -> tuple[Changes, float, str | None]:
    """What each look would have added; when the last one was, and what it saw."""
    changes, visited_at, content = Changes(), 0.0, None
    for number, page in enumerate(pages):
        at = datetime.fromisoformat(page.metadata.fetched_at).timestamp()
        seen = page.metadata.content_hash or content
        if number:
            changes = looked(changes, at - visited_at, changed=seen != content)
        visited_at, content = at, seen
    return changes, visited_at, content


def _validators(visits: Sequence[tuple[Page, Headers]]) -> Validators:
    """Those of the last answer; where a 304 did not repeat them, the ones before still hold (C16)."""
    kept = Validators()
    for page, headers in visits:
        etag, modified = first_value(headers, "etag"), first_value(headers, "last-modified")
        sent = kept if page.metadata.status is PageStatus.NOT_MODIFIED else Validators()
        kept = Validators(
            etag if is_sendable(etag) else sent.etag, modified if is_sendable(modified) else sent.last_modified
        )
    return kept
