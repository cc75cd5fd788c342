"""Run one coroutine to its end: on uvloop where it can be imported, else on asyncio's own loop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

try:
    import uvloop

    _new_loop: Callable[[], asyncio.AbstractEventLoop] | None = uvloop.new_event_loop
except ImportError:
    _new_loop = None

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Ctrl-C cancels the coroutine, which tidies up, and then is a `KeyboardInterrupt` here."""
    try:
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            return runner.run(coroutine)
    finally:
        coroutine.close()  # over by now, unless Ctrl-C came before it began: nobody is to be warned of that
