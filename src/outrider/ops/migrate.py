"""Bring an S2 frontier into a store of ours: every URL added as if it had just been found, deduplicated exactly.

What cannot be read is counted, named, and passed over; the run goes on (S2-13). It may be repeated: what is known is
left alone, so that a run that was interrupted is simply begun again (H2-21).
"""

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import InvalidUrl
from outrider.model.ledger import Added
from outrider.model.site import Site
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.policy.pace import fresh_pace
from outrider.ports import FrontierRules
from outrider.stores.legacy.layouts import Domain, Layout
from outrider.stores.registry import FrontierStore

_MOST_COMPLAINTS: Final = 20


class Statistics(Struct, frozen=True):
    """With the names of S2-13. `urls_known` were there already, or stood in the source twice."""

    domains_processed: int = 0
    urls_migrated: int = 0
    urls_known: int = 0
    files_read: int = 0
    errors: int = 0
    complaints: tuple[str, ...] = ()


async def migrate(
    layout: Layout,
    target: FrontierStore,
    *,
    batch_size: int = 1_000,
    dry_run: bool = False,
    clean: bool = False,
    tell: Callable[[Statistics], None] = lambda _: None,
) -> Statistics:
    """`clean` drops a domain's old data once all of it is in the target: one with an error keeps everything.

    With `dry_run` nothing is written on either side, and every URL counts as migrated.
    """
    done = Statistics()
    kept: set[bytes] = set()
    async for domain in layout.domains():
        errors = done.errors
        try:
            async for lines in layout.lines(domain, batch_size):
                tasks, done = _tasks(lines, domain, done)
                for start in range(0, len(tasks), batch_size):
                    batch = tasks[start : start + batch_size]
                    new = len(batch) if dry_run else await _write(batch, domain, target)
                    done = _counted(done, new, len(batch))
            done = replace(done, files_read=done.files_read + (domain.file is not None))
        except (OSError, ValueError) as error:
            done = _complaint(done, f"{domain.name}: {error}")
        if done.errors > errors:
            kept.add(domain.key)
        elif clean and not dry_run:
            await layout.clean(domain)
        done = replace(done, domains_processed=done.domains_processed + 1)
        tell(done)
    if clean and not dry_run:
        await layout.sweep(kept)
    return done


async def _write(tasks: Sequence[Task], domain: Domain, target: FrontierStore) -> int:
    """The sites first, so that none is lent before what was known of it is there; how many tasks were new."""
    rules = target.rules
    known = {task.url.site(rules.site_by): task.url for task in tasks}
    sites = [_site(key, domain, rules) for key, url in sorted(known.items()) if _belongs(url, domain)]
    await target.restore(sites=sites)
    return sum(answer is Added.NEW for answer in await target.add(tasks))


def _tasks(lines: Sequence[str], domain: Domain, done: Statistics) -> tuple[list[Task], Statistics]:
    tasks = []
    for line in filter(None, lines):
        text, depth = split_line(line)
        try:
            # A bare domain, as seed files had them (H2-23).
            url = Url(text if "://" in text else f"http://{text}")
        except InvalidUrl as error:
            done = _complaint(done, f"{domain.name}: {error}")
        else:
            tasks.append(Task(url, depth=depth, priority=-depth, origin=Origin.LINK))
    return tasks, done


def split_line(line: str) -> tuple[str, int]:
    """`url|depth`, where the URL may hold a | itself (H2-18)."""
    url, bar, depth = line.rpartition("|")
    if bar and depth.isascii() and depth.isdigit():
        return url, int(depth)
    return line, 0


def _belongs(url: Url, domain: Domain) -> bool:
    """A line that stands in another domain's queue says nothing about its own site."""
    return url.host == domain.name or url.host.endswith(f".{domain.name}")


def _site(key: str, domain: Domain, rules: FrontierRules) -> Site:
    """What the old layout knew of politeness: when it may next be asked, and whether it was excluded by hand."""
    excluded = domain.state.get(b"is_excluded", b"0") == b"1"
    not_before = float(domain.state.get(b"next_fetch_time", b"") or b"0")
    if not isfinite(not_before):
        raise ValueError(f"its next_fetch_time is {not_before}, which is no time")
    return Site(key, not_before=not_before, pace=fresh_pace(rules.settle.pace), excluded=excluded)


def _counted(done: Statistics, new: int, read: int) -> Statistics:
    return replace(done, urls_migrated=done.urls_migrated + new, urls_known=done.urls_known + read - new)


def _complaint(done: Statistics, sentence: str) -> Statistics:
    complaints = done.complaints if len(done.complaints) >= _MOST_COMPLAINTS else (*done.complaints, sentence)
    return replace(done, errors=done.errors + 1, complaints=complaints)
