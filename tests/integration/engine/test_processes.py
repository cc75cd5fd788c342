"""Workers as processes of their own."""

import asyncio
import gc
from pathlib import Path

import pytest

from outrider.engine.messages import Drain
from outrider.engine.processes import Process


async def test_a_worker_that_cannot_begin_says_why_and_is_gone(tmp_path: Path) -> None:
    log = tmp_path / "worker.stderr"

    process = await Process.start(0, b"no job at all", log)
    async with asyncio.timeout(30):
        heard = await process.channel.receive()
        code = await process.wait()
    process.channel.close()

    assert heard is None
    assert code != 0
    assert "DecodeError" in log.read_text()


async def test_a_worker_that_is_killed_is_gone_and_may_still_be_spoken_to(tmp_path: Path) -> None:
    process = await Process.start(0, b"{}", tmp_path / "worker.stderr")

    process.kill()
    async with asyncio.timeout(30):
        code = await process.wait()
        heard = await process.channel.receive()
    await process.channel.send(Drain())
    process.kill()
    process.channel.close()

    assert heard is None
    assert code < 0


async def test_nothing_stays_open_when_a_worker_cannot_be_started(tmp_path: Path) -> None:
    """An open socket would be a warning here, and warnings are errors."""
    with pytest.raises(FileNotFoundError):
        await Process.start(0, b"{}", tmp_path / "nowhere" / "worker.stderr")

    gc.collect()
