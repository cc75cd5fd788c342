"""A world in a process of its own: it starts, says where it is, keeps its log and ends when it is told to."""

import asyncio
import json
import signal
import ssl
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from outrider.testing.webfarm.caller import ask, call
from outrider.testing.webfarm.world import small
from outrider.testing.webfarm.world_log import read_log
from outrider.testing.webfarm.world_server import Ready, Served, served
from outrider.testing.webfarm.world_truth import Fate

WORLD = small(7)
STEADY = replace(WORLD, hostile_share=0.0)


async def test_a_world_is_served_by_another_process_that_logs_and_ends(tmp_path: Path) -> None:
    async with served(WORLD, log=tmp_path / "log") as web:
        answer = await ask(web.port, "harvest-0.test", "/")
        log = web.log()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert web.url("harvest-0.test").encode() in answer or b'href="/p/1"' in answer
    assert [(line.host, line.target, line.status) for line in log] == [("harvest-0.test", "/", 200)]
    assert web.hosts["*.test"] == ("127.0.0.1",)
    assert web.seeds == [web.url("harvest-0.test", "/")]
    assert web.truth()[web.seeds[0]].state is Fate.FETCHED
    with pytest.raises(ConnectionRefusedError):
        await ask(web.port, "harvest-0.test", "/")


async def test_a_world_is_served_by_several_processes_with_one_log(tmp_path: Path) -> None:
    async with served(STEADY, log=tmp_path / "log", processes=2) as web:
        await asyncio.gather(*(ask(web.port, "harvest-0.test", f"/p/{number}") for number in range(1, 60)))
        log = web.log()

    assert sorted(line.target for line in log) == sorted(f"/p/{number}" for number in range(1, 60))
    assert log == sorted(log, key=lambda line: line.monotonic_at)


async def test_https_needs_the_authority_that_the_server_tells() -> None:
    async with served(WORLD, tls=True) as web:
        trusting = ssl.create_default_context(cadata=web.authority)
        async with call(web.place.tls_port or 0, context=trusting, name="harvest-0.test") as caller:
            await caller.ask("harvest-0.test")
            head, _ = await caller.answer()

    assert head.startswith(b"HTTP/1.1 200 ")
    assert web.log() == []
    assert web.url("harvest-0.test", tls=True).startswith("https://")


async def test_what_cannot_be_served_is_refused() -> None:
    with pytest.raises(ValueError, match="TLS is served by one"):
        async with served(STEADY, tls=True, processes=2):
            pass
    with pytest.raises(ValueError, match="at least one"):
        async with served(WORLD, processes=0):
            pass
    with pytest.raises(ValueError, match="without TLS"):
        _ = Served(WORLD, Ready(1, None, 1)).authority


async def test_a_server_that_cannot_start_says_so() -> None:
    with pytest.raises(RuntimeError, match="before it listened"):
        async with served(WORLD, processes=2):
            pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_command_writes_a_ready_file_and_ends_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    ready, log = tmp_path / "ready.json", tmp_path / "log"
    command = ["-m", "outrider.testing.webfarm.world", "--seed", "7", "--preset", "small"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, "--log", str(log), "--ready", str(ready), stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(30):
            while not ready.exists():  # noqa: ASYNC110  a file in another process tells nobody that it is there
                await asyncio.sleep(0.01)
        said = json.loads(ready.read_text())
        await ask(said["port"], "harvest-0.test", "/p/1")
    finally:
        process.send_signal(number)
        _, complaints = await process.communicate()

    assert said["pid"] == process.pid
    assert process.returncode == 0
    assert complaints == b""
    assert [line.target for line in read_log(log)] == ["/p/1"]


def test_a_line_that_is_half_written_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    whole = b'{"at":1,"monotonic_at":2,"host":"a.test","method":"GET","target":"/"}\n'

    log.write_bytes(whole + whole[:20])

    assert [line.host for line in read_log(log, tmp_path / "missing")] == ["a.test"]
