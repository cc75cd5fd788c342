"""The event sinks keep the contract."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from outrider.model.codec import from_json
from outrider.model.event import Event
from outrider.ports import EventSink
from outrider.stores.events import open_events
from outrider.stores.memory.events import MemoryEvents
from outrider.testing.contracts.events import EventsContract


class TestMemoryEvents(EventsContract):
    def open(self, name: str) -> AbstractAsyncContextManager[EventSink]:
        return self._kept(name)

    async def read(self, name: str) -> list[Event]:
        kept: dict[str, list[Event]] = self.__dict__.get("kept", {})
        return kept[name]

    @asynccontextmanager
    async def _kept(self, name: str) -> AsyncIterator[EventSink]:
        """A sink in memory ends with its process, so what it took is read before that."""
        async with open_events("memory:") as sink:
            yield sink
        assert isinstance(sink, MemoryEvents)
        self.__dict__.setdefault("kept", {}).setdefault(name, []).extend(sink.events)


class TestFileEvents(EventsContract):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path

    def open(self, name: str) -> AbstractAsyncContextManager[EventSink]:
        return open_events(f"file://{self.path}/{name}")

    async def read(self, name: str) -> list[Event]:
        lines = [line for path in sorted((self.path / name).iterdir()) for line in path.read_bytes().split(b"\n")[:-1]]
        return [from_json(line, Event) for line in lines]  # type: ignore[arg-type]  # mypy takes a union for no type
