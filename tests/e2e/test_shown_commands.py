"""Every command that README, tutorial and how-to pages show is run: for real, in an empty folder, page by page.

The text is that of the page. Only places are others: hosts of the examples are a small web on this machine, servers are
those of the tests, and paths from the root lie below the folder. What a page takes for granted, and what cannot be run,
it says in comments: `tests/e2e/shown.py`.
"""

import asyncio
import os
import re
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import pytest
from msgspec import Struct
from tests.e2e.shown import PAGES, ROOT, Block, blocks
from tests.services.commands import Commands
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port, free_ports
from tests.services.postgres import PostgresServer, running

from outrider.testing.webfarm.behaviours import page as html
from outrider.testing.webfarm.behaviours import redirect, status
from outrider.testing.webfarm.farm import ANY, WebFarm
from outrider.testing.webfarm.kinds import Behaviour

PATIENCE: Final = 180.0
LISTENING: Final = ("8000", "8787", "8788", "9464", "9465")
"""Ports that pages name for what they start. Each page gets free ones in their place."""

CRAWL: Final = "outrider crawl https://example.org --contact"
CRAWLED: Final = "crawl-example.org"
NOTHING: Final[Mapping[str, str]] = {}
_LINKS: Final = "".join(
    f'<a href="{path}">{path}</a>' for path in ("/a", "/news", "/docs/", "/old", "/lost", "/gone", "/broken", "/loop")
)
SITE: Final[dict[str, Behaviour]] = {
    "/": html(f"<title>Example</title>{_LINKS}", etag='"1"'),
    "/a": html("<title>A</title>"),
    "/news": html("<title>News</title>"),
    "/docs/": html("<title>Docs</title>"),
    "/old": redirect(301, "/a"),
    "/lost": status(404),
    "/gone": status(410),
    "/broken": status(500),
    "/loop": redirect(302, "/loop"),
    "/sitemap.xml": html("<urlset><url><loc>/news</loc></url></urlset>", content_type="application/xml"),
}


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def broker(kafka: KafkaServer) -> KafkaServer:
    """With the topics that pages speak of."""
    kafka.create("webpage_log", "webpage_failures")
    return kafka


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stock")


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an `outrider` that starts at once."""
    folder = tmp_path_factory.mktemp("quick")
    commands = Commands()
    commands.write_client(folder / "outrider")
    yield folder
    commands.close()


@pytest.fixture(scope="module")
def port() -> int:
    """The same for all pages, so that what one has crawled can be known to the next."""
    return free_port()


@pytest.fixture
async def web(port: int) -> AsyncIterator[WebFarm]:
    async with WebFarm({ANY: SITE}, port=port) as farm:
        yield farm


class Desk(Struct):
    """Where a reader of one page types."""

    folder: Path
    environment: dict[str, str]
    places: list[tuple[str, str]]
    stock: Path
    quick: Path

    def placed(self, text: str) -> str:
        for shown, meant in self.places:
            text = re.sub(shown, meant, text)
        return text

    async def start(self, script: str, environment: Mapping[str, str], *, is_signalled: bool = False) -> Process:
        path = [] if is_signalled else [str(self.quick)]
        return await asyncio.create_subprocess_exec(
            "bash",
            "-euo",
            "pipefail",
            "-c",
            self.placed(script),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            cwd=self.folder,
            env={
                **self.environment,
                **{key: self.placed(value) for key, value in environment.items()},
                "PATH": ":".join([*path, self.environment["PATH"]]),
            },
            start_new_session=True,
        )

    async def run(self, script: str, environment: Mapping[str, str] = NOTHING, code: int = 0) -> str:
        process = await self.start(script, environment, is_signalled="kill" in script)
        try:
            async with asyncio.timeout(PATIENCE):
                out, _ = await process.communicate()
        finally:
            _end(process, signal.SIGKILL)
        assert process.returncode == code, f"{self.placed(script)}\n{out.decode()}"
        return out.decode()

    async def prepare(self, block: Block) -> None:
        """What a page takes for granted; a crawl of example.org is, wherever its directory is spoken of."""
        script = "\n".join([*block.all("first"), block.text])
        made, kept = self.folder / self.placed(CRAWLED), self.stock / "crawl"
        if CRAWLED in script and CRAWL not in script and not made.exists():
            if not kept.exists():
                await self.run(f"{CRAWL} you@example.org -d {kept}")
            shutil.copytree(kept, made)
        for command in block.all("first"):
            await self.run(command)

    @asynccontextmanager
    async def beside(self, block: Block) -> AsyncIterator[None]:
        """Runs while the rest of the page is typed, then hears Ctrl-C."""
        process = await self.start(block.text, block.environment(), is_signalled=True)
        try:
            await _listens(int(self.placed(block.note("background") or "")), process)
            yield
            _end(process, signal.SIGINT)
            async with asyncio.timeout(PATIENCE):
                out, _ = await process.communicate()
            assert process.returncode == int(block.note("exits") or 0), f"{block.text}\n{out.decode()}"
        finally:
            _end(process, signal.SIGKILL)
            await process.wait()


@pytest.fixture
def desk(request: pytest.FixtureRequest, page: Path, web: WebFarm, stock: Path, tmp_path: Path) -> Desk:
    folder = tmp_path / "folder"
    folder.mkdir()
    text = "".join(block.text for block in blocks(page) if block.note("not run") is None)
    ports = dict(zip(LISTENING, map(str, free_ports(len(LISTENING))), strict=True))
    places = [(rf"\b{shown}\b", meant) for shown, meant in ports.items()]
    places += [
        (r"https://(example\.(?:org|com))", rf"http://\1:{web.port}"),
        (re.escape(CRAWLED), f"{CRAWLED}-{web.port}"),
        (r"(?<=/)/(var|data)/", f"{folder}/\\1/"),
    ]
    programs = {"outrider": f'{sys.executable} -m outrider "$@"', "python": f'{sys.executable} "$@"'}
    if "redis" in text:
        server = request.getfixturevalue("redis")
        server.client().flushall()
        places += [
            (r"[\w.]+:6379", f"127.0.0.1:{server.port}"),
            (r"redis://[a-z]+\b", f"redis://127.0.0.1:{server.port}"),
        ]
        programs["redis-cli"] = f'{shutil.which("redis-cli")} -p {server.port} "$@"'
    if "kafka" in text:
        places.append((r"[\w.]+:9092", request.getfixturevalue("broker").bootstrap))
    if "postgresql:" in text:
        database = request.getfixturevalue("postgres").url()
        schema = f"shown_{page.stem.replace('-', '_')}"
        places.append((r"postgresql://[\w@.]+/(\w+)", rf"{database}?schema={schema}_\1"))
    _install(programs, tmp_path / "bin", folder)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER_", "PAGE_FETCH"))}
    environment = {
        **kept,
        "PATH": f"{tmp_path / 'bin'}:{kept['PATH']}",
        "OUTRIDER_ALLOW_PORTS": f"{web.port},{ports['8000']}",
        "OUTRIDER_DELAY": "0.01",
        "OUTRIDER_RETRY_BACKOFF": "0.01",
        "OUTRIDER_REVISIT_BACKOFF": "0.01",
        "OUTRIDER_METRICS_ADDRESS": f"127.0.0.1:{ports['9464']}",
        "OUTRIDER_SERVE_ADDRESS": f"127.0.0.1:{ports['8787']}",
        "OUTRIDER_WORKERS": "1",
    }
    if "redis" in text:
        environment["OUTRIDER_REDIS_URL"] = f"redis://127.0.0.1:{request.getfixturevalue('redis').port}"
    if "kafka" in text:
        environment["OUTRIDER_KAFKA_SERVERS"] = request.getfixturevalue("broker").bootstrap
    if "outrider.toml" not in {block.note("file") for block in blocks(page)}:
        environment |= {"OUTRIDER_HOSTS": "*=127.0.0.1", "OUTRIDER_ALLOW_PRIVATE": "127.0.0.0/8"}
    return Desk(folder, environment, places, stock, request.getfixturevalue("quick"))


@pytest.mark.parametrize(
    ("written", "mistake"),
    [
        ("<!-- not run: too hard -->\n```sh\nmake\n```", "not run: too hard: expected one of needs the Internet"),
        (
            "<!-- not run: runs in tests/test_gone.py -->\n```sh\nmake\n```",
            "not run: runs in tests/test_gone.py: expected",
        ),
        ("<!-- frist: make -->\n```sh\nmake\n```", "frist: means nothing above a block of sh"),
        ("```console\nmake\n```", "console: what is to be typed is in blocks of sh"),
    ],
)
def test_a_note_that_nobody_understands_is_a_mistake(written: str, mistake: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{written}\n")

    [block] = blocks(page)

    assert [told[: len(mistake)] for told in block.mistakes()] == [mistake]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_each_block_is_run_or_says_why_not(page: Path) -> None:
    assert [mistake for block in blocks(page) for mistake in block.mistakes()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if "```sh" in page.read_text()], ids=_name)
async def test_the_commands_of_a_page_do_what_it_says(page: Path, desk: Desk) -> None:
    await _typed(desk, blocks(page))


async def _typed(desk: Desk, rest: list[Block], said: str = "") -> None:
    for place, block in enumerate(rest):
        if name := block.note("file"):
            (desk.folder / name).write_text(desk.placed(block.text))
        if block.note("printed") is not None:
            _check_printed(desk.placed(block.text), said)
        if block.kind != "sh" or block.note("not run"):
            continue
        await desk.prepare(block)
        if block.note("background"):
            async with desk.beside(block):
                return await _typed(desk, rest[place + 1 :])
        said = await desk.run(block.script(), block.environment(), int(block.note("exits") or 0))
    return None


def _check_printed(shown: str, said: str) -> None:
    """Line by line, however wide the columns are; … stands for anything."""
    lines = [re.escape(" ".join(line.split())).replace("…", ".*") for line in shown.splitlines() if line.strip()]
    printed = [" ".join(line.split()) for line in said.splitlines()]
    missing = [line for line in lines if not any(re.fullmatch(line, other) for other in printed)]
    assert missing == [], said


def _install(programs: dict[str, str], path: Path, folder: Path) -> None:
    """On the path, and where a checkout has them."""
    path.mkdir()
    for name, command in programs.items():
        (path / name).write_text(f"#!/bin/sh\nexec {command}\n")
        (path / name).chmod(0o755)
    (folder / ".venv").mkdir()
    (folder / ".venv/bin").symlink_to(path)
    (folder / "scripts").symlink_to(path)


async def _listens(port: int, process: Process) -> None:
    """Until it answers: a socket may listen before anybody behind it hears signals."""
    async with asyncio.timeout(PATIENCE):
        while process.returncode is None:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
                answered = await reader.read(1)
                writer.close()
                if answered:
                    return
            await asyncio.sleep(0.05)
    raise AssertionError((await process.communicate())[0].decode())


def _end(process: Process, number: signal.Signals) -> None:
    """With all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
