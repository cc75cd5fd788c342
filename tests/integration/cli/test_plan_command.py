"""`outrider plan` over a real crawl: what it tells is what `--apply` does, and what the next run fetches."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import outrider
from outrider.app.directory import CrawlDirectory
from outrider.cli import main
from outrider.model.ledger import State
from outrider.model.progress import Progress
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.observe.status_file import write_status
from outrider.ports import FrontierRules
from outrider.settings import Settings, load
from outrider.stores.registry import open_frontier
from outrider.testing.webfarm import WebFarm, page, redirect, status, text

LINKS: Final = ("/a", "/skip/one", "/hop", "/private/x", "/missing", "http://other.test:{port}/page")
SITE: Final = {
    "/": page("<title>Home</title>"),
    "/a": page("<title>a</title><a href='/a/deep'>deep</a>"),
    "/a/deep": page("<title>deep</title><a href='/a/deeper'>deeper</a>"),
    "/skip/one": page("<title>one</title>"),
    "/hop": redirect(302, "/skip/inner"),
    "/skip/inner": page("<title>inner</title>"),
    "/private/x": page("<title>private</title>"),
    "/missing": status(404, "no"),
    "/owed/1": page("<title>owed</title>"),
    "/owed/2": page("<title>owed</title>"),
    "/robots.txt": text("User-agent: *\nDisallow: /private\n\nUser-agent: friend\nAllow: /"),
}
OTHER: Final = {"/page": page("<title>elsewhere</title>")}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def unfolded(self) -> str:
        return " ".join(self.out.split())

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    def flips(self, kind: str) -> dict[str, list[str]]:
        """Paths by rule."""
        return {
            f"{group['reason']}: {group['rule']}": sorted(Url(one["url"]).path for one in group["examples"])
            for group in self.document[kind]
        }


Ask = Callable[..., Awaitable[Done]]


class Crawl(NamedTuple):
    folder: Path
    seed: str

    def url(self, path: str) -> Url:
        return Url(path, self.seed)

    @property
    def settings(self) -> Settings:
        return load(file=CrawlDirectory(self.folder).settings_file, environment={}).settings

    async def states(self) -> dict[str, State]:
        """Of every line, by path."""
        found: dict[str, State] = {}
        async with open_frontier(f"sqlite://{self.folder}/crawl.db", FrontierRules()) as frontier:
            async for lines in frontier.entries():
                found |= {line.url.path: line.state for line in lines}
        return found

    async def run(self, farm: WebFarm, settings: Settings) -> list[str]:
        """To its end; what was asked for, robots.txt aside."""
        before = len(farm.referee.log)
        async for _ in outrider.crawl([self.seed], directory=self.folder, settings=settings):
            pass
        return sorted(asked.path for asked in farm.referee.log[before:] if asked.path != "/robots.txt")


async def begun(farm: WebFarm, folder: Path) -> Crawl:
    """A crawl that has ended, of one host and one step deep; and two URLs that came since then."""
    links = "".join(f"<a href='{link.format(port=farm.port)}'>link</a>" for link in LINKS)
    farm.sites["site.test"] = {**SITE, "/": page(f"<title>Home</title>{links}")}
    crawl = Crawl(folder, farm.url("site.test"))
    keys = {
        "contact": "me@example.org",
        "scope": "host",
        "max_depth": 1,
        "skip_patterns": ["/skip"],
        "delay": 0.001,
        "hosts": "*.test=127.0.0.1",
        "allow_private": "127.0.0.0/8",
        "allow_ports": [farm.port],
    }
    await crawl.run(farm, load(keys, environment={}).settings)
    async with open_frontier(f"sqlite://{folder}/crawl.db", FrontierRules()) as frontier:
        await frontier.add([Task(crawl.url(f"/owed/{n}"), 1, -1, Origin.LINK, crawl.url("/")) for n in (1, 2)])
    return crawl


@pytest.fixture
async def farm() -> AsyncIterator[WebFarm]:
    async with WebFarm({"site.test": SITE, "other.test": OTHER}) as farm:
        yield farm


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """One for all who do not go on with it; its web is gone."""

    async def once() -> Crawl:
        async with WebFarm({"site.test": SITE, "other.test": OTHER}) as farm:
            return await begun(farm, tmp_path_factory.mktemp("plan") / "crawl-site")

    return asyncio.run(once())


@pytest.fixture
def crawl(ended: Crawl, tmp_path: Path) -> Crawl:
    shutil.copytree(ended.folder, tmp_path / "crawl-site")
    return ended._replace(folder=tmp_path / "crawl-site")


@pytest.fixture
def plan(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ask:
    """Where the crawl is the only one; on a thread, because the farm needs this one."""
    monkeypatch.chdir(tmp_path)
    for name in [*os.environ]:
        if name.startswith("OUTRIDER_") or name in {"COLUMNS", "FORCE_COLOR"}:
            monkeypatch.delenv(name)

    async def ask(*arguments: str) -> Done:
        code = await asyncio.to_thread(main, ["plan", *arguments])
        return Done(code, *capfd.readouterr())

    return ask


def assignments(**settings: str) -> list[str]:
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


async def test_exactly_what_is_planned_flips_and_the_next_run_fetches_exactly_that(
    farm: WebFarm, tmp_path: Path, plan: Ask
) -> None:
    crawl = await begun(farm, tmp_path / "crawl-site")
    new = assignments(max_depth="2", scope="any", skip_patterns="[]", exclude="/owed/2")
    before = await crawl.states()

    planned = await plan(*new, "--json")
    untouched = await crawl.states(), crawl.settings.max_depth
    applied = await plan(*new, "--apply", "--json")
    after = await crawl.states()
    again = await plan(*new, "--json")
    asked = await crawl.run(farm, crawl.settings)

    assert planned.flips("refused") == {"out_of_scope: exclude=/owed/2": ["/owed/2"]}
    assert planned.flips("owed") == {
        "too_deep: max_depth=1": ["/a/deep"],
        "out_of_scope: scope=host": ["/page"],
        "skip_pattern: /skip": ["/hop", "/skip/one"],
    }
    assert planned.document["applied"] is None
    assert untouched == (before, 1)
    assert applied.document["applied"] == {"refused": 1, "owed": 4, "left": 0}
    flipped = {path: state for path, state in after.items() if before[path] is not state}
    owed = dict.fromkeys(("/a/deep", "/page", "/hop", "/skip/one"), State.PENDING)
    assert flipped == {**owed, "/owed/2": State.SKIPPED}
    assert [again.document[kind] for kind in ("refused", "owed", "fetched")] == [[], [], []]
    assert asked == ["/a/deep", "/hop", "/owed/1", "/page", "/skip/inner", "/skip/one"]
    assert await asyncio.to_thread(main, ["verify", str(crawl.folder)]) == 0


@pytest.mark.usefixtures("crawl")
async def test_a_person_reads_what_changes_and_which_urls_flip(plan: Ask) -> None:
    done = await plan(*assignments(max_depth="0", exclude="nothing"), "--limit-examples", "1")

    lines = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)
    for words in (
        "max_depth 1 → 0",
        "exclude [] → nothing",
        "2 owed a visit, and would be refused COUNT RULE 2 too_deep: max_depth=0 http://site.test:",
        "/owed/1 and 1 more",
        "0 refused, and would be owed a visit",
        "1 fetched, and would be refused today; they stay as they are COUNT RULE 1 too_deep: max_depth=0",
        "nothing was changed; --apply makes these flips",
    ):
        assert words in done.unfolded


@pytest.mark.parametrize("setting", ["user_agent=friend/1.0", "respect_robots=false"])
async def test_what_robots_txt_forbade_is_judged_by_the_copy_that_is_kept(
    farm: WebFarm, tmp_path: Path, plan: Ask, setting: str
) -> None:
    crawl = await begun(farm, tmp_path / "crawl-site")
    done = await plan("--set", setting, "--apply", "--json")
    asked = await crawl.run(farm, crawl.settings)

    assert done.flips("owed") == {"robots_disallowed: robots.txt": ["/private/x"]}
    assert "/private/x" in asked


async def test_what_a_plan_refused_another_plan_brings_back(farm: WebFarm, tmp_path: Path, plan: Ask) -> None:
    crawl = await begun(farm, tmp_path / "crawl-site")
    narrow = await plan(*assignments(exclude="/owed"), "--apply")
    wide = await plan(*assignments(exclude="[]"), "--apply", "--json")
    asked = await crawl.run(farm, crawl.settings)

    assert "applied: 2 refused, 0 owed a visit; the settings are kept" in narrow.out
    assert wide.flips("owed") == {"out_of_scope: exclude=/owed": ["/owed/1", "/owed/2"]}
    assert asked == ["/owed/1", "/owed/2"]
    for event in ("url_dismissed", "url_replayed"):
        told = [path.read_text().count(f'"type":"{event}"') for path in (crawl.folder / "events").glob("*.jsonl")]
        assert sum(told) == 2


async def test_settings_that_came_without_a_plan_leave_flips_that_a_plan_without_settings_tells(
    crawl: Crawl, plan: Ask
) -> None:
    CrawlDirectory(crawl.folder).remember(crawl.settings.model_copy(update={"max_depth": 5}), [])

    other = await plan(*assignments(delay="2"), "--json")
    same = await plan("--json")
    unrelated = await plan(*assignments(exclude="/owed/1"))

    assert same.flips("owed") == other.flips("owed") == {"too_deep: max_depth=1": ["/a/deep"]}
    assert "1 more URL would flip by the settings of the last run already" in unrelated.unfolded
    assert "0 refused, and would be owed a visit" in unrelated.out


async def test_other_settings_may_come_from_a_file_or_the_environment(
    crawl: Crawl, plan: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "new.toml"
    text = CrawlDirectory(crawl.folder).settings_file.read_text()
    file.write_text(text.replace("max_depth = 1", "max_depth = 2"))

    by_file = await plan("--config", str(file), "--json")
    monkeypatch.setenv("OUTRIDER_MAX_DEPTH", "3")
    by_environment = await plan("--json")

    assert [one["after"] for one in by_file.document["changes"]] == ["2"]
    assert [one["after"] for one in by_environment.document["changes"]] == ["3"]
    assert by_file.flips("owed") == by_environment.flips("owed") == {"too_deep: max_depth=1": ["/a/deep"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--set", "site_by=host"), "site_by is domain, not host: this cannot be planned, because the frontier was"),
        (("--set", "strip_tracking=true"), "strip_tracking is false, not true: this cannot be planned"),
        (("--set", "frontier=redis://127.0.0.1:1/"), "this crawl was begun with other settings"),
        (("--set", "max_dept=1"), "no such key; did you mean max_depth?"),
        (("--set", "max_depth=deep"), "max_depth"),
        (("--config", "none.toml"), "none.toml"),
        (("nowhere",), "nowhere: there is no such directory"),
        (("--limit-examples", "-1"), "greater than or equal to 0"),
    ],
)
async def test_what_cannot_be_planned_is_one_sentence(
    crawl: Crawl, plan: Ask, arguments: tuple[str, ...], words: str
) -> None:
    before = await crawl.states()

    done = await plan(*arguments, *(() if "nowhere" in arguments else ("--apply",)))

    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err
    assert await crawl.states() == before


async def test_nothing_is_applied_while_the_crawl_runs(crawl: Crawl, plan: Ask) -> None:
    home = CrawlDirectory(crawl.folder)
    before = await crawl.states()

    with home.held():
        held = await plan(*assignments(max_depth="2"), "--apply")
        looked_at = await plan(*assignments(max_depth="2"), "--json")
    write_status(home.status, Progress(0.0, 0.0))
    running = await plan(*assignments(max_depth="2"), "--apply")

    assert (held.code, running.code, looked_at.code) == (2, 2, 0)
    assert "another crawl" in held.err
    assert f"the crawl runs (process {os.getpid()}), under the rules that it began with" in running.err
    assert (await crawl.states(), crawl.settings.max_depth) == (before, 1)


async def test_a_frontier_without_a_directory_is_only_looked_at(crawl: Crawl, plan: Ask) -> None:
    place = ("--frontier", f"sqlite://{crawl.folder}/crawl.db")

    done = await plan(*place, *assignments(max_url_length="25"), "--profile", "broad")
    applied = await plan(*place, *assignments(max_url_length="25"), "--apply")

    assert done.out.startswith("max_url_length  2000 → 25\n\n2 owed a visit, and would be refused\n")
    assert done.out.endswith("\nnothing was changed\n")
    assert applied.code == 2
    assert "--apply needs the directory of a crawl" in applied.err
