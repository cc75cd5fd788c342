"""A worker as a task of this process: for programs that crawl by themselves, and want to see every page."""

import asyncio
from collections.abc import Awaitable, Callable

from outrider.engine.messages import Channel, LocalChannel, local_pair


class Inside:
    """`work` is given the worker's end of the wire."""

    def __init__(self, work: Callable[[Channel], Awaitable[None]]) -> None:
        theirs: LocalChannel
        self.channel, theirs = local_pair()
        self._task = asyncio.create_task(self._run(work, theirs))
        # Also when it is killed before it has begun: whoever listens must learn that nobody is there.
        self._task.add_done_callback(lambda _: theirs.close())

    @staticmethod
    async def _run(work: Callable[[Channel], Awaitable[None]], channel: LocalChannel) -> None:
        await work(channel)

    async def wait(self) -> int:
        """Raises what the worker raised: here a bug is the program's own to see. Who stops waiting stops nothing."""
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.result()
        return 0

    def kill(self) -> None:
        self._task.cancel()
