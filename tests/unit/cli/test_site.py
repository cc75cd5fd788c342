"""`outrider site`: what it writes, what it says, and how it refuses."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.model.order import SiteOrder
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules, TakesOrders
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier


class Done(NamedTuple):
    code: int
    out: str
    err: str


Site = Callable[..., Done]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a crawl that owes three pages of one site; we are in another one."""
    for name in [*os.environ]:
        if name.startswith("OUTRIDER_"):
            monkeypatch.delenv(name)
    folder = tmp_path / "crawl"
    folder.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)

    async def begin() -> None:
        url = f"sqlite://{folder}/crawl.db"
        async with open_frontier(url, FrontierRules()) as frontier, open_records(url):
            await frontier.add([Task(Url(f"http://www.example.com/{n}")) for n in range(3)])

    asyncio.run(begin())
    return folder


@pytest.fixture
def site(place: Path, capfd: pytest.CaptureFixture[str]) -> Site:
    def act(*words: str, folder: bool = True) -> Done:
        code = main(["site", *words, *((str(place),) if folder else ())])
        return Done(code, *capfd.readouterr())

    return act


def orders(place: Path) -> list[SiteOrder]:
    async def read() -> list[SiteOrder]:
        async with open_frontier(f"sqlite://{place}/crawl.db", FrontierRules()) as frontier:
            assert isinstance(frontier, TakesOrders)
            return await frontier.orders()

    return asyncio.run(read())


def test_orders_add_up_and_are_taken_back_one_by_one(site: Site, place: Path) -> None:
    paused = site("pause", "example.com")
    delayed = site("delay", "example.com", "1m30s")
    listed = site("list")
    resumed = site("resume", "example.com")
    usual = site("delay", "example.com", "usual")
    after = site("list")

    assert [done.code for done in (paused, delayed, listed, resumed, usual, after)] == [ExitCode.OK] * 6
    assert paused.out.startswith("example.com: paused, since ")
    assert delayed.out.startswith("example.com: paused, one request every 1 min 30 s, since ")
    assert listed.out == delayed.out
    assert resumed.out.startswith("example.com: one request every 1 min 30 s, since ")
    assert usual.out == "example.com: as usual\n"
    assert (after.out, after.err) == ("", "no orders: every site is treated as the settings say\n")
    assert orders(place) == []


def test_excluding_says_how_many_urls_ended(site: Site, place: Path) -> None:
    done = site("exclude", "example.com")
    again = site("include", "example.com")

    assert done.out.startswith("example.com: excluded, since ")
    assert done.out.endswith("; 3 of its URLs ended\n")
    assert again.out == "example.com: as usual\n"
    assert orders(place) == []


def test_what_was_done_is_in_the_event_log_of_the_crawl(site: Site, place: Path) -> None:
    site("pause", "example.com")
    site("exclude", "example.com")

    lines = [
        json.loads(line) for file in sorted(place.glob("events/*.jsonl")) for line in file.read_text().splitlines()
    ]

    assert [(line["type"], line["by"]) for line in lines] == [
        ("site_ordered", "outrider site pause"),
        ("site_ordered", "outrider site exclude"),
        *[("url_dismissed", "outrider site exclude")] * 3,
    ]


def test_who_only_looks_leaves_nothing_behind(site: Site, place: Path) -> None:
    site("list")

    assert not (place / "events").exists()


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ("example.com", "example.com"),
        ("WWW.Example.COM", "example.com"),
        ("https://www.example.com/a/page?q=1", "example.com"),
        ("127.0.0.1:8080", "127.0.0.1:8080"),
        ("http://localhost:8080/x", "localhost:8080"),
    ],
)
def test_a_site_may_be_named_by_any_url_of_it(site: Site, place: Path, given: str, key: str) -> None:
    assert site("pause", given).code == ExitCode.OK

    assert [order.site for order in orders(place)] == [key]


def test_a_site_that_nobody_has_met_is_warned_about_and_the_order_stands(site: Site, place: Path) -> None:
    done = site("pause", "other.org")

    assert done.code == ExitCode.OK
    assert done.err == "outrider: nothing is known of other.org so far; the order stands for when it is met\n"
    assert [order.site for order in orders(place)] == ["other.org"]


def test_a_frontier_by_its_url_has_no_event_log_unless_one_is_named(site: Site, place: Path, tmp_path: Path) -> None:
    url = f"sqlite://{place}/crawl.db"

    silent = site("pause", "example.com", "--frontier", url, folder=False)
    told = site("resume", "example.com", "--frontier", url, "--events", f"file://{tmp_path}/log", folder=False)

    assert (silent.code, silent.err) == (ExitCode.OK, "outrider: told to no event log: none is named (--events)\n")
    assert (told.code, told.err) == (ExitCode.OK, "")
    assert len(list((tmp_path / "log").glob("*.jsonl"))) == 1
    assert not (place / "events").exists()


def test_orders_are_told_to_programs(site: Site) -> None:
    site("delay", "example.com", "0.5")

    (order,) = json.loads(site("list", "--json").out)

    assert (order["site"], order["paused"], order["excluded"], order["delay"]) == ("example.com", False, False, 0.5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("delay", "example.com", "--", "-1"), "a delay of -1 s: expected 0 to 86400"),
        (("delay", "example.com", "soon"), "SECONDS 'soon': expected a time such as 2.5 or 1m, or usual"),
        (("delay", "example.com", "nan"), "a delay of nan s: expected 0 to 86400"),
        (("pause", "ftp://example.com/"), "SITE 'ftp://example.com/': "),
        (("pause", "exa mple"), "SITE 'exa mple': "),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_nothing_is_written(
    site: Site, place: Path, words: tuple[str, ...], said: str
) -> None:
    done = site(*words)

    assert done.code == ExitCode.USAGE
    assert done.err.startswith(f"outrider: {said}")
    assert done.err.count("\n") == 1
    assert orders(place) == []


def test_a_folder_without_a_crawl_is_named(site: Site, tmp_path: Path) -> None:
    here = site("list", folder=False)
    nowhere = site("pause", "example.com", str(tmp_path / "nowhere"), folder=False)

    assert (here.code, nowhere.code) == (ExitCode.USAGE, ExitCode.USAGE)
    assert "there is no crawl here" in here.err
    assert "there is no such directory" in nowhere.err
