"""`outrider dlq` over what a real crawl gave up: counted, shown, replayed and fetched, or dropped."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import outrider
from outrider.cli import main
from outrider.testing.webfarm import WebFarm, flaky, loop, page, status, text

LINKS: Final = ("/a", "/lost", "/broken", "/gone", "/loop")
SITE: Final = {
    "/": page("<title>Home</title>" + "".join(f"<a href='{link}'>{link}</a>" for link in LINKS)),
    "/a": page("<title>a</title>"),
    "/lost": flaky([404], page("<title>Found again</title>")),
    "/broken": flaky([500], page("<title>Mended</title>")),
    "/gone": status(410, "gone", {"X-Why": "\x1b[2J\u00e9"}),
    "/robots.txt": text("User-agent: *\nAllow: /"),
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

    @property
    def is_plain(self) -> bool:
        lines = self.out.splitlines()
        return max(map(len, lines)) <= 80 and all(line.isprintable() for line in lines) and "Traceback" not in self.err


Dlq = Callable[..., Done]


def keys(farm: WebFarm) -> dict[str, Any]:
    return {
        "contact": "me@example.org",
        "scope": "host",
        "delay": 0.001,
        "retry_backoff": 0.01,
        "server_error_retries": 0,
        "max_visits": 1,
        "redirect_revisits": 0,
        "hosts": "*.test=127.0.0.1",
        "allow_private": "127.0.0.0/8",
        "allow_ports": [farm.port],
    }


async def crawled(farm: WebFarm, folder: Path, seeds: list[str] | None = None) -> list[str]:
    """To its end; the paths that were asked for."""
    before = len(farm.referee.log)
    async for _ in outrider.crawl(seeds or [farm.url("site.test")], directory=folder, **keys(farm)):
        pass
    return sorted(request.path for request in farm.referee.log[before:])


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small crawl that has ended, and where it began. Nobody here changes it."""
    folder = tmp_path_factory.mktemp("dlq") / "crawl-site"

    async def begun() -> str:
        async with WebFarm({"site.test": SITE}) as farm:
            await crawled(farm, folder)
            return farm.url("site.test").rstrip("/")

    return folder, asyncio.run(begun())


@pytest.fixture
def dlq(crawl: tuple[Path, str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Dlq:
    """Where the crawl is the only one; on a terminal of 80 columns."""
    monkeypatch.chdir(crawl[0].parent)
    for name in [*os.environ]:
        if name.startswith("OUTRIDER_") or name in {"COLUMNS", "FORCE_COLOR"}:
            monkeypatch.delenv(name)

    def ask(*arguments: str) -> Done:
        code = main(["dlq", *arguments])
        return Done(code, *capfd.readouterr())

    return ask


def letters_of(done: Done) -> list[dict[str, Any]]:
    return [json.loads(line)["letter"] for line in done.out.splitlines()[1:]]


def paths_of(done: Done) -> list[str]:
    return sorted("/" + letter["url"].partition(".test:")[2].partition("/")[2] for letter in letters_of(done))


def test_counts_by_reason_and_site_come_before_the_letters(crawl: tuple[Path, str], dlq: Dlq) -> None:
    done = dlq("list")

    assert (done.code, done.err, done.is_plain) == (0, "", True)
    head, _, lines = done.out.partition("LAST VISIT")
    assert head.startswith("4 dead letters of 1 site\n")
    for words in ("1 http_404: it answered 404 Not Found", "1 redirect_loop: its redirects lead in a circle", "4 site"):
        assert words in " ".join(head.split())
    found = sorted(line.split()[2:] for line in lines.splitlines()[1:])
    assert found[0] == ["302", "redirect_loop", f"{crawl[1]}/loop"]
    assert [code for code, *_ in found] == ["302", "404", "410", "500"]


def test_a_few_lines_are_shown_and_the_others_are_counted(crawl: tuple[Path, str], dlq: Dlq) -> None:
    some, none = dlq("list", "--limit", "1"), dlq("list", "--limit", "0")
    for_programs = dlq("list", "--limit", "2", "--json")

    assert "and 3 more; --limit shows more of them" in some.out
    assert (some.out.count(crawl[1]), none.out.count(crawl[1])) == (1, 0)
    assert none.out.startswith("4 dead letters of 1 site")
    assert len(letters_of(for_programs)) == 2


def test_programs_get_the_count_and_then_a_line_a_letter(crawl: tuple[Path, str], dlq: Dlq) -> None:
    done = dlq("list", str(crawl[0]), "--json")

    count = json.loads(done.out.splitlines()[0])["count"]
    assert (count["total"], count["byReason"]["http_410"], sum(count["bySite"].values())) == (4, 1, 4)
    assert paths_of(done) == ["/broken", "/gone", "/loop", "/lost"]
    lost = next(letter for letter in letters_of(done) if letter["url"].endswith("/lost"))
    assert (lost["reason"], lost["status"], lost["visits"], lost["depth"]) == ("http_404", 404, 1, 1)
    assert lost["parent"] == f"{crawl[1]}/"
    assert lost["lastAt"] > 1_700_000_000
    assert lost["fetchId"]


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (("--reason", "http_404"), ["/lost"]),
        (("--reason", "http_404", "--reason", "http_410"), ["/gone", "/lost"]),
        (("--status", "500"), ["/broken"]),
        (("--text", "/lo"), ["/loop", "/lost"]),
        (("--text", "/lo", "--status", "404"), ["/lost"]),
        (("--site", "site.test"), ["/broken", "/gone", "/loop", "/lost"]),
        (("--site", "SITE.test", "--reason", "redirect_loop"), ["/loop"]),
        (("--site", "other.test"), []),
        (("--site", "www.site.test"), []),
        (("--since", "1h"), ["/broken", "/gone", "/loop", "/lost"]),
        (("--until", "1h"), []),
        (("--since", "2020-01-01", "--until", "2020-01-02"), []),
    ],
)
def test_filters_narrow_what_is_meant(
    crawl: tuple[Path, str], dlq: Dlq, filters: tuple[str, ...], paths: list[str]
) -> None:
    done = dlq("list", str(crawl[0]), *filters, "--json")

    assert (done.code, paths_of(done)) == (0, paths)
    assert json.loads(done.out.splitlines()[0])["count"]["total"] == len(paths)


def test_a_letter_is_shown_with_the_evidence_of_its_last_visit(crawl: tuple[Path, str], dlq: Dlq) -> None:
    gone, circle = dlq("show", f"{crawl[1]}/gone"), dlq("show", str(crawl[0]), "--reason", "redirect_loop")
    document = json.loads(dlq("show", f"{crawl[1]}/gone", str(crawl[0]), "--json").out)

    assert (gone.code, gone.is_plain, circle.code, circle.is_plain) == (0, True, 0, True)
    for words in ("reason http_410: it answered 410 Gone", "1 visit counted against it", "HTTP 410 Gone", r"\x1b[2J"):
        assert words in gone.unfolded
    assert f"outrider dlq replay --url {crawl[1]}/gone" in gone.unfolded
    assert "302 " in circle.out
    assert document["letter"]["fetchId"] == document["lastVisit"]["page"]["fetchId"]
    assert {one["content"]["kind"] for one in document["lastVisit"]["evidence"]} >= {"http_response", "fetch_timing"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("list", "nowhere"), 2, "nowhere: there is no such directory"),
        (("list", "empty"), 2, "empty: holds no crawl.db"),
        (("list", "--frontier", "sqlite:none.db"), 2, "there is no such file"),
        (("list", "--reason", "http_40"), 2, "there is no such reason; did you mean http_410?"),
        (("list", "--status", "1000"), 2, "less than or equal to 999"),
        (("list", "--since", "yesterday"), 2, "--since 'yesterday': expected an age"),
        (("list", "--until", "soon"), 2, "--until 'soon': expected an age"),
        (("list", "--since", "1h", "--until", "2h"), 2, "--since 1h is later than --until 2h"),
        (("list", "--url", "nonsense"), 2, "is not an absolute URL"),
        (("list", "--limit", "-1"), 2, "greater than or equal to 0"),
        (("show", "nonsense"), 2, "is not an absolute URL"),
        (("show", "http://a.org/"), 2, "http://a.org/: is no dead letter: it is unknown here"),
        (("replay",), 2, "dlq replay: every dead letter is meant only with --all"),
        (("replay", "--dry-run"), 2, "dlq replay: every dead letter is meant only with --all"),
        (("replay", "--all", "--status", "404"), 2, "--all means every dead letter; it goes with no other choice"),
        (("drop",), 2, "dlq drop: every dead letter is meant only with --all"),
        (("drop", "--url", "http://a.org/"), 2, "http://a.org/: is no dead letter: it is unknown here"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(
    crawl: tuple[Path, str], dlq: Dlq, arguments: tuple[str, ...], code: int, words: str
) -> None:
    (crawl[0].parent / "empty").mkdir(exist_ok=True)
    before = below(crawl[0])

    done = dlq(*arguments)

    assert done.code == code
    assert words in done.err
    assert "Traceback" not in done.err
    assert below(crawl[0]) == before


def test_a_url_that_is_no_letter_is_said_to_be_what_it_is(crawl: tuple[Path, str], dlq: Dlq) -> None:
    fetched, other = dlq("show", f"{crawl[1]}/a"), dlq("show", f"{crawl[1]}/gone", "--status", "404")

    assert (fetched.code, other.code) == (2, 2)
    assert "/a: is no dead letter: it has ended otherwise" in fetched.err
    assert "/gone: is no dead letter that matches: it is dead (http_410)" in other.err


def test_looking_leaves_a_crawl_as_it_was(crawl: tuple[Path, str], dlq: Dlq) -> None:
    before = below(crawl[0])

    dlq("list")
    dlq("show", f"{crawl[1]}/gone")
    dlq("replay", "--all", "--dry-run")
    dlq("drop", "--all", "--dry-run")

    assert below(crawl[0]) == before


def below(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*")}
