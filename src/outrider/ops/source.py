"""What can be moved into a store: another store, or an export of one."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Protocol, runtime_checkable

from outrider.model.ledger import Census, Entry
from outrider.model.site import Site
from outrider.ports import FrontierRules


class Source(Protocol):
    """`rules` say under which identity its hashes were made."""

    @property
    def rules(self) -> FrontierRules: ...

    async def census(self) -> Census: ...

    def sites(self) -> AsyncIterator[list[Site]]: ...

    def entries(self) -> AsyncIterator[list[Entry]]: ...

    def hashes(self) -> AsyncIterator[list[int]]: ...


@runtime_checkable
class Announcing(Protocol):
    """A source that is read once, in its own order, and so says first whether hashes come last."""

    has_hashes: bool


async def has_hashes(source: Source) -> bool:
    """Are there URLs of which only the hash is known?"""
    if isinstance(source, Announcing):
        return source.has_hashes
    batches = source.hashes()
    try:
        async for batch in batches:
            if batch:
                return True
        return False
    finally:
        if isinstance(batches, AsyncGenerator):
            await batches.aclose()
