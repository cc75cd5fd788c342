"""What a worker and the one who watches say to each other, and the wire between them."""

import asyncio
import socket

import pytest

from outrider.engine.budget import Account
from outrider.engine.messages import (
    Broke,
    Done,
    Drain,
    Grant,
    Message,
    Report,
    SocketChannel,
    Start,
    Stop,
    local_pair,
)
from outrider.model.progress import Counts
from outrider.model.reason import Reason

MESSAGES: list[Message] = [
    Start(3, b'{"settings": 1}'),
    Grant(64),
    Drain(),
    Stop(),
    Report(Counts(visits=2, errors={Reason.HTTP_404: 1}), idle=True, idle_until=5.5, account=Account(1, 1, 10, True)),
    Report(Counts()),
    Broke("StoreError", "the disk is full"),
    Done(),
]


async def wire() -> tuple[SocketChannel, SocketChannel]:
    ends = [await asyncio.open_connection(sock=end) for end in socket.socketpair()]
    return SocketChannel(*ends[0]), SocketChannel(*ends[1])


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
async def test_what_is_said_is_what_is_heard(message: Message) -> None:
    one, other = await wire()

    await one.send(message)

    assert await other.receive() == message
    one.close()
    other.close()


async def test_messages_keep_their_order_and_their_borders() -> None:
    one, other = await wire()
    large = Start(0, b"x" * 300_000)

    sending = asyncio.ensure_future(one.send(large))
    await asyncio.sleep(0)
    heard = [await other.receive()]
    await sending
    for message in MESSAGES:
        await one.send(message)

    assert [*heard, *[await other.receive() for _ in MESSAGES]] == [large, *MESSAGES]
    one.close()
    other.close()


async def test_who_is_gone_says_no_more_and_may_be_spoken_to() -> None:
    one, other = await wire()

    one.close()

    assert await other.receive() is None
    for _ in range(3):
        await other.send(Report(Counts()))
    other.close()


async def test_between_two_tasks_it_is_the_same() -> None:
    one, other = local_pair()

    await one.send(Drain())
    one.close()
    await other.send(Done())

    assert [await other.receive(), await other.receive(), await one.receive()] == [Drain(), None, Done()]
