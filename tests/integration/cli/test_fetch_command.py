"""`outrider fetch` as people run it: a process, a real web server on loopback, an exit code."""

import asyncio
import json
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable
from fcntl import ioctl
from pathlib import Path

import pytest

from outrider.testing.webfarm import (
    Elsewhere,
    WebFarm,
    chain,
    encoded,
    flaky,
    hang,
    loop,
    page,
    redirect,
    refused_port,
    status,
    text,
)

Run = Callable[..., Awaitable[tuple[int, str, str]]]

ROBOTS = "User-agent: *\nDisallow: /private\nAllow: /private/press\n"
BODY = "<!doctype html><title>Grüße</title><p>" + "hello " * 100
SITE = {
    "/": page(BODY, etag='"v1"', last_modified="Mon, 01 Jan 2024 00:00:00 GMT"),
    "/robots.txt": text(ROBOTS),
    "/zipped": encoded(BODY, "gzip"),
    "/missing": status(404),
    "/evil": page(BODY, headers={"X-Evil": "a\x1b[2J\x1b]0;pwned\x07b"}),
    "/evil-redirect": redirect(302, "http://exa mple/\x1b[31m"),
    "/flaky": flaky([500]),
    "/hangs": hang(),
    "/elsewhere": redirect(301, Elsewhere("127.0.0.2")),
    **chain("/old", 2),
    **loop("/loop", 2),
}


@pytest.fixture
async def farm() -> AsyncIterator[WebFarm]:
    async with WebFarm({"*": SITE}) as opened:
        yield opened


@pytest.fixture
def fetch(outrider: Run, farm: WebFarm) -> Run:
    async def run(path: str, *arguments: str) -> tuple[int, str, str]:
        url = farm.url("127.0.0.1", path)
        return await outrider("fetch", url, "--allow-private", "127.0.0.0/8", "--set", "delay=0", *arguments)

    return run


async def test_a_page_is_told_as_a_timeline_of_at_most_eighty_columns(fetch: Run) -> None:
    code, out, err = await fetch("/old", "-v")

    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert max(map(len, lines)) <= 80
    assert [line[:4] for line in lines if "GET" in line] == ["1  G", "2  G", "3  G"]
    assert any(line.startswith("   first byte") and line.endswith(" ms") for line in lines)
    assert sum("Content-Type:" in line for line in lines) == 3
    assert lines[-1] == "Fetched: HTTP 200 after 2 redirects, 58 bytes; confidence high."


async def test_json_is_one_object_with_the_names_of_s1_and_nothing_else(fetch: Run) -> None:
    """S1-15 to S1-21, S1-33: the page record, the evidence, and what the call returns."""
    code, out, err = await fetch("/old", "--json", "--scan-id", "scan-7", "--profile", "audit")

    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["success"] is True
    assert told["statusCode"] == 200
    assert told["finalUrl"].endswith("/old/2")
    assert told["robotsAllowed"] is True
    assert told["confidence"] == "high"
    assert told["error"] is None
    assert told["loadTime"] >= 0
    assert told["outcome"]["type"] == "fetched"
    assert told["outcome"]["body"]["wireLength"] == 58
    assert told["page"]["scanId"] == "scan-7"
    assert told["page"]["metadata"]["redirectCount"] == 2
    assert [fact["content"]["kind"] for fact in told["evidence"]] == [
        "robots_check",
        "redirect_chain",
        "http_response",
        "http_headers",
        "fetch_timing",
    ]


async def test_a_retry_is_told(fetch: Run) -> None:
    code, out, _ = await fetch("/flaky", "--set", "retry_backoff=0")

    assert code == 0
    assert "   http_500: 500 Internal Server Error · asked again after" in out
    assert "1 retry" in out


async def test_the_body_is_written_decoded(fetch: Run, tmp_path: Path) -> None:
    code, out, err = await fetch("/zipped", "--body", "page.html")

    assert code == 0
    assert (tmp_path / "page.html").read_text() == BODY
    assert "as sent, gzip)" in out
    assert err == f"outrider: {len(BODY.encode())} bytes written to page.html\n"
    assert names_in(tmp_path) == ["page.html"]


async def test_the_body_may_be_the_output_and_then_the_timeline_is_beside_it(fetch: Run) -> None:
    code, out, err = await fetch("/", "--body", "-")

    assert (code, out) == (0, BODY)
    assert err.splitlines()[-1].startswith("Fetched: HTTP 200")


async def test_without_content_nothing_is_written_and_that_is_said(fetch: Run, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("from before")

    code, out, err = await fetch("/missing", "--body", "page.html", "--json")

    assert code == 4
    assert json.loads(out)["statusCode"] == 404
    assert err == "outrider: nothing was written to page.html: the fetch brought no content\n"
    assert (tmp_path / "page.html").read_text() == "from before"


@pytest.mark.parametrize(
    ("path", "arguments", "code", "words"),
    [
        ("/missing", [], 4, "Failed: http_404: 404 Not Found; confidence medium."),
        ("/loop", [], 4, "Failed: redirect_loop: back to"),
        ("/old", ["--set", "max_redirects=1"], 4, "Failed: too_many_redirects"),
        ("/evil-redirect", [], 4, "Failed: invalid_redirect"),
        ("/private/diary", [], 5, "robots  disallowed by line 2: Disallow: /private"),
        ("/old", ["--set", "follow_redirects=no"], 5, "Refused: redirect_not_followed"),
        ("/login", ["--profile", "audit"], 5, "Refused: skip_pattern"),
        ("/poster.pdf", [], 5, "To fetch it all the same, add --set 'skip_extensions=[]'"),
        ("/private/press", [], 4, "robots  allowed by line 3: Allow: /private/press"),
    ],
)
async def test_the_exit_code_says_how_it_ended(
    fetch: Run, path: str, arguments: list[str], code: int, words: str
) -> None:
    got, out, err = await fetch(path, *arguments)

    assert (got, err) == (code, "")
    assert words in out


async def test_a_skipped_url_has_no_page_record(fetch: Run, farm: WebFarm) -> None:
    """S1-29: success false, status 0, no page, and nobody was asked."""
    code, out, _ = await fetch("/login", "--profile", "audit", "--json")

    told = json.loads(out)
    assert code == 5
    assert (told["success"], told["statusCode"], told["page"]) == (False, 0, None)
    assert told["error"] == "URL matches skip pattern"
    assert farm.requests == 0


async def test_nobody_listening_is_a_failure_not_a_refusal(outrider: Run) -> None:
    with refused_port() as (address, port):
        code, out, err = await outrider(
            "fetch", f"http://{address}:{port}/", "--allow-private", "127.0.0.0/8", "--set", "max_retries=0"
        )

    assert (code, err) == (4, "")
    assert "connect_refused" in out


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_this_machine_is_refused_and_the_way_out_is_the_exact_flag(
    outrider: Run, farm: WebFarm, host: str
) -> None:
    url = farm.url(host)

    code, out, err = await outrider("fetch", url)

    assert (code, err) == (5, "")
    assert "blocked_address" in out
    assert farm.requests == 0
    flags = {
        "127.0.0.1": ["--allow-private", "127.0.0.1"],
        "localhost": ["--allow-private", "127.0.0.0/8"],
    }[host]
    assert " ".join(flags) in " ".join(out.split())
    assert (await outrider("fetch", url, *flags, "--set", "delay=0"))[0] == 0


async def test_a_redirect_into_a_network_that_is_not_open_is_refused(outrider: Run, farm: WebFarm) -> None:
    url = farm.url("127.0.0.1", "/elsewhere")

    code, out, _ = await outrider("fetch", url, "--allow-private", "127.0.0.1", "--set", "delay=0")

    assert code == 5
    assert "blocked_address: 127.0.0.2 is not visited" in " ".join(out.split())


async def test_a_private_address_is_refused_before_any_socket(outrider: Run) -> None:
    code, out, _ = await outrider("fetch", "http://10.0.0.1/", "--contact", "me@example.org")

    assert code == 5
    assert "nothing was sent" in out
    assert "--allow-private 10.0.0.1 would allow it" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["example.org"], "'example.org' is not an absolute URL; did you mean https://example.org ?"),
        (["ftp://example.org/"], "'ftp://example.org/' has the scheme 'ftp'; only http and https are crawled"),
        (["http://exa mple.org/"], "'http://exa mple.org/' cannot be parsed as a URL"),
        ([""], "'' is empty"),
        (["http://example.org/"], "contact = none: to visit example.org, its owner must be able to reach you"),
    ],
)
async def test_wrong_input_is_one_sentence_and_code_2(outrider: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = await outrider("fetch", *arguments)

    assert (code, out) == (2, "")
    assert err.startswith("outrider: ")
    assert err.count("\n") == 1
    assert sentence in err


async def test_ctrl_c_is_130_without_a_traceback(farm: WebFarm, tmp_path: Path, environment: dict[str, str]) -> None:
    arguments = ["fetch", farm.url("127.0.0.1", "/hangs"), "--allow-private", "127.0.0.1", "--set", "delay=0"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "outrider", *arguments, "--body", "page.html",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=tmp_path, env=environment,
    )  # fmt: skip
    async with asyncio.timeout(60):
        await farm.until(lambda: bool(farm.asked(target="/hangs")))

        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()

    assert process.returncode == 130
    assert b"Traceback" not in err
    assert out == b""
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("path", ["/evil", "/evil-redirect"])
async def test_a_terminal_gets_colours_and_nothing_that_the_web_wrote_steers_it(
    farm: WebFarm, tmp_path: Path, environment: dict[str, str], path: str
) -> None:
    own, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    arguments = ["fetch", farm.url("127.0.0.1", path), "--allow-private", "127.0.0.1", "--set", "delay=0", "-v"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "outrider", *arguments, stdout=theirs, cwd=tmp_path, env=environment
    )
    os.close(theirs)
    async with asyncio.timeout(60):
        shown = await asyncio.to_thread(_all_of, own)
        await process.wait()

    assert "\x1b[" in shown  # our own colours
    assert "\x1b[2J" not in shown
    assert "\x1b]0;" not in shown
    assert "\x1b[31mexa" not in shown
    assert "\\x1b[" in shown  # theirs, spelled out


async def test_a_reader_that_goes_away_is_no_traceback(
    farm: WebFarm, tmp_path: Path, environment: dict[str, str]
) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    arguments = ["fetch", farm.url("127.0.0.1"), "--allow-private", "127.0.0.1", "--set", "delay=0", "--body", "-"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "outrider", *arguments,
        stdout=write_end, stderr=asyncio.subprocess.PIPE, cwd=tmp_path, env=environment,
    )  # fmt: skip
    os.close(write_end)
    async with asyncio.timeout(60):
        _, err = await process.communicate()

    assert process.returncode == 141
    assert err == b""


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def _all_of(terminal: int) -> str:
    """Linux ends a terminal whose other side is closed with EIO."""
    chunks = []
    while True:
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks).decode()
