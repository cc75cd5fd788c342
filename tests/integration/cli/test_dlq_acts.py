"""What `outrider dlq` does to a real crawl: a replayed letter is fetched, by the next run or by the one that runs."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import outrider
from outrider.cli import main
from outrider.testing.webfarm import WebFarm, flaky, page, slow_first_byte, status

LINKS: Final = ("/a", "/lost", "/broken", "/gone")
SITE: Final = {
    "/": page("".join(f"<a href='{link}'>{link}</a>" for link in LINKS)),
    "/a": page("<title>a</title>"),
    "/lost": flaky([404], page("<title>Found again</title>")),
    "/broken": flaky([500], page("<title>Mended</title>")),
    "/gone": status(410, "gone"),
}


class Done(NamedTuple):
    code: int
    out: str
    err: str


Dlq = Callable[..., Awaitable[Done]]


@pytest.fixture
def dlq(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Dlq:
    """Where the crawl is the only one; on a thread, because the farm needs this one."""
    monkeypatch.chdir(tmp_path)
    for name in [*os.environ]:
        if name.startswith("OUTRIDER_") or name in {"COLUMNS", "FORCE_COLOR"}:
            monkeypatch.delenv(name)

    async def ask(*arguments: str) -> Done:
        code = await asyncio.to_thread(main, ["dlq", *arguments])
        return Done(code, *capfd.readouterr())

    return ask


def keys(farm: WebFarm) -> dict[str, Any]:
    return {
        "contact": "me@example.org",
        "scope": "host",
        "delay": 0.001,
        "server_error_retries": 0,
        "max_visits": 1,
        "hosts": "*.test=127.0.0.1",
        "allow_private": "127.0.0.0/8",
        "allow_ports": [farm.port],
    }


async def crawled(farm: WebFarm, folder: Path) -> list[str]:
    """To its end; the paths that were asked for, robots.txt aside."""
    before = len(farm.referee.log)
    async for _ in outrider.crawl([farm.url("site.test")], directory=folder, **keys(farm)):
        pass
    return sorted(asked.path for asked in farm.referee.log[before:] if asked.path != "/robots.txt")


def total(done: Done) -> int:
    count: int = json.loads(done.out.splitlines()[0])["count"]["total"]
    return count


def events_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    texts = [path.read_text() for path in sorted((folder / "events").glob("*.jsonl"))]
    events = [json.loads(line) for text in texts for line in text.splitlines()]
    return [event for event in events if event["type"] == kind]


async def test_a_replayed_letter_is_fetched_by_the_next_run_which_visits_nothing_else(tmp_path: Path, dlq: Dlq) -> None:
    folder = tmp_path / "crawl-site"
    async with WebFarm({"site.test": SITE}) as farm:
        await crawled(farm, folder)

        only_said = await dlq("replay", "--reason", "http_404", "--reason", "http_500", "--dry-run")
        left = await dlq("list", "--json", "--limit", "0")
        done = await dlq("replay", "--reason", "http_404", "--reason", "http_500")
        asked = await crawled(farm, folder)
        afterwards = await dlq("list", "--json", "--limit", "0")

        assert "2 would be replayed: owed a visit again, with fresh counts; nothing was changed" in only_said.out
        assert total(left) == 3
        assert done.out.startswith("2 dead letters of 1 site")
        assert "2 replayed: owed a visit again, with fresh counts" in done.out
        assert "outrider crawl -d crawl-site does" in done.out
        assert asked == ["/broken", "/lost"]
        assert total(afterwards) == 1
        told = events_of(folder, "url_replayed")
        assert {(event["url"], event["reason"], event["by"]) for event in told} == {
            (f"{farm.url('site.test')}lost", "http_404", "outrider dlq replay"),
            (f"{farm.url('site.test')}broken", "http_500", "outrider dlq replay"),
        }
        assert await asyncio.to_thread(main, ["verify", str(folder)]) == 0


async def test_a_replayed_letter_is_fetched_by_the_crawl_that_runs(tmp_path: Path, dlq: Dlq) -> None:
    folder = tmp_path / "crawl-site"
    is_replayed = asyncio.Event()
    site = {**SITE, "/": page("".join(f"<a href='{link}'></a>" for link in (*LINKS, "/slow")))}
    site["/slow"] = slow_first_byte(is_replayed, page("<title>at last</title>"))
    async with WebFarm({"site.test": site}) as farm:
        crawling = asyncio.create_task(crawled(farm, folder))
        await farm.referee.until(lambda: any(asked.path == "/slow" for asked in farm.referee.log))
        url = f"{farm.url('site.test')}lost"

        # What was visited before is settled a moment later.
        async with asyncio.timeout(30):
            while (done := await dlq("replay", "--url", url, "--json")).code:
                pass
        is_replayed.set()
        asked = await crawling

        assert json.loads(done.out)["replayed"] == 1
        assert asked.count("/lost") == 2
        assert [event["url"] for event in events_of(folder, "webpage_fetched")].count(url) == 1


async def test_a_dropped_letter_is_no_letter_any_more_and_no_run_visits_it(tmp_path: Path, dlq: Dlq) -> None:
    folder = tmp_path / "crawl-site"
    async with WebFarm({"site.test": SITE}) as farm:
        await crawled(farm, folder)
        url = f"{farm.url('site.test')}gone"

        only_said = await dlq("drop", "--url", url, "--dry-run")
        done = await dlq("drop", "--url", url)
        again = await dlq("drop", "--url", url)
        replayed = await dlq("replay", "--all", "--json")
        asked = await crawled(farm, folder)

        assert "1 would be dropped: dismissed for good; nothing was changed" in only_said.out
        assert "1 dropped: dismissed for good" in done.out
        assert again.code == 2
        assert "is no dead letter that matches: it is skipped (dismissed)" in again.err
        assert json.loads(replayed.out)["replayed"] == 2
        assert asked == ["/broken", "/lost"]
        assert [(event["url"], event["by"]) for event in events_of(folder, "url_dismissed")] == [
            (url, "outrider dlq drop")
        ]
        assert await asyncio.to_thread(main, ["verify", str(folder)]) == 0
