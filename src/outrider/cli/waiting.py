"""`--wait`: a service may be started before its stores are. Until they can be used, it says why, and tries again."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final, TypeVar

from outrider.errors import SchemaMismatch, StoreError

T = TypeVar("T")

_PAUSES: Final = (0.5, 1.0, 2.0, 5.0)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_NUMBERS: Final = re.compile(r"\d+")
"""How many milliseconds it took to fail makes no new trouble of an old one."""


@asynccontextmanager
async def opened_when_possible(
    opening: Callable[[], AbstractAsyncContextManager[T]],
    note: Callable[[str], None],
    *,
    wait: bool,
    tried: Callable[[], None] | None = None,
) -> AsyncIterator[T | None]:
    """None when a signal came before it was opened. Without `wait`, the first `StoreError` is raised.

    `SchemaMismatch` always is. `tried` hears of each try.
    """
    async with AsyncExitStack() as stack:
        opened: T | None = None
        patience = asyncio.timeout(None)
        try:
            async with patience:
                with _ended_by_signals(patience):
                    opened = await _opened(stack, opening, note if wait else None, tried)
        except TimeoutError:
            if not patience.expired():
                raise
        yield None if patience.expired() else opened


async def _opened(
    stack: AsyncExitStack,
    opening: Callable[[], AbstractAsyncContextManager[T]],
    note: Callable[[str], None] | None,
    tried: Callable[[], None] | None,
) -> T:
    """A trouble that is new is tried again soon: whoever gets that far is nearly there."""
    tries, told = 0, ""
    while True:
        if tried is not None:
            tried()
        try:
            return await stack.enter_async_context(opening())
        except StoreError as error:
            if note is None or isinstance(error, SchemaMismatch):  # what somebody must decide does not come by itself
                raise
            trouble = _NUMBERS.sub("", str(error))
            if trouble != told:
                tries, told = 0, trouble
                note(f"{error}; trying again until it works")
        await asyncio.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
        tries += 1


@contextmanager
def _ended_by_signals(patience: asyncio.Timeout) -> Iterator[None]:
    """Also while a store is being asked, which may take as long as its time-out."""
    loop = asyncio.get_running_loop()

    def end() -> None:
        if not patience.expired():
            patience.reschedule(loop.time())

    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
