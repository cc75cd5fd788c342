"""Move a frontier into another store: the ledger first counted, then carried over, then counted again.

Every step may be repeated: what the target knows already is left alone, so that a move that was interrupted is begun
again and finishes. The source is only read. Nobody may work on either side meanwhile.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from outrider.errors import ConfigError, SchemaMismatch
from outrider.model.ledger import Census, Entry
from outrider.model.site import Site
from outrider.ops.source import Source, has_hashes
from outrider.ports import FrontierRules, TakesOrders
from outrider.stores.registry import FrontierStore, open_frontier


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


@runtime_checkable
class Filtering(Protocol):
    """A source that may know URLs which it cannot list: so many."""

    async def unlisted(self) -> int: ...


@asynccontextmanager
async def open_target(url: str, rules: FrontierRules, source: Source) -> AsyncIterator[FrontierStore]:
    """A new store takes over the source's identity; one that has a seed of its own keeps it, and `move` judges."""
    same = replace(rules, identity=source.rules.identity, site_by=source.rules.site_by)
    async with AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(open_frontier(url, same))
        except SchemaMismatch:
            # When it is not the seed that differs, this says what is.
            own = replace(same, identity=replace(same.identity, seed=0))
            store = await stack.enter_async_context(open_frontier(url, own))
        yield store


async def move(
    source: Source,
    target: FrontierStore,
    *,
    batch_size: int = 1_000,
    dry_run: bool = False,
    tell: Callable[[Progress], None] = lambda _: None,
) -> Report:
    """Carry everything over. With `dry_run` nothing is written, and the report says what would be read."""
    before = await source.census()
    if before.leased:
        raise ConfigError(f"the source has {before.leased} sites lent to workers; stop them, or wait for their leases")
    if isinstance(source, Filtering) and (unlisted := await source.unlisted()):
        raise ConfigError(
            f"{unlisted:,} URLs of the source are in a Bloom filter, which has no list of them: the target would take "
            "them for new"
        )
    await _check_identity(source, target)
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
    if not dry_run:
        await _carry_orders(source, target)
    after = await target.census()
    differences = () if dry_run else tuple(_compare(before, after))
    return Report(progress, before, after, differences)


async def _carry_orders(source: Source, target: FrontierStore) -> None:
    """What operators said about sites holds wherever those are; what was said to the target itself comes first."""
    if isinstance(source, TakesOrders) and isinstance(target, TakesOrders):
        said = {order.site for order in await target.orders()}
        for order in await source.orders():
            if order.site not in said:
                await target.order(order)


async def _check_identity(source: Source, target: FrontierStore) -> None:
    """A line is hashed anew under the target's identity. A bare hash cannot be."""
    theirs, ours = target.rules, source.rules
    if theirs.site_by != ours.site_by:
        raise SchemaMismatch(f"the source has site_by={ours.site_by} and the target site_by={theirs.site_by}")
    if theirs.identity != ours.identity and await has_hashes(source):
        raise SchemaMismatch(
            "the target was made with another seed, and some URLs of the source are known by their hash alone, "
            "which means nothing there; move into a new store"
        )


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
