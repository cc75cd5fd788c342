"""Bring an S2 frontier into a store of ours: every URL added as if it had just been found, deduplicated exactly.

What cannot be read is counted, named, and passed over; the run goes on (S2-13). It may be repeated: what is known is
left alone, so that a run that was interrupted is simply begun again (H2-21).
"""

from collections.abc import Callable, Sequence
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
    rules: FrontierRules,
    *,
    batch_size: int = 1_000,
    dry_run: bool = False,
    clean: bool = False,
    tell: Callable[[Statistics], None] = lambda _: None,
) -> Statistics:
    """`clean` drops each domain's old data once all of it is in the target. With `dry_run` nothing is written."""
    done = Statistics()
    async for domain in layout.domains():
        try:
            done = await _migrate(layout, domain, target, rules, done, batch_size=batch_size, dry_run=dry_run)
            if clean and not dry_run:
                await layout.clean(domain)
        except (OSError, ValueError) as error:
            done = _complaint(done, f"{domain.name}: {error}")
        done = replace(done, domains_processed=done.domains_processed + 1)
        tell(done)
    return done


async def _migrate(
    layout: Layout,
    domain: Domain,
    target: FrontierStore,
    rules: FrontierRules,
    done: Statistics,
    *,
    batch_size: int,
    dry_run: bool,
) -> Statistics:
    sites: set[str] = set()
    async for lines in layout.lines(domain, batch_size):
        tasks, done = _tasks(lines, domain, done)
        for start in range(0, len(tasks), batch_size):
            batch = tasks[start : start + batch_size]
            answers = [Added.NEW] * len(batch) if dry_run else await target.add(batch)
            new = sum(answer is Added.NEW for answer in answers)
            done = replace(
                done,
                urls_migrated=done.urls_migrated + new,
                urls_known=done.urls_known + len(batch) - new,
            )
        sites |= {task.url.site(rules.site_by) for task in tasks}
    if not dry_run:
        await target.restore(sites=[_site(key, domain, rules) for key in sorted(sites)])
    return replace(done, files_read=done.files_read + 1) if domain.file is not None else done


def _tasks(lines: Sequence[str], domain: Domain, done: Statistics) -> tuple[list[Task], Statistics]:
    tasks = []
    for line in filter(None, lines):
        text, depth = split_line(line)
        try:
            tasks.append(Task(Url(text), depth=depth, priority=-depth, origin=Origin.LINK))
        except InvalidUrl as error:
            done = _complaint(done, f"{domain.name}: {error}")
    return tasks, done


def split_line(line: str) -> tuple[str, int]:
    """`url|depth`, where the URL may hold a | itself (H2-18)."""
    url, bar, depth = line.rpartition("|")
    if bar and depth.isascii() and depth.isdigit():
        return url, int(depth)
    return line, 0


def _site(key: str, domain: Domain, rules: FrontierRules) -> Site:
    """What the old layout knew of politeness: when it may next be asked, and whether it was excluded by hand."""
    excluded = domain.state.get(b"is_excluded", b"0") == b"1"
    not_before = float(domain.state.get(b"next_fetch_time", b"0") or b"0")
    return Site(key, not_before=not_before, pace=fresh_pace(rules.settle.pace), excluded=excluded)


def _complaint(done: Statistics, sentence: str) -> Statistics:
    complaints = done.complaints if len(done.complaints) >= _MOST_COMPLAINTS else (*done.complaints, sentence)
    return replace(done, errors=done.errors + 1, complaints=complaints)
