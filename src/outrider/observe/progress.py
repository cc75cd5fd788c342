"""The screen of somebody who watches a crawl: redrawn in place, four times a second at most, never wider than it is.

It is told whole snapshots and keeps only the last. Colours are rich's to give, so `NO_COLOR` is heeded.
"""

import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from outrider.model.progress import Progress
from outrider.observe.rows import headline, rows
from outrider.observe.words import duration, folded, shortened

REDRAW: Final = 0.25
_WIDEST: Final = 100
_COLUMN: Final = 12
_STYLES: Final = {"paused": "yellow", "waiting": "yellow", "errors": "red", "pages": "green"}


def screen(progress: Progress, width: int) -> list[Text]:
    """Lines that fit in `width` cells. Plain ASCII of ours, so that it looks alike on every terminal."""
    title = f"outrider {headline(progress)}, {duration(progress.seconds)}"
    where = shortened(progress.directory, width - len(title) - 2)
    lines = [Text.assemble((shortened(title, width), "bold"), "  " if where else "", (where, "dim"))]
    lines.append(_bar(progress, width))
    for label, pieces in rows(progress):
        style = _STYLES.get(label, "")
        values = folded(pieces, max(width - _COLUMN, 1))
        lines += [_line(label if first else "", value, style) for first, value in _marked(values)]
    for line in lines:
        line.no_wrap = True
        line.overflow = "crop"
    return lines


def _marked(values: list[str]) -> Iterator[tuple[bool, str]]:
    return ((number == 0, value) for number, value in enumerate(values))


def _line(label: str, value: str, style: str) -> Text:
    return Text.assemble((f"  {label:<{_COLUMN - 2}}", "dim"), (value, style))


def _bar(progress: Progress, width: int) -> Text:
    """Of the pages that the limit allows, or of the URLs that are known: then it may go back as more are found."""
    census = progress.census
    done, whole = census.discovered - census.pending - census.waiting, census.discovered
    if progress.limit_pages is not None:
        done, whole = progress.counts.pages, progress.limit_pages
    room = max(width - 2, 0)
    full = min(room * done // whole, room) if whole else 0
    return Text.assemble("[", ("#" * full, "green"), ("." * (room - full), "dim"), "]")


class _Screen:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        # The last column stays free: a terminal that writes into it may go on to the next line by itself.
        yield from screen(self._progress, min(options.max_width - 1, _WIDEST))


class ProgressDisplay:
    """`show` as often as you like. What is printed meanwhile, by print or by a log, stands above the display.

    When it ends, the last snapshot is drawn once more and stays, or goes with `transient`: a summary may follow.
    """

    def __init__(
        self, console: Console, *, transient: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=transient, vertical_overflow="crop")
        self._clock = clock
        self._drawn_at = float("-inf")

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, progress: Progress) -> None:
        now = self._clock()
        is_due = now - self._drawn_at >= REDRAW
        self._live.update(_Screen(progress), refresh=is_due)
        if is_due:
            self._drawn_at = now
