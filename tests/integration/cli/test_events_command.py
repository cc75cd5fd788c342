"""`outrider events` as people run it: a process of its own, over real files."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from outrider.model.event import BugFound, Event, PageFailed, PageSkipped, SiteProbed, UrlRefused
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.stores.events import open_events

Run = Callable[..., Awaitable[tuple[int, str, str]]]

FAILED = PageFailed(at=1.0, url=Url("http://a.org/1"), site="a.org", reason=Reason.TOO_MANY_REDIRECTS)
SKIPPED = PageSkipped(
    at=2.0, url=Url("http://b.org/"), site="b.org", reason=Reason.ROBOTS_DISALLOWED, detail="\x1b[2J\u202e\x9b"
)
REFUSED = UrlRefused(at=3.0, url=Url("http://www.a.org/x"), reason=Reason.OUT_OF_SCOPE, rule="scope")
PROBED = SiteProbed(at=4.0, site="a.org", alive=True)
BUG = BugFound(at=5.0, what="visit", error="boom")


async def publish(folder: Path, worker: int, *events: Event) -> None:
    async with open_events(f"file://{folder}?worker={worker}") as sink:
        await sink.publish(events)


@pytest.fixture
async def crawl(tmp_path: Path) -> Path:
    folder = tmp_path / "crawl"
    await publish(folder / "events", 0, FAILED, REFUSED, BUG)
    await publish(folder / "events", 1, SKIPPED, PROBED)
    return folder


def types(out: str) -> list[str]:
    return [json.loads(line)["type"] for line in out.splitlines()]


async def test_events_of_all_workers_are_printed_in_the_order_of_time(outrider: Run, crawl: Path) -> None:
    """S0-17, H3-5: with the reason, the URL and its id."""
    code, out, err = await outrider("events", str(crawl))

    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 5)
    assert lines[0].startswith(
        "1970-01-01T00:00:01.000Z failed for good type=page_failed url=http://a.org/1 site=a.org"
    )
    assert "reason=too_many_redirects" in lines[0]
    assert [line[17:19] for line in lines] == ["01", "02", "03", "04", "05"]
    assert all(line.isprintable() for line in lines)


async def test_for_programs_they_are_json_lines(outrider: Run, crawl: Path) -> None:
    code, out, _ = await outrider("events", str(crawl), "--json")

    assert code == 0
    assert types(out) == ["page_failed", "page_skipped", "url_refused", "site_probed", "bug_found"]
    assert all(line.isprintable() for line in out.splitlines())
    assert json.loads(out.splitlines()[1])["detail"] == "\x1b[2J\u202e\x9b"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--type", "page_failed"), ["page_failed"]),
        (("--type", "page_failed, bug_found"), ["page_failed", "bug_found"]),
        (("--site", "a.org"), ["page_failed", "url_refused", "site_probed"]),
        (("--site", "b.org", "--type", "page_failed"), []),
        (("--site", "www.a.org"), ["url_refused"]),
    ],
)
async def test_they_can_be_chosen(outrider: Run, crawl: Path, options: tuple[str, ...], found: list[str]) -> None:
    code, out, err = await outrider("events", str(crawl), "--json", *options)

    assert (code, err) == (0, "")
    assert types(out) == found


async def test_the_folder_of_the_events_may_be_named_itself(outrider: Run, crawl: Path) -> None:
    code, out, _ = await outrider("events", str(crawl / "events"), "--json")

    assert (code, len(types(out))) == (0, 5)


async def test_damaged_lines_are_left_out_and_counted(outrider: Run, crawl: Path) -> None:
    (crawl / "events" / "events-07-00001.jsonl").write_bytes(b"damaged\n")

    code, out, err = await outrider("events", str(crawl), "--json")

    assert (code, len(types(out)), err) == (0, 5, "outrider: 1 damaged line left out\n")


@pytest.mark.usefixtures("crawl")
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere",), "nowhere: there is no such directory"),
        (("file",), "file: is not a directory"),
        (("empty",), "empty: holds no events of a crawl"),
        (("crawl", "--type", "page_flailed"), "no such event: page_flailed; there are bug_found, crawl_finished"),
        (("crawl", "--type", ","), "--type ',': no such event"),
        (("crawl", "--site", ""), "--site ''"),
    ],
)
async def test_wrong_input_is_one_sentence(
    outrider: Run, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()

    code, out, err = await outrider("events", *arguments)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


async def follow(crawl: Path, environment: dict[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "outrider", "events", str(crawl), "--follow", "--json"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )


async def first_line(crawl: Path, process: asyncio.subprocess.Process) -> bytes:
    """Until the process listens, it hears nothing: so it is told again until it does."""
    assert process.stdout is not None
    reading = asyncio.create_task(process.stdout.readline())
    async with asyncio.timeout(60):
        while not reading.done():
            await publish(crawl / "events", 2, PROBED)
            await asyncio.wait([reading], timeout=0.1)
    return reading.result()


async def test_news_are_told_as_they_come_until_ctrl_c(crawl: Path, environment: dict[str, str]) -> None:
    process = await follow(crawl, environment)

    line = await first_line(crawl, process)
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(60):
        _, err = await process.communicate()

    assert json.loads(line)["type"] == "site_probed"
    assert (process.returncode, err) == (130, b"")


async def test_a_reader_that_goes_away_is_no_traceback(crawl: Path, environment: dict[str, str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "outrider", "events", str(crawl)),
        stdout=writer,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    os.close(writer)
    async with asyncio.timeout(60):
        _, err = await process.communicate()

    assert (process.returncode, err) == (141, b"")
