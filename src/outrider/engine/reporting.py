"""A worker on the end of a wire: it does as it is told, and tells how it goes."""

import asyncio
from collections.abc import Callable
from typing import Final

from outrider.engine.budget import Account, Permits
from outrider.engine.messages import Broke, Channel, Done, Drain, Grant, Report, Stop
from outrider.engine.waiting import wait_for
from outrider.engine.worker import Worker
from outrider.errors import StoreError

_EVERY: Final = 0.25
"""Seconds between two reports; sooner when permits are needed, or nothing is left to do."""


class Reporting:
    def __init__(
        self,
        channel: Channel,
        memory: Callable[[], int],
        most_memory: int | None = None,
    ) -> None:
        self._channel = channel
        self._memory = memory
        self._most_memory = most_memory
        self._news = asyncio.Event()
        self._permits: Permits | None = None

    def purse(self) -> Permits:
        """For a crawl with limits: filled by the one who watches."""
        self._permits = Permits(self._news.set)
        return self._permits

    async def run(self, worker: Worker) -> None:
        """Until the worker is done. Whoever watched being gone means: stop, for somebody will begin again."""
        worker.fell_idle = self._news.set
        listening = asyncio.create_task(self._listen(worker))
        telling = asyncio.create_task(self._tell(worker))
        try:
            await worker.run()
        except StoreError as error:
            await self._channel.send(Broke(type(error).__name__, str(error)))
        else:
            await self._report(worker)
            await self._channel.send(Done())
        finally:
            listening.cancel()
            telling.cancel()
            await asyncio.gather(listening, telling, return_exceptions=True)

    async def _listen(self, worker: Worker) -> None:
        while True:
            match await self._channel.receive():
                case Grant(permits) if self._permits is not None:
                    self._permits.receive(permits)
                case Drain():
                    worker.drain()
                case Stop():
                    worker.stop()
                case None:
                    worker.stop()
                    return

    async def _tell(self, worker: Worker) -> None:
        while True:
            await self._report(worker)
            self._news.clear()
            await wait_for(self._news, _EVERY, worker.clock)

    async def _report(self, worker: Worker) -> None:
        memory = self._memory()
        worker.memory_is_short = self._most_memory is not None and memory > self._most_memory
        if worker.idle and self._permits is not None:
            self._permits.put_back()
        account = self._permits.account() if self._permits is not None else Account()
        report = Report(
            counts=worker.counts,
            in_flight=worker.in_flight,
            held=worker.held,
            broken=worker.broken,
            breaker=worker.breaker,
            idle=worker.idle,
            idle_until=worker.idle_until,
            paused=worker.paused,
            memory=memory,
            account=account,
            silenced=worker.silenced,
        )
        await self._channel.send(report)
