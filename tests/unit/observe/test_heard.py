"""A sink whose events are also told to the log of this process."""

from pathlib import Path

import pytest

from outrider.errors import StoreError
from outrider.model.event import CrawlPaused
from outrider.observe.heard import Heard
from outrider.observe.log import open_log
from outrider.observe.memory import resident
from outrider.stores.memory.events import MemoryEvents
from outrider.stores.place import Place

PAUSED = CrawlPaused(at=1.0, cause="a cable")


async def test_what_is_published_is_also_in_the_log(tmp_path: Path) -> None:
    sink = MemoryEvents()

    with open_log(tmp_path / "crawl.log") as log:
        await Heard(sink, log).publish([PAUSED])

    assert list(sink.events) == [PAUSED]
    assert "a cable" in (tmp_path / "crawl.log").read_text()


async def test_what_could_not_be_published_is_not_in_the_log_either(tmp_path: Path) -> None:
    async with MemoryEvents.open(Place("memory:")) as sink:
        pass

    with open_log(tmp_path / "crawl.log") as log, pytest.raises(StoreError):
        await Heard(sink, log).publish([PAUSED])

    assert "a cable" not in (tmp_path / "crawl.log").read_text()


def test_a_process_occupies_some_memory() -> None:
    before = resident()
    held = bytearray(b"x" * 50_000_000)

    assert 1_000_000 < before < resident()
    assert len(held) == 50_000_000
