"""Dead letters as other programs find them; told again by who does not know whether he told; and what it costs."""

import json

import pytest
from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisServer

from outrider.errors import StoreError, StoreUnavailable
from outrider.model.url import Url
from outrider.stores.letters import open_letters
from outrider.testing.contracts.letters import START, died, failed, fetched, letter

NAME = "page_fetcher_dlq"


def commands(server: RedisServer) -> int:
    with server.client() as client:
        return int(client.info("stats")["total_commands_processed"])


async def test_a_letter_is_one_json_object(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_letters(server.url, NAME) as letters:
        await letters.publish([failed(1, START), died(1, START + 60.25)])

    with server.client() as client:
        [text] = client.lrange(NAME, 0, -1)
    assert json.loads(text) == {
        "url": "http://example.com/1",
        "reason": "http_500",
        "attempts": 3,
        "last_error": "500 after 3 visits",
        "first_at": "2023-11-14T22:13:20.000Z",
        "last_at": "2023-11-14T22:14:20.250Z",
        "evidence_id": f"fetch-1-{START + 60.25}",
        "site": "example.com",
        "status_code": 500,
    }


async def test_pages_that_were_fetched_cost_no_round_trip(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_letters(server.url, NAME) as letters:
        before = commands(server)
        for _ in range(50):
            await letters.publish([fetched(number) for number in range(10)])
        # What this counts is the second question itself: ours and the handshake of its client.
        quiet = commands(server) - before
        before = commands(server)
        for _ in range(50):
            await letters.publish([*(fetched(number) for number in range(10)), failed(11)])
        busy = commands(server) - before

    assert quiet < 10
    assert busy >= 50


async def test_what_is_remembered_ends_by_itself(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_letters(server.url, NAME) as letters:
        await letters.publish([failed(1), failed(2)])
        await letters.publish([died(2)])

    first = f"{{{NAME}}}:first:{Url('http://example.com/1').sha256}"
    with server.client() as client:
        keys = sorted(key.decode() for key in client.scan_iter())
        ttl = client.ttl(first)
    assert keys == sorted([NAME, f"{{{NAME}}}:told", first])
    assert 604_000 < ttl <= 604_800


async def test_what_was_told_before_a_restart_is_not_told_again(start_redis: StartRedis) -> None:
    server = start_redis("--appendonly", "yes", "--appendfsync", "always")
    async with open_letters(f"{server.url}?timeout=5", NAME) as letters:
        await letters.publish([died(1)])
        server.kill()
        with pytest.raises(StoreUnavailable):
            await letters.publish([died(1), died(2)])
        server.start()
        await letters.publish([died(1), died(2)])
        size = await letters.size()

    assert size == 2


async def test_a_key_that_is_no_list_is_said_in_one_sentence(start_redis: StartRedis) -> None:
    server = start_redis()
    with server.client() as client:
        client.xadd(NAME, {"url": "x"})

    with pytest.raises(StoreError, match=rf"/0: the key {NAME} holds a stream; expected a list$"):
        async with open_letters(server.url, NAME):
            pass


async def test_a_full_server_still_takes_letters(start_redis: StartRedis) -> None:
    """They are few, and the visits behind them could not be settled without."""
    server = start_redis("--maxmemory-policy", "noeviction")
    async with open_letters(server.url, NAME) as letters:
        with server.client() as client:
            client.config_set("maxmemory", 1)

        assert await letters.put([letter()]) == 1
