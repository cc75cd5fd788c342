"""A walk over a store that is left before its end must still be ended: it may hold a cursor, a thread, a snapshot."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


@asynccontextmanager
async def walking(walk: AsyncIterator[T]) -> AsyncIterator[AsyncIterator[T]]:
    """The same walk, ended with the block. Each of several that are nested needs its own."""
    try:
        yield walk
    finally:
        if isinstance(walk, AsyncGenerator):
            await walk.aclose()
