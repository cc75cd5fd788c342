"""The real command in a process of its own, in an empty folder, with no settings but the ones given."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Awaitable[Done]]


@pytest.fixture
def environment() -> dict[str, str]:
    ours = ("OUTRIDER_", "PAGE_FETCH", "CRAWLER_")
    theirs = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours) and key not in theirs}
    return {**kept, "TERM": "xterm"}


@pytest.fixture
def outrider(tmp_path: Path, environment: dict[str, str]) -> Run:
    async def run(*arguments: str, given: bytes = b"") -> Done:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            "-m",
            "outrider",
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate(given)
        assert process.returncode is not None
        return Done(process.returncode, out.decode(), err.decode())

    return run
