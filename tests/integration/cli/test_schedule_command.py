"""`outrider schedule` as people run it: processes of their own, a real Redis, signals and kills."""

import asyncio
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from redis import Redis
from tests.services.ports import free_port
from tests.services.redis import RedisServer

from outrider.cli import main

QUEUE = "crawler_queue"
Run = Callable[..., "Done"]
Start = Callable[..., Awaitable["Running"]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"), "--appendonly", "yes").start()
    yield server
    server.stop()


@pytest.fixture
def redis(server: RedisServer) -> Iterator["Redis"]:
    with server.client() as client:
        client.flushall()
        yield client


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def outrider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """In this process, which is quicker; signals and kills are for `start`."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Done:
        return Done(main(["schedule", *arguments]), *capsys.readouterr())

    return run


class Running:
    """A scheduler at work; what it says is read line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[str] = []

    async def says(self, words: str) -> str:
        """The next line that holds these words."""
        assert self.process.stderr is not None
        async with asyncio.timeout(30):
            while line := (await self.process.stderr.readline()).decode():
                self.said.append(line)
                if words in line:
                    return line
        raise AssertionError(f"it ended without {words!r}: {''.join(self.said)}")

    async def ended(self) -> int:
        async with asyncio.timeout(30):
            return await self.process.wait()

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.ended()


@pytest.fixture
async def start(tmp_path: Path, environment: dict[str, str]) -> "Start":
    async def start(*arguments: str) -> Running:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-W", "error", "-m", "outrider", "schedule", *arguments),
            stderr=asyncio.subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
        )
        return Running(process)

    return start


def write(folder: Path, *sources: str, name: str = "sources.yaml") -> str:
    text = "sources:\n" + "".join(f"  - {{{source}}}\n" for source in sources)
    (folder / name).write_text(text)
    return name


def test_what_is_due_is_fed_once_however_often_it_is_run(
    tmp_path: Path, outrider: Run, server: RedisServer, redis: "Redis"
) -> None:
    (tmp_path / "seeds.txt").write_text("https://example.org/1\nhttps://example.org/2\n")
    file = write(tmp_path, "url: example.org, every: 1h", "feed: example.org/feed", "seeds: seeds.txt, every: once")

    first = outrider(file, "--once", "--redis", server.url)
    second = outrider(file, "--once", "--redis", server.url)

    assert (first.code, second.code) == (0, 0)
    assert "4 URLs given; 4 wait to be visited" in first.err
    assert "given" not in second.err
    assert redis.lrange(QUEUE, 0, -1) == [
        b"https://example.org/",
        b'{"url":"https://example.org/feed","priority":0,"listing":true}',
        b"https://example.org/1",
        b"https://example.org/2",
    ]


async def test_two_at_once_and_killed_again_and_again_feed_every_seed_once(
    tmp_path: Path, start: Start, server: RedisServer, redis: "Redis"
) -> None:
    """H4-12, S4-10: 5,000 seeds through a queue of 500, while schedulers are killed in the middle of it."""
    seeds = [f"https://example.org/{n}" for n in range(5_000)]
    (tmp_path / "seeds.txt").write_text("\n".join(seeds))
    file = write(tmp_path, "seeds: seeds.txt, every: once", "url: example.org/page, every: 1h")
    arguments = (file, "--redis", server.url, "--max-queue-size", "500", "--metrics", "none")
    running = [await start(*arguments), await start(*arguments)]
    taken: Counter[bytes | str] = Counter()
    longest = kills = 0

    async with asyncio.timeout(90):
        while taken.total() < len(seeds) + 1:
            # One act, so that nobody adds between the two: how many wait, and the first of them.
            both = redis.pipeline()
            both.llen(QUEUE)
            both.lpop(QUEUE, 50)
            waiting, entries = both.execute()
            longest = max(longest, waiting)
            taken.update(entries or [])
            if taken.total() > 1_500 * (kills + 1):
                await running.pop(0).kill()
                running.append(await start(*arguments))
                kills += 1
            await asyncio.sleep(0 if entries else 0.01)
    for one in running:
        await one.kill()

    assert taken == Counter([*map(str.encode, seeds), b"https://example.org/page"])
    assert (longest, kills) == (500, 3)
    assert redis.llen(QUEUE) == 0


async def test_a_day_in_the_life(tmp_path: Path, start: Start) -> None:
    """It waits for a server that is not there yet, sits an outage out, reads its file again, and ends with 0."""
    server = RedisServer(tmp_path / "redis", "--appendonly", "yes")
    file = write(tmp_path, "url: example.org/often, every: 1s")
    one = await start(file, "--redis", server.url, "--wait", "--metrics", "127.0.0.1:0")
    address = (await one.says("metrics are at")).split()[-1].removesuffix("/metrics")
    await one.says("waiting until it is there")

    async def asked(path: str) -> tuple[int, str]:
        reader, writer = await asyncio.open_connection(*address.removeprefix("http://").split(":"))
        writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
        return int(head.split()[1]), body

    before = [await asked("/healthz"), await asked("/readyz")]
    server.start()
    try:
        await one.says("feeding 1 source of sources.yaml into crawler_queue at redis://127.0.0.1")
        await one.says("1 URL given")
        _, shown = await asked("/metrics")
        after = await asked("/readyz")
        server.kill()
        await one.says("waiting until it is back")
        server.start()
        await one.says("the store is back: going on")

        write(tmp_path, "url: example.org/often, every: 1s", "url: oops, ever: 1s")
        one.process.send_signal(signal.SIGHUP)
        await one.says("the schedule stays as it was: ")
        write(tmp_path, "url: example.org/new, every: 1h")
        one.process.send_signal(signal.SIGHUP)
        await one.says("read sources.yaml again: 1 source")
        with server.client() as client:
            entries: list[object] = []
            while b"https://example.org/new" not in entries:
                entry = client.blpop([QUEUE], timeout=20)
                assert isinstance(entry, list | tuple), "it was not fed"
                entries += entry
        one.process.send_signal(signal.SIGTERM)
        assert await one.ended() == 0
    finally:
        await one.kill()
        server.stop()
    values = dict(re.findall(r"^(crawler_scheduler_\w+) ([\d.e+]+)$", shown, re.MULTILINE))
    assert set(values) == {
        "crawler_scheduler_urls_enqueued_total",
        "crawler_scheduler_seed_urls_enqueued_total",
        "crawler_scheduler_crawler_queue_size",
        "crawler_scheduler_loop_lag_seconds",
    }
    assert float(values["crawler_scheduler_urls_enqueued_total"]) >= 1
    assert before == [(200, "alive\n"), (503, "the store is not there yet\n")]
    assert after == (200, "ready\n")


async def test_a_signal_ends_it_although_no_server_is_there(tmp_path: Path, start: Start) -> None:
    one = await start(write(tmp_path, "url: example.org"), "--redis", f"redis://127.0.0.1:{free_port()}", "--wait")
    await one.says("waiting until it is there")

    one.process.send_signal(signal.SIGINT)

    assert await one.ended() == 0


def test_a_dry_run_says_what_would_be_fed_and_feeds_nothing(
    tmp_path: Path, outrider: Run, server: RedisServer, redis: "Redis"
) -> None:
    (tmp_path / "seeds.txt").write_text("example.org\n")
    file = write(tmp_path, "url: example.org, every: 10m", "seeds: seeds.txt, every: once", "feed: example.org/f")

    code, out, err = outrider(file, "--dry-run", "--redis", server.url)

    lines = out.splitlines()
    assert (code, err, len(lines)) == (0, "", 10)
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  (url|seeds|feed) ", line) for line in lines)
    assert lines == sorted(lines, key=lambda line: line[:20])
    assert "(once)" in lines[1]
    assert redis.keys("*") == []


def test_a_wrong_password_is_not_shown(tmp_path: Path, outrider: Run, server: RedisServer) -> None:
    url = f"redis://:wrong-word@127.0.0.1:{server.port}"

    code, _, err = outrider(write(tmp_path, "url: example.org"), "--redis", url, "--metrics", "none")

    assert code == 6
    assert "the server refuses this user or password" in err
    assert "wrong-word" not in err


def test_for_a_program_every_line_is_json(tmp_path: Path, outrider: Run, server: RedisServer, redis: "Redis") -> None:
    redis.rpush(QUEUE, "https://example.org/before")
    file = write(tmp_path, "url: example.org")
    options = ("--redis", server.url, "--max-queue-size", "1", "--log-format", "json")

    code, _, err = outrider(file, "--once", *options)

    assert code == 0
    assert [json.loads(line)["type"] for line in err.splitlines()] == ["note", "note"]
    assert "no room: 1 wait" in err


def test_a_frontier_in_redis_is_fed_in_place_of_a_queue(
    tmp_path: Path, outrider: Run, server: RedisServer, redis: "Redis"
) -> None:
    (tmp_path / "seeds.txt").write_text("".join(f"https://site{n}.org/\n" for n in range(30)))
    file = write(tmp_path, "seeds: seeds.txt, every: once", "sitemap: example.org/sitemap.xml")
    arguments = (file, "--frontier", server.url, "--max-queue-size", "20", "--once")

    runs = [outrider(*arguments), outrider(*arguments), outrider(*arguments, "--max-queue-size", "100")]

    assert [run.code for run in runs] == [0, 0, 0]
    given = [re.findall(r"([\d]+) URLs? given; (\d+) wait", run.err) for run in runs]
    assert given == [[("20", "20")], [], [("11", "31")]]
    assert redis.exists(QUEUE) == 0
