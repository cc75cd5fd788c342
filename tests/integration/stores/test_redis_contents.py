"""Pages in Redis as other programs find them: by any client, for as long as was said, unless memory is short."""

import asyncio
import time
from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace
from tests.integration.stores.conftest import StartRedis
from tests.services.ports import free_port
from tests.services.redis import RedisServer

from outrider.errors import StoreError, StoreUnavailable
from outrider.model.capture import Capture, Unchanged
from outrider.model.url import Url
from outrider.stores.contents import open_contents
from outrider.stores.redis.contents import RedisContents
from outrider.testing.contracts.contents import capture

PATIENCE = 20.0


def page(number: int, content: bytes = b"<p>hello</p>") -> Capture:
    """As the engine brings it to a store that decodes: the body is as sent."""
    return replace(capture(number, body=b"\x1f\x8b as sent"), content=content)


def key_of(url: str) -> str:
    return f"webpage:{sha256(url.encode()).hexdigest()}"


def read(server: RedisServer, key: str) -> tuple[bytes | None, int]:
    with server.client() as client:
        value: Any = client.get(key)
        return value, int(client.ttl(key))


async def test_any_client_finds_the_decoded_page_under_the_hash_of_its_url(start_redis: StartRedis) -> None:
    """S4-2, S4-7, S4-12, S4-33, S4-40: as it is, for an hour."""
    server = start_redis()
    text = "<p>grüße</p>".encode()
    async with open_contents(server.url) as contents:
        [key] = await contents.put([page(1, text)])

    value, ttl = read(server, key)
    assert key == key_of("http://example.com/page/1")
    assert value == text
    assert 3_590 < ttl <= 3_600


async def test_the_url_is_the_one_that_was_asked_for_wherever_it_led(start_redis: StartRedis) -> None:
    """C10."""
    server = start_redis()
    async with open_contents(f"{server.url}?prefix=cache&ttl=60") as contents:
        [key] = await contents.put([replace(page(1), asked=Url("http://example.com/short"))])

    value, ttl = read(server, key)
    assert key == key_of("http://example.com/short").replace("webpage", "cache")
    assert (value, 50 < ttl <= 60) == (b"<p>hello</p>", True)


async def test_a_page_that_has_not_changed_stays_for_longer(start_redis: StartRedis) -> None:
    """C16: a 304 brings no body. When the page is gone by now there is nothing to point to."""
    server = start_redis()
    unchanged = [
        replace(page(number, b""), status=304, body=b"", unchanged=Unchanged.NOT_MODIFIED) for number in (1, 2)
    ]
    async with open_contents(f"{server.url}?ttl=60") as contents:
        [key] = await contents.put([page(1)])
        with server.client() as client:
            client.expire(key, 5)
        keys = await contents.put(unchanged)
        same = await contents.put([replace(page(3), unchanged=Unchanged.SAME_CONTENT)])

    value, ttl = read(server, key)
    assert keys == [key, ""]
    assert (value, 50 < ttl <= 60) == (b"<p>hello</p>", True)
    assert read(server, same[0])[0] == b"<p>hello</p>"


async def test_an_answer_that_is_no_page_takes_no_page_away(start_redis: StartRedis) -> None:
    """Errors, redirects, and what came with a 200 but could not be read; C28."""
    server = start_redis()
    answers = [replace(page(1, b"<h1>Not Found</h1>"), status=status) for status in (301, 404, 410, 500, 503)]
    async with open_contents(server.url) as contents:
        [key] = await contents.put([page(1)])
        keys = await contents.put([*answers, page(1, b"")])
        await contents.confirm([key, *keys])

    assert keys == [""] * 6
    assert read(server, key)[0] == b"<p>hello</p>"


async def test_a_page_ends_with_its_time(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_contents(f"{server.url}?ttl=1") as contents:
        [key] = await contents.put([page(1)])
        until = time.monotonic() + PATIENCE
        while await contents.get(key) is not None:
            assert time.monotonic() < until
            await asyncio.sleep(0.02)


async def test_many_pages_are_one_round_trip_and_many_bytes_a_few(start_redis: StartRedis) -> None:
    server = start_redis()

    def reads(client: Any) -> int:  # noqa: ANN401 - the driver's client
        return int(client.info("stats")["total_reads_processed"])

    async with open_contents(server.url) as contents:
        with server.client() as client:
            before = reads(client)
            await contents.put([page(number) for number in range(300)])
            small = reads(client) - before
        large = [page(number, b"%d" % number * 1_000_000) for number in range(300, 320)]
        keys = await contents.put(large)
        assert isinstance(contents, RedisContents)
        found = await contents.get_many(keys)

    # Each may take the server several reads, since they fill a buffer; one a page would be three hundred.
    assert small < 30
    assert found == [put.content for put in large]


async def test_contents_are_read_in_the_order_of_their_keys_and_no_other_key_is(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_contents(server.url) as contents:
        assert isinstance(contents, RedisContents)
        keys = await contents.put([page(number, b"%d" % number) for number in range(3)])
        with server.client() as client:
            client.set("secret", "not a page")
            client.delete(keys[1])

        assert await contents.get_many([keys[2], "secret", keys[1], "", keys[0], keys[2]]) == [
            *(b"2", None, None, None, b"0", b"2")
        ]
        assert await contents.get_many([]) == []
        assert await contents.get("secret") is None


async def test_a_server_short_of_memory_drops_pages_and_nothing_else(start_redis: StartRedis) -> None:
    """S4-51: with volatile-ttl the pages that would end first go first, and what has no end stays."""
    server = start_redis("--maxmemory-policy", "volatile-ttl", "--maxmemory", "8mb")
    with server.client() as client:
        client.rpush("crawler_queue", "http://example.com/")
    pages = [page(number, b"x" * 100_000) for number in range(200)]
    async with open_contents(server.url) as contents:
        assert isinstance(contents, RedisContents)
        keys = [key for first in range(0, 200, 10) for key in await contents.put(pages[first : first + 10])]
        found = [content is not None for content in await contents.get_many(keys)]

    with server.client() as client:
        assert client.llen("crawler_queue") == 1
    assert 10 < sum(found) < 100


async def test_a_full_server_is_said_without_the_page(start_redis: StartRedis) -> None:
    server = start_redis("--maxmemory-policy", "noeviction")
    async with open_contents(server.url) as contents:
        with server.client() as client:
            client.config_set("maxmemory", 1)

        with pytest.raises(StoreError, match=r"out of memory .*; 3 of 3 commands were not carried out") as caught:
            await contents.put([page(number) for number in range(3)])

    assert not isinstance(caught.value, StoreUnavailable)
    assert "hello" not in f"{caught.value} {caught.value.__cause__}"


async def test_a_key_that_is_no_string_is_said(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_contents(server.url) as contents:
        with server.client() as client:
            client.rpush("webpage:1", "x")

        with pytest.raises(StoreError, match=r"/0: Operation against a key holding the wrong kind of value"):
            await contents.get("webpage:1")


async def test_a_server_that_comes_back_is_written_to_again(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_contents(f"{server.url}?timeout=5") as contents:
        [key] = await contents.put([page(1)])
        server.kill()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await contents.put([page(1)])
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await contents.get(key)
        server.start()

        assert await contents.put([page(1)]) == [key]


async def test_nobody_there_is_told_at_once() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        async with open_contents(f"redis://127.0.0.1:{free_port()}"):
            pass
