"""The real command in a process of its own, in an empty folder, with no settings but the ones given."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from tests.services.commands import Commands, Done

__all__ = ["Done", "Run"]

Run = Callable[..., Awaitable[Done]]


@pytest.fixture
def environment() -> dict[str, str]:
    ours = ("OUTRIDER_", "PAGE_FETCH", "CRAWLER_")
    theirs = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours) and key not in theirs}
    return {**kept, "TERM": "xterm"}


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    commands = Commands()
    yield commands
    commands.close()


@pytest.fixture
def outrider(tmp_path: Path, environment: dict[str, str], commands: Commands) -> Run:
    async def run(*arguments: str, given: bytes = b"") -> Done:
        return await asyncio.to_thread(commands.run, arguments, tmp_path, environment, given)

    return run
