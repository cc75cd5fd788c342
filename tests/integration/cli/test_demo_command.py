"""`outrider demo` as a newcomer runs it."""

import asyncio
import json
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

Run = Callable[..., Awaitable[tuple[int, str, str]]]


async def demo(tmp_path: Path, environment: dict[str, str], *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "outrider", "demo", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110 - of another process, which raises no event of ours
            await asyncio.sleep(0.05)


def at_work(folder: Path) -> list[str]:
    """Processes that work in the folder, as all of a demo's do."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder.resolve():
                found.append((process / "cmdline").read_bytes().decode(errors="replace"))
        except OSError:
            continue  # it is gone, or somebody else's
    return found


async def test_the_demo_ends_by_itself_is_polite_and_its_hints_work(
    outrider: Run, tmp_path: Path, environment: dict[str, str]
) -> None:
    process = await demo(tmp_path, environment, "--json")
    async with asyncio.timeout(180):
        out, err = await process.communicate()

    assert process.returncode == 0, err
    told = json.loads(out)
    assert (told["finish"], told["adds_up"]) == ("finished", True)
    assert told["pages"] > 2_000
    assert told["referee"]["disallowed"] == 0
    assert told["referee"]["requests"] > told["pages"]
    assert (tmp_path / "outrider-demo" / "logs" / "webfarm.jsonl").stat().st_size > 0
    assert at_work(tmp_path) == []

    *commands, to_fill_in = told["next"]
    assert len(commands) >= 2
    assert to_fill_in.startswith("outrider crawl https://")
    for command in commands:
        _, *arguments = shlex.split(command)
        code, listed, _ = await outrider(*arguments)
        assert code == 0
        assert len(listed.splitlines()) > 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_whatever_stops_the_demo_leaves_no_process_behind_and_the_next_begins_anew(
    outrider: Run, tmp_path: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    process = await demo(tmp_path, environment)
    log = tmp_path / "outrider-demo" / "logs" / "webfarm.jsonl"
    await until(lambda: log.exists() and log.stat().st_size > 0)

    os.killpg(process.pid, number)
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    await until(lambda: not at_work(tmp_path))

    if number is signal.SIGINT:
        assert process.returncode == 130, err
        assert out.startswith(b"Stopped by Ctrl-C; nothing is lost.")
    code, _, told = await outrider("crawl", "http://127.0.0.1:9/", "-d", "outrider-demo")
    assert code == 2
    assert "outrider-demo: is the demo's" in told


async def test_the_demo_never_discards_a_crawl_of_somebody_else(outrider: Run, tmp_path: Path) -> None:
    mine = tmp_path / "outrider-demo"
    mine.mkdir()
    (mine / "outrider.toml").write_text('profile = "polite"\n')

    code, out, err = await outrider("demo")

    assert (code, out) == (2, "")
    assert "outrider-demo: holds a crawl that is not a demo's, which is not discarded; give another --directory" in err
    assert [path.name for path in mine.iterdir()] == ["outrider.toml"]
