"""Move a frontier into another store: the ledger first counted, then carried over, then counted again.

Every step may be repeated: what the target knows already is left alone, so that a move that was interrupted is begun
again and finishes. The source is only read. Nobody may work on either side meanwhile.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from outrider.errors import ConfigError
from outrider.model.ledger import Census, Entry
from outrider.model.site import Site
from outrider.ports import Ledger


class Source(Protocol):
    """What can be moved: a store of ours, or an older layout read as one."""

    async def census(self) -> Census: ...

    def sites(self) -> AsyncIterator[list[Site]]: ...

    def entries(self) -> AsyncIterator[list[Entry]]: ...

    def hashes(self) -> AsyncIterator[list[int]]: ...


class Target(Ledger, Protocol):
    async def census(self) -> Census: ...


class Progress(Struct, frozen=True):
    """How far it is: lines read and hashes read, of `total`; `new` is how many the target did not know."""

    sites: int = 0
    lines: int = 0
    new: int = 0
    total: int = 0


class Report(Struct, frozen=True):
    """`differences` is empty when the target's ledger says what the source's said."""

    progress: Progress
    before: Census
    after: Census
    differences: tuple[str, ...]


async def move(
    source: Source,
    target: Target,
    *,
    batch_size: int = 1_000,
    dry_run: bool = False,
    tell: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Carry everything over. With `dry_run` nothing is written, and the report says what would be read."""
    before = await source.census()
    if before.leased:
        raise ConfigError(f"the source has {before.leased} sites lent to workers; stop them, or wait for their leases")
    progress = Progress(total=before.discovered)
    async for sites in source.sites():
        progress = Progress(progress.sites + len(sites), 0, 0, progress.total)
        if not dry_run:
            await target.restore(sites=sites)
        tell(progress)
    async for batch in _in_batches(source, batch_size):
        new = 0 if dry_run else await target.restore(*batch)
        lines = progress.lines + len(batch[0]) + len(batch[2])
        progress = Progress(progress.sites, lines, progress.new + new, progress.total)
        tell(progress)
    after = await target.census()
    differences = () if dry_run else tuple(_compare(before, after))
    return Report(progress, before, after, differences)


async def _in_batches(
    source: Source, size: int
) -> AsyncIterator[tuple[Sequence[Entry], Sequence[Site], Sequence[int]]]:
    async for entries in source.entries():
        for start in range(0, len(entries), size):
            yield entries[start : start + size], (), ()
    async for hashes in source.hashes():
        for start in range(0, len(hashes), size):
            yield (), (), hashes[start : start + size]


def _compare(before: Census, after: Census) -> Iterator[str]:
    """What is owed and what is dead must be the same to the last one; a compact store merges other ends."""
    pairs: dict[str, tuple[object, object]] = {
        "discovered": (before.discovered, after.discovered),
        "pending": (before.pending, after.pending),
        "waiting": (before.waiting, after.waiting),
        "dead": (before.dead, after.dead),
        "sites": (before.sites, after.sites),
    }
    return (f"{name}: {one} before, {other} after" for name, (one, other) in pairs.items() if one != other)
