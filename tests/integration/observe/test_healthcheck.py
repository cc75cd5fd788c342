"""The image's own health check, run as the container engine would."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest

from outrider.observe.endpoint import Watch, serve

DOCKERFILE = Path(__file__).parents[3] / "Dockerfile"


async def checked(port: str) -> int:
    """Its exit code; anything but 0 is unhealthy."""
    words = re.search(r"^HEALTHCHECK .*\\\n\s*CMD (\[.*\])$", DOCKERFILE.read_text(), re.MULTILINE)
    assert words is not None
    program, *arguments = json.loads(words[1].replace("9464", port))
    assert program == "python"
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stderr=asyncio.subprocess.DEVNULL,
        # A proxy of the environment has nothing to do with it.
        env={"http_proxy": "http://127.0.0.1:1", "HTTP_PROXY": "http://127.0.0.1:1"},
    )
    async with asyncio.timeout(30):
        return await child.wait()


@pytest.mark.parametrize("alive", [True, False])
async def test_the_check_says_what_healthz_says(alive: bool) -> None:  # noqa: FBT001 - a column of the table
    async with serve("127.0.0.1:0", Watch(lambda: b"", lambda: None, lambda: alive)) as address:
        assert address is not None
        code = await checked(address.rpartition(":")[2])

    assert code == (0 if alive else 1)


async def test_a_process_that_does_not_answer_is_unhealthy() -> None:
    async with serve("127.0.0.1:0", Watch(lambda: b"", lambda: None, lambda: True)) as address:
        assert address is not None
        port = address.rpartition(":")[2]

    assert await checked(port) != 0
