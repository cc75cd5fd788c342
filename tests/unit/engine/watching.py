"""One who watches, over workers inside this process or over puppets that say what the test wants them to say."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct
from tests.unit.engine.crawling import Scene

from outrider.engine.budget import Keeper, Limits, Unlimited
from outrider.engine.inside import Inside
from outrider.engine.mates import Mate, Terms
from outrider.engine.messages import Channel, LocalChannel, Message, local_pair
from outrider.engine.reporting import Reporting
from outrider.engine.supervisor import Supervisor
from outrider.model.progress import Progress
from outrider.model.record import Tally
from outrider.ports import EventSink, Frontier


class Puppet:
    """A worker that does nothing by itself. `hears` is what it was told, `says` what it answers."""

    def __init__(self) -> None:
        self.channel: LocalChannel
        self.channel, self._end = local_pair()
        self._gone = asyncio.Event()
        self.was_killed = False

    async def wait(self) -> int:
        await self._gone.wait()
        return 9

    def kill(self) -> None:
        """It takes a moment to die, as processes do."""
        self.was_killed = True
        asyncio.get_running_loop().call_soon(self.vanish)

    def vanish(self) -> None:
        self._end.close()
        self._gone.set()

    async def says(self, message: Message) -> None:
        await self._end.send(message)

    async def hears(self) -> Message | None:
        return await self._end.receive()


class Watch(Struct):
    """What was seen of a crawl that is watched."""

    supervisor: Supervisor
    mates: list[Mate]
    shown: list[Progress]


def watched(
    scene: Scene,
    *,
    workers: int = 1,
    limits: Limits | None = None,
    spawn: Callable[[int], Mate] | None = None,
    frontier: Frontier | None = None,
    events: EventSink | None = None,
    tally: Callable[[], Awaitable[Tally]] | None = None,
    waits_for: Callable[[], Awaitable[str]] | None = None,
    **terms: Any,  # noqa: ANN401 - whatever Terms takes
) -> Watch:
    async def work(channel: Channel) -> None:
        reporting = Reporting(channel, lambda: 1)
        purse = Unlimited() if limits is None else reporting.purse()
        await reporting.run(scene.another(purse))

    async def start(number: int) -> Mate:
        mate = spawn(number) if spawn is not None else Inside(work)
        mates.append(mate)
        return mate

    async def nothing() -> str:
        return "nothing"

    mates: list[Mate] = []
    shown: list[Progress] = []
    supervisor = Supervisor(
        Terms(workers=workers, pages=None if limits is None else limits.pages, **terms),
        frontier or scene.memory,
        events or scene.sink,
        scene.clock,
        spawn=start,
        keeper=None if limits is None else Keeper(limits, workers),
        tally=tally or scene.kept.tally,
        memory=lambda: 1,
        shown=shown.append,
        waits_for=waits_for or nothing,
    )
    return Watch(supervisor, mates, shown)
