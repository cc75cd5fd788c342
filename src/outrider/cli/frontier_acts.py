"""What the commands of `outrider frontier` do, once their arguments are read. Loaded late: it needs the stores."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, runtime_checkable

from outrider.errors import ConfigError
from outrider.model.ledger import Census
from outrider.ops.lines import LinesSource, exported
from outrider.ops.move import Report, move, open_target
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.registry import FrontierStore, drivers_for, open_frontier

if TYPE_CHECKING:
    from outrider.ops.migrate import Statistics


@runtime_checkable
class Lossy(Protocol):
    """A store that may have been told to take some new URLs for known."""

    @property
    def expected_loss(self) -> object | None: ...


async def census_of(url: str, rules: FrontierRules) -> tuple[Census, str]:
    """The counts, and what is lost by the store's way to tell new URLs from known; nothing when it is exact."""
    async with _there(url, rules) as store:
        loss = store.expected_loss if isinstance(store, Lossy) else None
        return await store.census(), str(loss or "")


async def export_to(out: BinaryIO, url: str, rules: FrontierRules) -> int:
    """How many lines were written."""
    count = 0
    async with _there(url, rules) as store:
        async for line in exported(store):
            out.write(line + b"\n")
            count += 1
    return count


async def import_from(lines: BinaryIO, name: str, url: str, rules: FrontierRules, *, batch_size: int) -> Report:
    source = LinesSource("standard input" if name == "-" else name, lines)
    async with open_target(url, rules, source) as store:
        with _bar() as show:
            return await move(
                source, store, batch_size=batch_size, tell=lambda progress: show(progress.lines, progress.total)
            )


async def move_between(source: str, target: str, rules: FrontierRules, *, dry_run: bool, batch_size: int) -> Report:
    place = _stand_in(target, rules) if dry_run else target
    async with _there(source, rules) as old, open_target(place, rules, old) as new:
        with _bar() as show:
            return await move(
                old,
                new,
                batch_size=batch_size,
                dry_run=dry_run,
                tell=lambda progress: show(progress.lines, progress.total),
            )


async def migrate_from(
    source: str, target: str, rules: FrontierRules, *, dry_run: bool, clean: bool, batch_size: int
) -> "Statistics":
    with drivers_for(Place(source)):
        from outrider.ops.migrate import migrate  # noqa: PLC0415 - its driver may be missing
        from outrider.stores.legacy.layouts import open_layout  # noqa: PLC0415 - the same

    place = _stand_in(target, rules) if dry_run else target
    async with open_layout(source) as layout, open_frontier(place, rules) as store:
        with _bar() as show:
            return await migrate(
                layout,
                store,
                batch_size=batch_size,
                dry_run=dry_run,
                clean=clean,
                tell=lambda done: show(done.urls_migrated + done.urls_known, None),
            )


@asynccontextmanager
async def _there(url: str, rules: FrontierRules) -> AsyncIterator[FrontierStore]:
    """A store to read from: whoever mistypes the name of a file must not be shown a new, empty one."""
    _check_file(Place(url))
    async with open_frontier(url, rules, must_exist=True) as store:
        yield store


def _check_file(place: Place) -> None:
    if place.scheme == "sqlite" and place.path and not Path(place.path).exists():
        raise ConfigError(f"{place}: there is no such file")


def _stand_in(target: str, rules: FrontierRules) -> str:
    """What a dry run opens in place of the target, which opening could make. The name is looked at all the same."""
    open_frontier(target, rules)
    return "memory:"


@contextmanager
def _bar() -> Iterator[Callable[[int, int | None], None]]:
    """A progress bar on a terminal, and nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress  # noqa: PLC0415 - the same

    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("URLs", total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
