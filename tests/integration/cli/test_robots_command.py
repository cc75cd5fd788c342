"""`outrider robots` as people run it: by a server on loopback, or by a file with no network at all."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from outrider import __version__
from outrider.testing.webfarm import WebFarm, redirect, refused_port, status, text

Run = Callable[..., Awaitable[tuple[int, str, str]]]

ROBOTS = "User-agent: *\nDisallow: /private\n\nUser-agent: friend\nDisallow:\n"


@pytest.fixture
async def farm() -> AsyncIterator[WebFarm]:
    async with WebFarm({"*": {"/robots.txt": text(ROBOTS)}}) as opened:
        yield opened


@pytest.fixture
def robots(outrider: Run, farm: WebFarm) -> Run:
    async def run(path: str, *arguments: str) -> tuple[int, str, str]:
        url = farm.url("127.0.0.1", path)
        return await outrider("robots", url, "--allow-private", "127.0.0.1", "--set", "max_retries=0", *arguments)

    return run


@pytest.mark.parametrize(
    ("path", "arguments", "code", "words"),
    [
        ("/", [], 0, "allowed: no rule for user-agent * matches"),
        ("/private/x", [], 5, "disallowed by line 2: Disallow: /private"),
        ("/private/x", ["--agent", "Friend/1.0"], 0, "allowed: no rule for user-agent friend matches"),
    ],
)
async def test_it_says_whether_and_why(
    robots: Run, farm: WebFarm, path: str, arguments: list[str], code: int, words: str
) -> None:
    got, out, err = await robots(path, *arguments)

    assert (got, err) == (code, "")
    assert words in out
    assert "HTTP 200 OK · 63 bytes" in out
    assert [asked.target for asked in farm.log] == ["/robots.txt"]
    assert farm.log[0].header("User-Agent") == f"outrider/{__version__}"


async def test_it_asks_although_a_crawl_is_told_not_to(robots: Run) -> None:
    code, _, _ = await robots("/private/x", "--set", "respect_robots=no")

    assert code == 5


async def test_json_is_one_object(robots: Run) -> None:
    code, out, _ = await robots("/private/x", "--json")

    told = json.loads(out)
    assert code == 5
    assert (told["allowed"], told["line"], told["rule"], told["group"]) == (False, 2, "Disallow: /private", "*")
    assert told["file"]["status"] == "found"


async def test_redirects_are_followed(robots: Run, farm: WebFarm) -> None:
    farm.sites["*"] = {"/robots.txt": redirect(302, "/real.txt"), "/real.txt": text(ROBOTS)}

    code, _, _ = await robots("/private/x")

    assert code == 5


async def test_a_missing_file_allows_and_a_broken_server_is_unreachable(robots: Run, farm: WebFarm) -> None:
    farm.sites["*"] = {}
    assert (await robots("/"))[0] == 0

    farm.sites["*"] = {"/robots.txt": status(503)}
    code, out, _ = await robots("/")

    assert code == 4
    assert "cannot be reached (http_503: 503 Service Unavailable)" in " ".join(out.split())


async def test_nobody_listening_is_unreachable(outrider: Run) -> None:
    with refused_port() as (address, port):
        code, out, _ = await outrider(
            "robots", f"http://{address}:{port}/", "--allow-private", "127.0.0.1", "--set", "max_retries=0"
        )

    assert code == 4
    assert "nobody can say" in out


async def test_the_guard_holds_here_too_and_names_the_flag(outrider: Run, farm: WebFarm) -> None:
    code, out, _ = await outrider("robots", farm.url("127.0.0.1"))

    assert code == 5
    assert "--allow-private 127.0.0.1 would allow it" in " ".join(out.split())
    assert farm.requests == 0


async def test_a_file_is_judged_without_any_network(outrider: Run, tmp_path: Path) -> None:
    (tmp_path / "robots.txt").write_text(ROBOTS)

    code, out, _ = await outrider("robots", "https://example.org/private/x", "--file", "robots.txt")

    assert code == 5
    assert "disallowed by line 2: Disallow: /private" in out
    assert (await outrider("robots", "https://example.org/", "--file", "-", given=ROBOTS.encode()))[0] == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["example.org"], "'example.org' is not an absolute URL; did you mean https://example.org ?"),
        (["http://example.org/"], "contact = none: to visit example.org"),
        (["http://a/", "--file", "missing.txt"], "--file 'missing.txt': No such file or directory"),
        (["http://a/", "--file", "."], "--file '.': Is a directory"),
    ],
)
async def test_wrong_input_is_one_sentence_and_code_2(outrider: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = await outrider("robots", *arguments)

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert sentence in err
