"""`outrider why` over what a real crawl left behind, and over the engines that a service uses."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tests.services.postgres import running
from tests.services.redis import RedisServer

import outrider
from outrider.cli import main
from outrider.model.ledger import Settled
from outrider.model.reason import Reason
from outrider.model.settlement import Dead
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import visit
from outrider.testing.webfarm import WebFarm, flaky, loop, page, redirect, status, text

LINKS: Final = ("/a", "/old", "/private/x", "/missing", "/file.pdf", "/loop", "/wobbly", "http://other.test/x")
SITE: Final = {
    "/": page("<title>Home</title>" + "".join(f"<a href='{link}'>{link}</a>" for link in LINKS)),
    "/a": page("<title>Evil \x1b[2J\u202e</title><a href='/a/b'>b</a>"),
    "/a/b": page("<title>b</title>deep"),
    "/old": redirect(301, "/new"),
    "/new": page("<title>New</title>"),
    "/private/x": page("secret"),
    "/missing": status(404, "no"),
    "/wobbly": flaky([503]),
    "/robots.txt": text("User-agent: *\nDisallow: /private"),
    **loop("/loop", 2),
}


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def unfolded(self) -> str:
        """As one line, so that it does not matter where a line was broken."""
        return " ".join(self.out.split())


Why = Callable[..., Done]


def keys(farm: WebFarm) -> dict[str, Any]:
    return {
        "contact": "me@example.org",
        "scope": "host",
        "delay": 0.001,
        "retry_backoff": 0.01,
        "redirect_revisits": 0,
        "hosts": "*.test=127.0.0.1",
        "allow_private": "127.0.0.0/8",
        "allow_ports": [farm.port],
    }


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small crawl that has ended, and where it began."""
    folder = tmp_path_factory.mktemp("why") / "crawl-site"

    async def begun() -> str:
        async with WebFarm({"site.test": SITE}) as farm:
            seed = farm.url("site.test")
            async for _ in outrider.crawl([seed], directory=folder, **keys(farm)):
                pass
            return seed

    return folder, asyncio.run(begun())


@pytest.fixture
def why(
    crawl: tuple[Path, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Why:
    """Of a path of the site; in an empty folder, on a terminal of 80 columns."""
    home, seed = crawl
    monkeypatch.chdir(tmp_path)
    for name in [*os.environ]:
        if name.startswith("OUTRIDER_") or name in {"COLUMNS", "FORCE_COLOR"}:
            monkeypatch.delenv(name)

    def ask(what: str, *options: str, folder: Path | None = home, bare: bool = False) -> Done:
        url = what if "://" in what or bare else seed.rstrip("/") + what
        code = main(["why", url, *(() if folder is None else (str(folder),)), *options])
        return Done(code, *capfd.readouterr())

    return ask


def is_plain(done: Done) -> bool:
    lines = done.out.splitlines()
    return max(map(len, lines)) <= 80 and all(line.isprintable() for line in lines) and "Traceback" not in done.err


def test_a_fetched_page_is_told_from_its_seed_to_its_archive(why: Why) -> None:
    done = why("/a/b")

    assert (done.code, done.err, is_plain(done)) == (0, "", True)
    for words in (
        "by a link, at depth 2",
        "/ (seed)",
        "/a (link) this URL",
        "robots.txt allowed: no rule for user-agent * matches",
        "fetched, HTTP 200 OK",
        "1 request",
        "kept as outrider-",
        "state fetched known by its hash alone",
        "visit never, as things are because it was fetched",
    ):
        assert words in done.unfolded


def test_a_title_cannot_steer_the_terminal(why: Why) -> None:
    done = why("/a")

    assert is_plain(done)
    assert r"Evil \x1b[2J\u202e" in done.out


def test_a_redirect_is_told_as_an_alias_and_then_its_page(why: Why) -> None:
    done = why("/./old#x")

    assert (done.code, is_plain(done)) == (0, True)
    alias, page = done.out.split("━" * 80)
    for words in ("given as", "fragment dropped", "dot segments removed", "alias of", "hops        301"):
        assert words in alias
    assert "a redirect that led here" in page
    assert "state       fetched" in page


def test_a_page_that_robots_txt_forbids_quotes_the_line(why: Why) -> None:
    done = why("/private/x")

    assert (done.code, is_plain(done)) == (0, True)
    assert "disallowed by line 2 of robots.txt (Disallow: /private) for user-agent *" in done.unfolded
    assert "group: user-agent *" in done.out
    assert "the site's owner would have to allow it" in done.unfolded


def test_a_dead_page_says_what_killed_it_and_what_would_bring_it_back(why: Why) -> None:
    missing, circle = why("/missing"), why("/loop")

    assert "reason http_404: it answered 404 Not Found" in missing.unfolded
    assert "replay it (outrider dlq replay" in missing.unfolded
    assert "redirect_loop: its redirects lead in a circle" in circle.unfolded
    assert "302  " in circle.out


def test_why_a_request_was_repeated_is_read_from_the_events(why: Why) -> None:
    done = why("/wobbly")

    assert "2 requests, 1 of them repeated one that had failed http_503: tried again after" in done.unfolded


def test_what_admission_refused_names_the_rule_and_the_page(why: Why) -> None:
    pdf, elsewhere = why("/file.pdf"), why("http://other.test/x")

    assert "refused non_text_extension, by admit rule skip_extensions evidence .pdf named on" in pdf.unfolded
    assert "refuses skip_extensions: .pdf" in pdf.unfolded
    assert "out_of_scope, by admit rule scope=host" in elsewhere.unfolded


def test_what_was_never_seen_is_judged_by_the_crawl_s_own_rules(why: Why) -> None:
    inside, outside, forbidden = why("/nowhere"), why("http://elsewhere.test/"), why("/private/y")

    assert (inside.code, outside.code) == (0, 0)
    assert "state never seen" in inside.unfolded
    assert "if somebody did, it would be admitted" in inside.unfolded
    assert "passes robots.txt: allowed: no rule for user-agent * matches" in inside.unfolded
    assert "if somebody did, it would be refused: scope=host (elsewhere.test)" in outside.unfolded
    assert "refuses robots.txt: disallowed by line 2" in forbidden.unfolded


def test_a_program_gets_the_whole_story(why: Why) -> None:
    done = why("/old", "--json")

    story = json.loads(done.out)["story"]
    assert (story["standing"]["state"], story["standing"]["of"]) == ("alias", story["other"]["url"])
    assert story["visits"][0]["page"]["metadata"]["redirectCount"] == 1
    assert {one["content"]["kind"] for one in story["visits"][0]["evidence"]} >= {"redirect_chain", "fetch_timing"}
    assert story["site"]["breaker"]["downSince"] is None
    assert done.out.isascii()


# Which crawl is meant?


def test_the_only_crawl_here_is_meant_or_the_one_of_the_host_or_this_folder(
    why: Why, crawl: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("crawl-one", "crawl-site.test-1"):
        shutil.copytree(crawl[0], tmp_path / name)
    (tmp_path / "crawl-notes").mkdir()
    unseen = "http://site.test:1/x"

    by_host = why(unseen, folder=None)
    several = why("http://unknown.test/", folder=None)
    shutil.rmtree(tmp_path / "crawl-site.test-1")
    the_only = why("/missing", folder=None)
    monkeypatch.chdir(tmp_path / "crawl-one")
    this_one = why("/missing", folder=None)

    assert (by_host.code, the_only.code, this_one.code) == (0, 0, 0)
    assert "dead: given up" in the_only.out
    assert "dead: given up" in this_one.out
    assert several.code == 2
    assert "several crawls here: crawl-one, crawl-site.test-1" in several.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("nonsense",), 2, "is not an absolute URL"),
        (("ftp://a.org/",), 2, "ftp"),
        (("http://a.org/",), 2, "there is no crawl here; name its directory, or --frontier URL"),
        (("http://a.org/", "nowhere"), 2, "nowhere: there is no such directory"),
        (("http://a.org/", "notes.txt"), 2, "notes.txt: is not a directory"),
        (("http://a.org/", "empty"), 2, "empty: holds no crawl.db"),
        (("http://a.org/", "--frontier", "sqlite:none.db"), 2, "there is no such file"),
        (("http://a.org/", "--frontier", "sqlite:records.db"), 2, "there is no frontier in this file"),
        (("http://a.org/", "--frontier", "nothing:"), 2, "no frontier is named by nothing:"),
        (("http://a.org/", "--frontier", "sqlite:notes.txt"), 6, "not a SQLite database"),
        (("http://a.org/", "--frontier", "redis://127.0.0.1:1/"), 6, "cannot be reached"),
        (("http://a.org/", "--set", "dealy=1"), 2, "no such key"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence_and_makes_nothing(
    why: Why, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("no database at all, and long enough to be taken for one by nobody" * 9)

    async def records() -> None:
        async with open_records(f"sqlite://{tmp_path}/records.db"):
            pass

    asyncio.run(records())
    before = below(tmp_path)

    done = why(*arguments, folder=None, bare=True)

    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert "Traceback" not in done.err
    assert below(tmp_path) == before


def test_asking_leaves_a_crawl_as_it_was(why: Why, crawl: tuple[Path, str]) -> None:
    before = below(crawl[0])

    why("/missing")

    assert below(crawl[0]) == before


def below(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*")}


# Other engines.

PAGE: Final = Url("http://a.org/page")
OWED: Final = Url("http://a.org/owed")


async def filled(frontier: str, records: str | None = None) -> None:
    """One URL dead and one owed, while a worker has their site."""
    async with open_frontier(frontier, FrontierRules()) as store:
        await store.add([Task(PAGE, 1, 0, Origin.LINK, Url("http://a.org/")), Task(OWED)])
        lease = (await store.lease(sites=1, tasks=1, seconds=3_000)).leases[0]
        dead = Dead(Reason.HTTP_410, 1, "it was there once", 410)
        await store.settle([Settled(lease, lease.site, ((lease.tasks[0], dead),), keep=True)])
    if records is not None:
        async with open_records(records) as kept:
            await kept.write([visit(1, PAGE, code=410)])


def test_a_redis_frontier_is_asked_with_no_records_at_hand(why: Why, redis_server: RedisServer) -> None:
    place = f"{redis_server.url}?prefix=why"
    asyncio.run(filled(place))

    dead, owed = [why(url, "--frontier", place, folder=None) for url in (PAGE, OWED)]
    unknown = why("http://b.org/", "--frontier", place, folder=None)

    assert (dead.code, owed.code, is_plain(dead), is_plain(owed)) == (0, 0, True, True)
    assert "reason http_410: it answered 410 Gone detail it was there once" in dead.unfolded
    assert "no records are at hand" in dead.out
    assert "a worker has a.org now, at the latest until" in owed.unfolded
    assert "if somebody did, it would be admitted" in unknown.unfolded


def test_a_postgresql_frontier_is_asked_with_the_records_beside_it(why: Why, postgres: str) -> None:
    asyncio.run(filled(postgres, postgres))

    dead, owed = [why(url, "--frontier", postgres, folder=None) for url in (PAGE, OWED)]

    assert (dead.code, owed.code, is_plain(dead), is_plain(owed)) == (0, 0, True, True)
    assert "Visits: 1" in dead.out
    assert "reason http_410: it answered 410 Gone detail it was there once" in dead.unfolded
    assert "a worker has a.org now, at the latest until" in owed.unfolded


def test_an_sqlite_frontier_may_have_its_records_elsewhere(why: Why, tmp_path: Path) -> None:
    frontier, records = f"sqlite://{tmp_path}/frontier.db", f"sqlite://{tmp_path}/records.db"
    asyncio.run(filled(frontier, records))

    without = why(PAGE, "--frontier", frontier, folder=None)
    with_records = why(PAGE, "--frontier", frontier, "--records", records, folder=None)

    assert "no records are at hand" in without.out
    assert "Visits: 1" in with_records.out


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with running() as server:
        yield server.url("why")
