"""Batches that are read one after the other, and no further than somebody wants."""

from collections.abc import AsyncIterator
from typing import TypeVar

from outrider.ops.walks import walking

T = TypeVar("T")


async def limited(batches: AsyncIterator[list[T]], limit: int | None) -> AsyncIterator[list[T]]:
    """The first rows, up to `limit`."""
    left = limit
    async with walking(batches):
        async for batch in batches:
            some = batch if left is None else batch[:left]
            if some:
                yield some
            if left is not None:
                left -= len(some)
                if not left:
                    return
