"""Who watches an extractor from outside is told what it counted, and which store it waits for."""

import asyncio

import pytest

from outrider.app.extract import extract_rules
from outrider.app.rules import frontier_rules
from outrider.cli.extract_run import Watched
from outrider.clock import SystemClock
from outrider.engine.extractor import Extractor
from outrider.engine.gate import Gate
from outrider.errors import StoreUnavailable
from outrider.model.event import PageFetched
from outrider.settings import Loaded, load
from outrider.stores.memory.frontier import MemoryFrontier


class NobodyThere:
    """A Kafka and a Redis that are away."""

    malformed = 3

    async def take(self, most: int, seconds: float) -> list[PageFetched]:
        raise StoreUnavailable(f"kafka://x: {most} pages, {seconds} s")

    async def done(self) -> None:
        raise StoreUnavailable("kafka://x")

    async def lag(self) -> int:
        raise StoreUnavailable("kafka://x")

    async def get_many(self, keys: object) -> list[bytes | None]:
        raise StoreUnavailable(f"redis://x: {keys}")


async def told(address: str | None, path: str) -> str:
    """The whole answer, with its head."""
    assert address is not None
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(20):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    return answer.decode()


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Loaded:
    monkeypatch.delenv("OUTRIDER_METRICS_ADDRESS", raising=False)
    return load({"profile": "service", "metrics_address": "127.0.0.1:0"})


async def test_before_its_stores_are_there_it_is_alive_and_not_ready(loaded: Loaded) -> None:
    async with Watched().served(loaded) as at:
        metrics, ready, alive = [await told(at, path) for path in ("/metrics", "/readyz", "/healthz")]

    assert "\noutrider_extract_pages_total 0.0\n" in metrics
    assert ready.startswith("HTTP/1.1 503")
    assert "its stores cannot be used yet" in ready
    assert alive.startswith("HTTP/1.1 200")


async def test_while_a_store_is_away_it_says_which(loaded: Loaded) -> None:
    frontier = MemoryFrontier(frontier_rules(loaded.settings), SystemClock())
    gate = Gate(extract_rules(loaded.settings), frontier.rules.identity)
    paused = asyncio.Event()
    away = NobodyThere()
    watched = Watched()
    watched.extractor = extractor = Extractor(away, away, frontier, gate, SystemClock(), lambda _: paused.set())

    async with watched.served(loaded) as at, asyncio.timeout(20):
        before = await told(at, "/readyz")
        running = asyncio.create_task(extractor.run())
        await paused.wait()
        metrics, ready, alive = [await told(at, path) for path in ("/metrics", "/readyz", "/healthz")]
        extractor.stop()
        await running

    assert before.startswith("HTTP/1.1 200")
    assert "\noutrider_extract_malformed_total 3.0\n" in metrics
    assert "\noutrider_extract_lag " not in metrics
    assert (ready.startswith("HTTP/1.1 503"), "a store is away: kafka://x" in ready) == (True, True)
    assert alive.startswith("HTTP/1.1 200")


async def test_nothing_is_served_where_nobody_wants_it() -> None:
    async with Watched().served(load({"profile": "service", "metrics_address": "none"})) as at:
        assert at is None
