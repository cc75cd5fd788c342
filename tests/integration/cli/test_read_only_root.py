"""What a container may forbid: not one file can be written, anywhere, and a page is fetched all the same."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from outrider.model.reason import Reason
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import visit
from outrider.testing.webfarm import WebFarm, page

# Every mount of its own namespace becomes read-only, /tmp included; what cannot be changed is not a disk.
SEALED = """
findmnt --noheadings --list --output TARGET | while read -r place; do
    mount -o remount,bind,ro "$place" 2>/dev/null || true
done
if touch "$1" 2>/dev/null; then exit 77; fi
shift
exec "$@"
"""


async def sealed(*command: str, scratch: str) -> tuple[int, str, str]:
    try:
        process = await asyncio.create_subprocess_exec(
            *("unshare", "--map-root-user", "--mount", "sh", "-ec", SEALED, "sealed", scratch, *command),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd="/",
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    if process.returncode == 77 or b"unshare:" in err:
        pytest.skip("no right to seal a disk here")
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_a_page_is_fetched_where_nothing_can_be_written(tmp_path_factory: pytest.TempPathFactory) -> None:
    """S4-45: the root of the image is read-only."""
    scratch = str(tmp_path_factory.mktemp("sealed") / "touched")
    async with WebFarm({"127.0.0.1": {"/": page("<title>here</title>")}}) as farm:
        fetching = ("-m", "outrider", "fetch", farm.url("127.0.0.1", "/"), "--allow-private", "127.0.0.0/8")

        code, out, err = await sealed(sys.executable, *fetching, "--set", "delay=0", scratch=scratch)

    assert (code, err) == (0, "")
    assert "Fetched: HTTP 200" in out


async def test_a_crawl_can_be_asked_about_where_nothing_can_be_written(tmp_path: Path) -> None:
    place = f"sqlite://{tmp_path}/crawl.db"
    url = Url("http://a.org/page")
    async with open_frontier(place, FrontierRules()) as frontier, open_records(place) as records:
        await frontier.add([Task(url)], [(Url("http://a.org/b"), Reason.TRAP)])
        await records.write([visit(1, url)])
    asking = ("-m", "outrider", "why", url, str(tmp_path))

    code, out, err = await sealed(sys.executable, *asking, scratch=str(tmp_path / "touched"))

    assert (code, err) == (0, "")
    assert "pending: owed its first visit" in out
    assert "Visits: 1" in out
