"""Faults and waits, as they look to a client that corrects nothing."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from outrider.testing.webfarm import (
    Behaviour,
    WebFarm,
    broken_chunks,
    close_early,
    closed_when_idle,
    dribble,
    endless_body,
    endless_headers,
    garbage_status_line,
    hang,
    header_bomb,
    left_stale,
    longer_than_said,
    no_headers_end,
    page,
    reset,
    script,
    server_sent_events,
    silent_close,
    slow_first_byte,
    status,
)
from outrider.testing.webfarm.caller import Caller, ask, call
from outrider.testing.webfarm.faults import Repeat, Wait


@asynccontextmanager
async def asking(behaviour: Behaviour, method: str = "GET") -> AsyncIterator[Caller]:
    async with WebFarm({"a.test": {"/": behaviour}}) as farm, call(farm.port) as caller:
        await caller.ask("a.test", method=method)
        yield caller


def said_length(head: bytes) -> int:
    fields = dict(line.split(b": ", 1) for line in head.splitlines()[1:] if line)
    return int(fields[b"Content-Length"])


async def test_a_reset_may_come_before_any_byte() -> None:
    async with asking(reset()) as caller:
        with pytest.raises(ConnectionResetError):
            await caller.read(1)


async def test_a_reset_may_come_after_the_head() -> None:
    async with asking(reset("head")) as caller:
        assert said_length(await caller.head()) > 0
        with pytest.raises(ConnectionResetError):
            await caller.read(1)


async def test_a_reset_may_come_in_the_middle_of_the_body() -> None:
    async with asking(reset("half")) as caller:
        length = said_length(await caller.head())
        await caller.read(length // 2)
        with pytest.raises(ConnectionResetError):
            await caller.read(1)


async def test_half_a_body_may_be_all_there_is() -> None:
    async with asking(close_early(b"0123456789")) as caller:
        assert said_length(await caller.head()) == 10
        assert await caller.rest() == b"01234"


async def test_a_body_may_be_longer_than_said() -> None:
    async with asking(longer_than_said(b"0123456789")) as caller:
        assert said_length(await caller.head()) == 5
        assert await caller.rest() == b"0123456789"


async def test_an_answer_may_be_a_closed_connection() -> None:
    async with asking(silent_close()) as caller:
        assert await caller.rest() == b""


async def test_chunks_may_be_broken_in_their_size_their_ending_and_their_length() -> None:
    async with asking(broken_chunks("size")) as caller:
        assert b"\r\nzz\r\n" in await caller.rest()
    async with asking(broken_chunks("ending")) as caller:
        ended = await caller.rest()
        assert b"\r\nTransfer-Encoding: chunked\r\n" in ended
        assert not ended.endswith(b"0\r\n\r\n")
    async with asking(broken_chunks("length")) as caller:
        assert b"\r\n\r\n5\r\n<!doctype html>" in await caller.rest()


async def test_a_status_line_may_be_garbage() -> None:
    async with asking(garbage_status_line(b"\x00what")) as caller:
        assert await caller.rest() == b"\x00what\r\n\r\n"


async def test_a_head_may_never_end() -> None:
    async with asking(no_headers_end()) as caller:
        raw = await caller.rest()

    assert raw.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\n\r\n" not in raw


async def test_a_header_bomb_is_valid_and_can_be_sent_twice() -> None:
    async with WebFarm({"a.test": {"/": header_bomb(headers=1000, size=500)}}) as farm, call(farm.port) as caller:
        for _ in range(2):
            await caller.ask("a.test")
            head, body = await caller.answer()

            assert head.count(b"\r\nX-") == 1000
            assert len(head) > 500_000
            assert len(body) == said_length(head)


async def test_headers_may_come_without_end() -> None:
    async with asking(endless_headers()) as caller:
        raw = await caller.read(1_000_000)

    assert raw.startswith(b"HTTP/1.1 200 OK\r\nX-More: ")
    assert b"\r\n\r\n" not in raw


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_may_come_without_end(*, chunked: bool) -> None:
    async with asking(endless_body(chunked=chunked)) as caller:
        head = await caller.head()
        await caller.read(10_000_000)

    assert b"Content-Length" not in head
    assert (b"\r\nTransfer-Encoding: chunked\r\n" in head) is chunked


async def test_a_script_sends_what_it_is_given_and_keeps_the_connection() -> None:
    said = asyncio.Event()
    steps = script(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", Wait(said), Repeat(b"ab", times=2))
    async with WebFarm({"a.test": {"/": steps, "/next": page("next")}}) as farm, call(farm.port) as caller:
        await caller.ask("a.test")
        await caller.head()
        said.set()

        assert await caller.read(4) == b"abab"

        await caller.ask("a.test", "/next")

        assert (await caller.answer())[1] == b"next"


async def test_a_hanging_answer_stops_where_it_was_told_to_and_others_are_served() -> None:
    sites: Mapping[str, Mapping[str, Behaviour]] = {"a.test": {"/hang": hang(b"HTTP/1.1 200 OK\r\n"), "/": page("x")}}
    async with WebFarm(sites) as farm, call(farm.port) as caller:
        await caller.ask("a.test", "/hang")

        assert await caller.read(17) == b"HTTP/1.1 200 OK\r\n"
        assert (await ask(farm.port, "a.test")).endswith(b"x")


async def test_a_slow_first_byte_waits_for_the_test() -> None:
    go = asyncio.Event()
    async with WebFarm({"a.test": {"/slow": slow_first_byte(go, page("late")), "/": page()}}) as farm:
        waiting = asyncio.create_task(ask(farm.port, "a.test", "/slow"))
        await farm.until(lambda: bool(farm.asked(target="/slow")))
        await ask(farm.port, "a.test")
        was_done = waiting.done()
        go.set()
        answer = await waiting

    assert not was_done
    assert answer.endswith(b"late")


async def test_a_slow_first_byte_may_precede_any_behaviour() -> None:
    async with asking(slow_first_byte(0.01, status(503))) as caller:
        assert (await caller.head()).startswith(b"HTTP/1.1 503 ")


async def test_a_body_dribbles_in_pieces() -> None:
    async with asking(dribble(page("0123456789"), size=3, every=0.001)) as caller:
        assert said_length(await caller.head()) == 10
        assert await caller.read(10) == b"0123456789"
    async with asking(dribble(page("0123456789"), every=3600), method="HEAD") as caller:
        assert said_length(await caller.head()) == 10


async def test_events_are_streamed_without_length() -> None:
    async with asking(server_sent_events(every=0.001)) as caller:
        head = await caller.head()
        events = await caller.read(36)

    assert b"\r\nContent-Type: text/event-stream\r\n" in head
    assert events == b"data: tick\n\n" * 3


async def test_the_head_of_an_endless_answer_is_only_its_head() -> None:
    async with asking(server_sent_events(), method="HEAD") as caller:
        assert (await caller.rest()).endswith(b"\r\n\r\n")


async def test_a_kept_connection_may_be_closed_when_the_next_request_arrives() -> None:
    async with WebFarm({"a.test": {"/": left_stale(page("x"))}}) as farm, call(farm.port) as caller:
        await caller.ask("a.test")
        first = await caller.answer()
        await caller.ask("a.test")
        then = await caller.rest()

        assert first[1] == b"x"
        assert then == b""
        assert farm.requests == 2


async def test_a_kept_connection_may_be_reset_when_the_next_request_arrives() -> None:
    async with WebFarm({"a.test": {"/": left_stale(reset=True)}}) as farm, call(farm.port) as caller:
        await caller.ask("a.test")
        await caller.answer()
        await caller.ask("a.test")

        with pytest.raises(ConnectionResetError):
            await caller.rest()


async def test_a_kept_connection_may_be_closed_while_it_is_idle() -> None:
    go = asyncio.Event()
    async with asking(closed_when_idle(go, page("x"))) as caller:
        await caller.answer()
        go.set()

        assert await caller.rest() == b""
