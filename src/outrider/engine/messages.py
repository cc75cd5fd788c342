"""What a worker and the one who watches over it say to each other, and the wire between them."""

import asyncio
from typing import Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.msgpack import Decoder, Encoder

from outrider.engine.budget import Account
from outrider.model.progress import Counts, WorstBreaker

_MOST: Final = 64 * 1_048_576


class Start(Struct, frozen=True, tag="start"):
    """The first word to a worker. `job` is for whoever builds the worker, in their own words."""

    number: int
    job: bytes


class Grant(Struct, frozen=True, tag="grant"):
    permits: int


class Drain(Struct, frozen=True, tag="drain"):
    """Start nothing new, finish what is under way, then go."""


class Stop(Struct, frozen=True, tag="stop"):
    """Go now; what is under way stays owed."""


class Report(Struct, frozen=True, tag="report"):
    """How it goes. `idle`: nothing to do before `idle_until`, or at all when that is None.

    `silenced` are sites that have something to do and that an operator has paused; a few of them.
    """

    counts: Counts
    in_flight: int = 0
    held: int = 0
    broken: int = 0
    breaker: WorstBreaker = WorstBreaker()
    idle: bool = False
    idle_until: float | None = None
    paused: str = ""
    memory: int = 0
    account: Account = Account()
    silenced: tuple[str, ...] = ()


class Broke(Struct, frozen=True, tag="broke"):
    """The worker cannot go on, and another in its place could not either: a store is broken, a disk is full."""

    kind: str
    message: str


class Done(Struct, frozen=True, tag="done"):
    """Everything is written and given back."""


Message: TypeAlias = Start | Grant | Drain | Stop | Report | Broke | Done


class Channel(Protocol):
    async def send(self, message: Message) -> None: ...

    async def receive(self) -> Message | None:
        """None when the other side is gone."""
        ...

    def close(self) -> None: ...


class SocketChannel:
    """Between two processes: each message is its length in four bytes, then MessagePack."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._encoder = Encoder()
        self._decoder: Decoder[Message] = Decoder(Message)

    async def send(self, message: Message) -> None:
        """To somebody who is gone, nothing is said: that they are is learned by `receive`."""
        data = self._encoder.encode(message)
        try:
            self._writer.write(len(data).to_bytes(4) + data)
            await self._writer.drain()
        except (ConnectionError, RuntimeError):
            return

    async def receive(self) -> Message | None:
        try:
            size = int.from_bytes(await self._reader.readexactly(4))
            return self._decoder.decode(await self._reader.readexactly(min(size, _MOST)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    def close(self) -> None:
        self._writer.close()


class LocalChannel:
    """Between two tasks of one process."""

    def __init__(self, inbox: asyncio.Queue[Message | None], outbox: asyncio.Queue[Message | None]) -> None:
        self._inbox = inbox
        self._outbox = outbox

    async def send(self, message: Message) -> None:
        self._outbox.put_nowait(message)

    async def receive(self) -> Message | None:
        return await self._inbox.get()

    def close(self) -> None:
        self._outbox.put_nowait(None)


def local_pair() -> tuple[LocalChannel, LocalChannel]:
    one: asyncio.Queue[Message | None] = asyncio.Queue()
    other: asyncio.Queue[Message | None] = asyncio.Queue()
    return LocalChannel(one, other), LocalChannel(other, one)
