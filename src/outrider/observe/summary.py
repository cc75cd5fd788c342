"""How did it end, what is there now, and what can be done next? One page for a person, one object for a program."""

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from outrider.model.codec import to_json
from outrider.model.ledger import Census
from outrider.model.progress import Progress
from outrider.model.reason import Reason
from outrider.observe.rows import spent, top
from outrider.observe.words import counted, duration, folded, rate, size, visible

WIDTH: Final = 80
_COLUMN: Final = 14
_COPIED: Final = 30

_FINISHES: Final[Mapping[str, str]] = {
    "finished": "Finished: nothing is owed a visit any more.",
    "max_pages": "Stopped at the limit of pages.",
    "size_limit": "Stopped at the limit of bytes.",
    "time_limit": "Stopped at the limit of time.",
    "up_to_date": "Up to date: no page is owed another look for now.",
    "seeds_unreachable": "Stopped: none of the seeds could be reached.",
    "interrupted": "Stopped by Ctrl-C; nothing is lost.",
    "terminated": "Stopped by SIGTERM; nothing is lost.",
    "broken": "Stopped because a store is broken or full; nothing is lost.",
}
_GOES_ON: Final[Mapping[str, str]] = {
    "max_pages": "a larger --max-pages",
    "size_limit": "a larger --size-limit",
}
"""Limits that count everything since the beginning would stop the same command at once."""
UNKNOWN_END: Final = "It ended without a word, perhaps killed; nothing is lost."


def finish_in_words(finish: str | None) -> str:
    if finish is None:
        return UNKNOWN_END
    return _FINISHES.get(finish) or f"Stopped: {visible(finish.replace('_', ' '))}."


def next_steps(progress: Progress) -> list[str]:
    """Only what this crawl gives cause for."""
    # A name that would be folded could not be copied.
    where = shlex.quote(progress.directory) if 0 < len(progress.directory) <= _COPIED else "DIR"
    owed = progress.census.pending + progress.census.waiting
    steps = []
    if owed:
        how = _GOES_ON.get(progress.finish or "", "the same command again")
        steps.append(f"{how} goes on with the {counted(owed, 'URL')} still owed")
    if progress.census.dead:
        steps.append(f"outrider dlq list {where} tells of every dead URL, dlq replay visits it again")
    if progress.counts.failed:
        steps.append(f"outrider events {where} --type page_failed tells of every failed visit")
    return steps


def summary_lines(
    progress: Progress, files: Mapping[str, str], steps: Sequence[str] | None = None, width: int = WIDTH
) -> list[str]:
    """`files` are what was written, by name: `{"pages": "/crawl/records.db"}`. No line is longer than `width`."""
    lines = [*textwrap.wrap(finish_in_words(progress.finish), width), ""]
    for label, pieces in _rows(progress):
        lines += _row(label, folded(pieces, width - _COLUMN))
    lines += ["", "URLs"]
    for label, values in _ledger(progress.census, width - _COLUMN):
        lines += _row(label, values)
    if files:
        lines += ["", "Files"]
    for name, path in files.items():
        lines += _row(visible(name), _cut(visible(path), width - _COLUMN))
    told = next_steps(progress) if steps is None else steps
    if told:
        lines += ["", "Next"]
    for step in told:
        lines += textwrap.wrap(
            visible(step), width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
    return [line.rstrip() for line in lines]


def summary_text(progress: Progress, files: Mapping[str, str], steps: Sequence[str] | None = None) -> str:
    return "\n".join(summary_lines(progress, files, steps)) + "\n"


def summary_document(
    progress: Progress, files: Mapping[str, str], steps: Sequence[str] | None = None
) -> dict[str, Any]:
    """Names are added, never renamed or removed."""
    return {
        "type": "summary",
        "finish": progress.finish,
        "message": finish_in_words(progress.finish),
        "pages": progress.counts.pages,
        "seconds": progress.seconds,
        "rate": _mean_rate(progress),
        "counts": _plain(progress.counts),
        "census": _plain(progress.census),
        "adds_up": progress.census.adds_up,
        "directory": progress.directory,
        "files": dict(files),
        "next": next_steps(progress) if steps is None else list(steps),
    }


def summary_json(progress: Progress, files: Mapping[str, str], steps: Sequence[str] | None = None) -> str:
    """One line."""
    return json.dumps(summary_document(progress, files, steps))


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON has
    return msgspec.json.decode(to_json(value))


def _row(label: str, values: Sequence[str]) -> list[str]:
    """The label stands beside the first of the lines only."""
    return [f"  {'' if number else label:<{_COLUMN - 3}} {value}" for number, value in enumerate(values)]


def _cut(path: str, room: int) -> list[str]:
    """A path is told whole: it is there to be copied."""
    return [path[start : start + room] for start in range(0, len(path), room)]


def _mean_rate(progress: Progress) -> float:
    return progress.counts.pages / progress.seconds if progress.seconds else 0.0


def _rows(progress: Progress) -> Iterator[tuple[str, list[str]]]:
    counts = progress.counts
    if not progress.started_at:
        return  # all that is known is the ledger
    yield "pages", [f"{counts.pages:,}", rate(_mean_rate(progress)), *_some(progress, "unchanged", "moved")]
    yield "visits", [f"{counts.visits:,}", *_some(progress, "skipped", "failed", "retried")]
    yield "received", [size(counts.bytes), counted(counts.requests, "request")]
    yield "links", [f"{counts.links:,} seen", f"{counts.urls:,} new"]
    yield "took", [duration(progress.seconds), counted(progress.workers, "worker")]
    if counts.activity:
        yield "time", spent(counts.activity)
    if counts.errors:
        yield "errors", top(counts.errors)


def _some(progress: Progress, *kinds: str) -> list[str]:
    return [f"{count:,} {kind}" for kind in kinds if (count := getattr(progress.counts, kind))]


def _ledger(census: Census, room: int) -> Iterator[tuple[str, list[str]]]:
    """Every state, and the sum: what was discovered is in exactly one of them."""
    for state, count, reasons in _states(census):
        first, *others = folded(top(reasons), room - 13) or [""]
        yield state, [f"{count:>11,}  {first}", *(f"{'':>13}{line}" for line in others)]
    sites = counted(census.sites, "site")
    claim = "adds up" if census.adds_up else "DOES NOT ADD UP"
    yield "discovered", [f"{census.discovered:>11,}  {claim}, {sites}"]


def _states(census: Census) -> Iterator[tuple[str, int, Mapping[Reason, int]]]:
    yield "fetched", census.fetched, {}
    yield "alias", census.alias, {}
    yield "skipped", sum(census.skipped.values()), census.skipped
    yield "dead", sum(census.dead.values()), census.dead
    yield "pending", census.pending, {}
    yield "waiting", census.waiting, {}
