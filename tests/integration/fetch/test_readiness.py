"""A socket that can be read or written is told of, by either way of watching; one that is dropped is not."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

import pycurl
import pytest

from outrider.fetch import curl_loop
from outrider.fetch.readiness import LoopReadiness, Readiness, readiness
from outrider.ports import Request

if TYPE_CHECKING:
    from tests.integration.fetch.conftest import Make, RawServer

# Two names for one way where there is no epoll.
WAYS = {"loop": LoopReadiness, "own": readiness}

NONE, READ, WRITE = 0, pycurl.POLL_IN, pycurl.POLL_OUT


class Bell:
    """Rings with what was told last."""

    def __init__(self) -> None:
        self.told: Sequence[tuple[int, int]] = ()
        self._rung = asyncio.Event()

    def ring(self, sockets: Sequence[tuple[int, int]]) -> None:
        self.told = sockets
        self._rung.set()

    async def next(self) -> Sequence[tuple[int, int]]:
        self._rung.clear()
        async with asyncio.timeout(10):
            await self._rung.wait()
        return self.told


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture(params=WAYS)
async def watched(request: pytest.FixtureRequest, bell: Bell) -> AsyncIterator[Readiness]:
    made: Readiness = WAYS[request.param](asyncio.get_running_loop(), bell.ring)
    yield made
    made.close()


async def test_a_socket_is_told_of_for_what_it_is_watched_for(watched: Readiness, bell: Bell) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        fd = ours.fileno()
        theirs.send(b"x")

        watched.change(fd, NONE, READ)
        readable = await bell.next()
        watched.change(fd, READ, WRITE)
        writable = await bell.next()
        watched.change(fd, WRITE, NONE)

    assert list(readable) == [(fd, pycurl.CSELECT_IN)]
    assert list(writable) == [(fd, pycurl.CSELECT_OUT)]


async def test_a_peer_that_is_gone_wakes_who_waits_for_it(watched: Readiness, bell: Bell) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        watched.change(ours.fileno(), NONE, READ)

        theirs.close()
        [(fd, events)] = await bell.next()
        watched.change(ours.fileno(), READ, NONE)

        assert fd == ours.fileno()
        assert events & pycurl.CSELECT_IN


async def test_a_socket_that_is_dropped_is_not_told_of(watched: Readiness, bell: Bell) -> None:
    quiet, loud = socket.socketpair()
    with quiet, loud:
        quiet.send(b"x")
        loud.send(b"x")
        watched.change(quiet.fileno(), NONE, READ)
        watched.change(quiet.fileno(), READ, NONE)

        watched.change(loud.fileno(), NONE, READ)
        told = await bell.next()
        watched.change(loud.fileno(), READ, NONE)

        assert [fd for fd, _ in told] == [loud.fileno()]


async def test_the_transport_works_where_there_is_no_epoll(
    make: "Make", server: "RawServer", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(curl_loop, "readiness", LoopReadiness)
    server.routes["/x"] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    async with make() as transport:
        answers = await asyncio.gather(*(transport.request(Request(server.url("/x"))) for _ in range(50)))

    assert {answer.body for answer in answers} == {b"ok"}
