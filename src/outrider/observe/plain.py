"""Progress where nobody watches: one line a minute, as a sentence or as a JSON object, by the snapshots' own time."""

import json
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Protocol, Self, TextIO

import msgspec

from outrider.model.codec import to_json
from outrider.model.progress import Progress, eta
from outrider.observe.log import LogFormat
from outrider.observe.rows import top
from outrider.observe.words import counted, duration, moment, rate, size, visible, without_passwords

INTERVAL: Final = 60.0


class Display(Protocol):
    def show(self, progress: Progress) -> None: ...


def plain_line(progress: Progress) -> str:
    counts, census = progress.counts, progress.census
    left = eta(progress)
    parts = [
        f"{counted(counts.pages, 'page')}, {rate(progress.rate)}",
        f"{progress.in_flight:,} in flight",
        f"queue {census.pending:,} + {census.waiting:,} waiting",
        f"sites {progress.held:,} held, {progress.broken:,} down",
        size(counts.bytes),
        f"errors {sum(counts.errors.values()):,}" + (f" ({', '.join(top(counts.errors, 3))})" if counts.errors else ""),
        f"memory {size(progress.memory)}",
        f"about {duration(left)} left" if left else "",
        f"paused: {progress.paused}" if progress.paused else "",
        f"waiting for {progress.waiting_for}" if progress.waiting_for else "",
        f"ended: {progress.finish}" if progress.finish is not None else "",
    ]
    return visible(without_passwords(f"{moment(progress.at)} {'; '.join(filter(None, parts))}"))


def progress_document(progress: Progress) -> dict[str, Any]:
    """The snapshot, and what is reckoned from it. Names are added, never renamed or removed."""
    plain: dict[str, Any] = msgspec.json.decode(to_json(progress))
    return {"type": "progress", **plain, "seconds": progress.seconds, "eta": eta(progress)}


def json_line(progress: Progress) -> str:
    return json.dumps(progress_document(progress))


class PlainProgress:
    """The first snapshot is told at once, then one each `interval`, and at the end the last if it was not told yet."""

    def __init__(self, stream: TextIO, form: LogFormat = "text", interval: float = INTERVAL) -> None:
        self._stream = stream
        self._line = json_line if form == "json" else plain_line
        self._interval = interval
        self._told_at = float("-inf")
        self._untold: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._untold is not None:
            self._tell(self._untold)

    def show(self, progress: Progress) -> None:
        if progress.at - self._told_at >= self._interval:
            self._tell(progress)
        else:
            self._untold = progress

    def _tell(self, progress: Progress) -> None:
        self._told_at, self._untold = progress.at, None
        self._stream.write(f"{self._line(progress)}\n")
        self._stream.flush()


def display_on(
    stream: TextIO, form: LogFormat = "text", interval: float = INTERVAL
) -> "AbstractContextManager[Display]":
    """The live display on a terminal that can redraw, lines everywhere else and for programs."""
    if form == "json" or not stream.isatty():
        return PlainProgress(stream, form, interval)
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it

    from outrider.observe.progress import ProgressDisplay  # noqa: PLC0415 - the same

    console = Console(file=stream, highlight=False)
    if console.is_dumb_terminal:
        return PlainProgress(stream, form, interval)
    return ProgressDisplay(console, transient=True)
