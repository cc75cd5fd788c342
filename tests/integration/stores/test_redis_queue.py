"""The queue in the open: other programs push to it, its takers are killed, its server is restarted or is no queue."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.integration.stores.conftest import StartRedis
from tests.services.ports import free_port
from tests.services.redis import RedisServer

from outrider.errors import StoreError, StoreUnavailable
from outrider.ports import Batch, InputQueue
from outrider.stores.queues import open_queue
from outrider.testing.clock import FakeClock

NAME = "crawler_queue"
PATIENCE = 20.0


def urls(count: int) -> list[bytes]:
    return [b"http://example.com/%d" % number for number in range(count)]


def push(server: RedisServer, entries: Sequence[bytes]) -> None:
    """As another program does it."""
    with server.client() as client:
        client.rpush(NAME, *entries)


def take_and_be_killed(server: RedisServer, most: int, seconds: float) -> bytes:
    program = str(Path(__file__).with_name("queue_taker.py"))
    arguments = [sys.executable, program, server.url, NAME, str(most), str(seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.kill()
    return said


def keys(server: RedisServer) -> list[bytes]:
    with server.client() as client:
        return sorted(client.scan_iter())


async def until_one_has_it(queues: Sequence[InputQueue], seconds: float = 60.0) -> list[Batch]:
    """All of them ask again and again; what they got in the first round in which anybody got anything."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        batches = await asyncio.gather(*(queue.take(100, seconds) for queue in queues))
        if any(batches):
            return [batch for batch in batches if batch is not None]
        await asyncio.sleep(0.02)
    raise AssertionError("nobody was lent anything")


async def test_what_a_killed_taker_held_goes_whole_to_exactly_one_other(start_redis: StartRedis) -> None:
    """H4-8."""
    server = start_redis()
    push(server, urls(30))
    said = take_and_be_killed(server, 20, 1.0)

    async with open_queue(server.url, NAME) as one, open_queue(server.url, NAME) as two:
        rest = await one.take(100, 60.0)
        again = await until_one_has_it([one, two, one, two])
        nothing = await asyncio.gather(one.take(100, 60.0), two.take(100, 60.0))
        size = await one.size()

    assert said == b"20\n"
    assert rest is not None
    assert list(rest.entries) == urls(30)[20:]
    assert [list(batch.entries) for batch in again] == [urls(20)]
    assert (*nothing, size) == (None, None, 30)


async def test_each_entry_is_handed_out_once_while_leases_hold(start_redis: StartRedis) -> None:
    """By the server's own clock; and when all is done nothing is left behind."""
    server = start_redis()
    push(server, urls(5_000))
    got: list[bytes] = []

    async def work(queue: InputQueue) -> None:
        while batch := await queue.take(43, 60.0):
            got.extend(batch.entries)
            await queue.done(batch)

    async with open_queue(server.url, NAME) as one, open_queue(server.url, NAME) as two:
        await asyncio.gather(*(work(queue) for queue in (one, two) * 10))

    assert sorted(got) == sorted(urls(5_000))
    assert keys(server) == []


async def test_a_restart_in_the_middle_loses_nothing(start_redis: StartRedis) -> None:
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    push(server, urls(30))
    async with open_queue(f"{server.url}?timeout=5", NAME) as queue:
        done = await queue.take(10, 60.0)
        held = await queue.take(10, 0.0)
        assert done is not None
        assert held is not None

        server.kill()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await queue.done(done)
        server.start()
        await queue.done(done)
        [again] = await until_one_has_it([queue])
        rest = await queue.take(100, 60.0)
        size = await queue.size()

    assert rest is not None
    assert (again.entries, list(rest.entries), size) == (held.entries, urls(30)[20:], 20)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (("SADD", NAME, "x"), "a set"),
        (("XADD", NAME, "*", "url", "x"), "a stream"),
        (("SET", NAME, "x"), "a string"),
        (("ZADD", NAME, "1", "x"), "a zset"),
    ],
)
async def test_a_key_that_is_no_list_is_said_in_one_sentence(
    start_redis: StartRedis, command: tuple[str, ...], kind: str
) -> None:
    server = start_redis()
    async with open_queue(server.url, NAME) as before:
        with server.client() as client:
            client.execute_command(*command)

        for act in (before.take(1, 60.0), before.push([b"x"]), before.size()):
            with pytest.raises(StoreError, match=rf"the key {NAME} holds {kind}; expected a list$") as caught:
                await act
            assert not isinstance(caught.value, StoreUnavailable)
    with pytest.raises(StoreError, match=rf"^redis://127.0.0.1:\d+/0: the key {NAME} holds"):
        async with open_queue(server.url, NAME):
            pass


async def test_a_full_server_takes_nothing_more_but_can_be_emptied(start_redis: StartRedis) -> None:
    server = start_redis("--maxmemory-policy", "noeviction")
    push(server, urls(4))
    async with open_queue(server.url, NAME) as queue:
        held = await queue.take(2, 0.0)
        with server.client() as client:
            client.config_set("maxmemory", 1)

        with pytest.raises(StoreError, match="out of memory"):
            await queue.push([b"http://example.com/"])
        [again] = await until_one_has_it([queue])
        rest = await queue.take(10, 60.0)
        assert held is not None
        assert rest is not None
        await queue.done(again)
        await queue.done(rest)
        size = await queue.size()

    assert (again.entries, list(rest.entries), size) == (held.entries, urls(4)[2:], 0)
    assert keys(server) == []


async def test_a_batch_that_somebody_deleted_is_passed_over(start_redis: StartRedis) -> None:
    server, clock = start_redis(), FakeClock(1_000.0)
    push(server, urls(2))
    async with open_queue(server.url, NAME, clock) as queue:
        lost, held = await queue.take(1, 10.0), await queue.take(1, 20.0)
        assert lost is not None
        assert held is not None
        with server.client() as client:
            client.delete(f"{{{NAME}}}:lent:{lost.id}")
        clock.advance(30.0)

        again, nothing = await queue.take(1, 60.0), await queue.take(1, 60.0)
        size = await queue.size()

    assert again is not None
    assert (again.entries, nothing, size) == (held.entries, None, 1)


async def test_a_server_that_will_not_have_us_is_told_at_once(start_redis: StartRedis) -> None:
    server = start_redis()
    with server.client() as client:
        client.config_set("requirepass", "right-secret")

    with pytest.raises(StoreError, match="refuses this user or password") as caught:
        async with open_queue(f"redis://:wrong-secret@127.0.0.1:{server.port}/0", NAME):
            pass
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        async with open_queue(f"redis://127.0.0.1:{free_port()}", NAME):
            pass

    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
