"""Workers that were forked before anything ran."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they are started anew")

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from outrider.engine.forked import ForkedProcess, prepared_workers
from outrider.engine.messages import Done, Drain
from outrider.engine.processes import connected

def life(descriptor):
    asyncio.run(work(descriptor))

async def work(descriptor):
    channel = await connected(descriptor)
    start = await channel.receive()
    print("said by", start.number, flush=True)
    if start.job == b"fail":
        raise RuntimeError("as it was told to")
    while not isinstance(await channel.receive(), Drain | None):
        pass
    await channel.send(Done())

async def watch(prepared, folder, job):
    mates = [await ForkedProcess.start(prepared.pop(), n, job, folder / f"{n}.log") for n in range(2)]
    print("pids", *(mate._pid for mate in mates), flush=True)
    WATCH
"""


def program(watch: str, folder: Path, job: str = "go", *, before: str = "") -> "subprocess.Popen[str]":
    """It runs alone: a test that forks itself would have the threads of pytest."""
    body = PROGRAM.replace("WATCH", watch.strip().replace("\n", "\n    "))
    body += f"""
print("said once", end=" ")
with prepared_workers(2, life) as prepared:
    {before or "asyncio.run(watch(prepared, Path(sys.argv[1]), sys.argv[2].encode()))"}
print("end", len(prepared))
"""
    command = [sys.executable, "-c", body, str(folder), job]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_each_works_says_its_words_to_its_log_and_is_waited_for(tmp_path: Path) -> None:
    watch = """
for mate in mates:
    await mate.channel.send(Drain())
print(await mates[0].channel.receive(), [await mate.wait() for mate in mates], await mates[0].wait())
mates[0].kill()
"""
    with program(watch, tmp_path) as process:
        said, complaint = process.communicate(timeout=60)

    assert complaint == ""
    assert said.count("said once") == 1
    assert "Done() [0, 0] 0" in said
    assert [(tmp_path / f"{number}.log").read_text() for number in range(2)] == ["said by 0\n", "said by 1\n"]


def test_a_failure_is_a_code_and_a_trace_in_the_log(tmp_path: Path) -> None:
    with program("print([await mate.wait() for mate in mates])", tmp_path, "fail") as process:
        said, complaint = process.communicate(timeout=60)

    assert complaint == ""
    assert "[1, 1]" in said
    assert "RuntimeError: as it was told to" in (tmp_path / "1.log").read_text()


def test_one_that_is_killed_is_told_by_its_code(tmp_path: Path) -> None:
    watch = """
mates[0].kill()
print(await mates[0].wait(), await mates[0].channel.receive())
await mates[0].channel.send(Drain())
"""
    with program(watch, tmp_path) as process:
        said, complaint = process.communicate(timeout=60)

    assert complaint == ""
    assert f"{-signal.SIGKILL} None" in said


def test_those_that_nobody_wanted_are_gone(tmp_path: Path) -> None:
    before = 'print("pids", *(one.pid for one in prepared))'
    with program("", tmp_path, before=before) as process:
        said, complaint = process.communicate(timeout=60)

    assert complaint == ""
    assert "end 2" in said
    for pid in map(int, said.partition("pids")[2].splitlines()[0].split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_when_the_one_who_watches_is_killed_all_of_them_end(tmp_path: Path) -> None:
    with program("await asyncio.sleep(600)", tmp_path) as process:
        assert process.stdout is not None
        pids = list(map(int, process.stdout.readline().partition("pids")[2].split()))
        watched = [os.pidfd_open(pid) for pid in pids]
        process.kill()

        loop = asyncio.get_running_loop()
        async with asyncio.timeout(60):
            for descriptor in watched:
                gone = asyncio.Event()
                loop.add_reader(descriptor, gone.set)
                await gone.wait()
                loop.remove_reader(descriptor)
                os.close(descriptor)

    assert len(pids) == 2
