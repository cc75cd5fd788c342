"""`outrider crawl` as people run it: what goes well, what they mistype, and what their machine does to it."""

import asyncio
import json
import os
import pty
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from outrider.app.directory import CrawlDirectory
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_server import Served, served

Run = Callable[..., Awaitable[tuple[int, str, str]]]

PAGES = 60
WORLD = World(3, sites=6, pages=PAGES, hostile_share=0.0, spiced=False, varied=False, links=8, size=3_000)
NOBODY = ("http://127.0.0.1:9/", "--allow-private", "127.0.0.0/8", "--set", "allow_ports=9")
"""A seed at a port where nobody listens."""


@pytest.fixture
async def web() -> AsyncIterator[Served]:
    async with served(WORLD) as web:
        yield web


def options(web: Served, *more: str) -> list[str]:
    hosts = ",".join(f"{name}={';'.join(addresses)}" for name, addresses in web.hosts.items())
    private = ("--allow-private", "127.0.0.0/8", "--set", f"allow_ports={web.port}", "--set", f"hosts={hosts}")
    return [*web.seeds, *private, "--scope", "any", "--contact", "me@example.org", "--delay", "10ms", *more]


def names_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


# What is refused is refused at once: one sentence, a code, and nothing was made.


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "nothing to crawl: give a URL, --seeds FILE, or the --directory of an earlier crawl"),
        (["foo"], 2, "'foo' is not an absolute URL; did you mean https://foo"),
        (["ftp://127.0.0.1/"], 2, "only http and https are crawled"),
        (["http://127.0 .0.1/"], 2, "holds a blank; expected one URL or domain"),
        (["https://example.org/"], 2, "contact = none: to visit example.org, its owner must be able to reach you"),
        ([*NOBODY, "--scope", "any"], 2, "contact = none"),
        (["-d", "nothing"], 2, "nothing: no crawl is there to go on with; give a URL, or --seeds FILE"),
        (["-d", "nothing", "--fresh", "--yes"], 2, "--fresh discards the seeds as well"),
        (["--seeds", "missing.txt"], 2, "missing.txt: the seeds cannot be read: No such file"),
        (["--seeds", "-"], 2, "the standard input: holds no URL"),
        ([*NOBODY, "--scope", "planet"], 2, "scope = 'planet' (flag): expected one of page, prefix, host"),
        ([*NOBODY, "--include", "("], 2, "'(' has an error: missing )"),
        ([*NOBODY, "--max-pages", "-1"], 2, "max_pages = '-1' (flag): expected a whole number, 1 or more"),
        ([*NOBODY, "--time-limit", "0"], 2, "time_limit = '0' (flag): expected seconds or a time like 10m, 1h30m"),
        ([*NOBODY, "--time-limit", "soon"], 2, "time_limit = 'soon' (flag): expected seconds or a time like"),
        ([*NOBODY, "--max-memory", "1M"], 2, "at least 256MiB"),
        ([*NOBODY, "--workers", "0"], 2, "workers = '0' (flag): expected a whole number from 1 to 256"),
        ([*NOBODY, "--size-limit", "big"], 2, "size_limit = 'big' (flag): expected bytes"),
        ([*NOBODY, "--set", "dealy=3"], 2, "dealy = '3' (flag): no such key; did you mean delay"),
        ([*NOBODY, "--set", "delay"], 2, "expected KEY=VALUE"),
        ([*NOBODY, "--log-format", "xml"], 2, "--log-format 'xml': expected text or json"),
        ([*NOBODY, "-d", "file"], 2, "file: is a file; a crawl needs a directory of its own"),
        ([*NOBODY, "-d", "file/below"], 3, "file/below: cannot be written: Not a directory"),
        ([*NOBODY, "-d", "mine"], 2, "mine: holds other files (thesis.doc) and no crawl"),
        (["http://127.0.0.1:9/a.pdf"], 5, "the seed http://127.0.0.1:9/a.pdf is not crawled: non_text_extension"),
    ],
)
async def test_what_cannot_be_begun_is_refused_in_a_sentence_and_leaves_nothing(
    outrider: Run, tmp_path: Path, arguments: list[str], code: int, words: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").touch()

    ended, out, err = await outrider("crawl", *arguments)

    assert (ended, out) == (code, "")
    assert words in err
    assert all(line.startswith("outrider: ") for line in err.splitlines())
    assert names_below(tmp_path) == ["file", "mine", "thesis.doc"]


async def test_a_seed_that_cannot_be_reached_is_named_with_the_reason(outrider: Run, tmp_path: Path) -> None:
    code, out, err = await outrider("crawl", *NOBODY, "-d", "crawl")

    assert code == 4
    assert "the seed http://127.0.0.1:9/ could not be fetched: connect_refused" in err
    assert out.startswith("Stopped: none of the seeds could be reached.")
    assert (tmp_path / "crawl" / "crawl.db").exists()


async def test_a_seed_that_a_rule_refused_is_tried_again_once_the_rule_is_mended(outrider: Run, web: Served) -> None:
    command = options(web, "-d", "crawl")
    place = command.index("--allow-private")

    blocked = await outrider("crawl", *command[:place], *command[place + 2 :])
    mended = await outrider("crawl", *command)

    assert blocked[0] == 5
    assert "its address 127.0.0.1 is loopback" in blocked[2]
    assert "--allow-private 127.0.0.1 would allow it" in blocked[2]
    assert "0 pages fetched, 1 URL still owed a visit" in mended[2]
    assert (mended[0], mended[1].partition(":")[0]) == (0, "Finished")


# A crawl, and the same command again.


async def test_a_crawl_ends_by_itself_and_the_same_command_has_nothing_left_to_do(outrider: Run, web: Served) -> None:
    first = await outrider("crawl", *options(web, "-d", "crawl"))
    second = await outrider("crawl", *options(web, "-d", "crawl"))
    status = await outrider("status", "crawl")

    assert first[0] == second[0] == status[0] == 0
    assert first[1].startswith("Finished: nothing is owed a visit any more.")
    assert all(len(line) <= 80 for line in first[1].splitlines())
    fetched = next(line.split()[1] for line in first[1].splitlines() if line.startswith("  fetched"))
    assert f"going on with the crawl in crawl: {fetched} pages fetched, 0 URLs still owed a visit" in second[2]
    assert status[1].startswith("Finished")


async def test_programs_get_one_object_out_and_lines_of_objects_on_the_way(outrider: Run, web: Served) -> None:
    limits = ("--max-pages", "none")
    await outrider("crawl", *options(web, "-d", "crawl", "--max-pages", "5"))

    code, out, err = await outrider("crawl", *options(web, "-d", "crawl", *limits, "--json", "--log-format", "json"))

    assert code == 0
    summary = json.loads(out)
    assert (summary["type"], summary["finish"], summary["adds_up"]) == ("summary", "finished", True)
    lines = [json.loads(line) for line in err.splitlines()]
    assert {line["type"] for line in lines} == {"note", "progress"}
    assert "5 pages fetched" in " ".join(line["message"] for line in lines if line["type"] == "note")


async def test_a_limit_is_told_with_the_way_beyond_it(outrider: Run, web: Served) -> None:
    code, out, _ = await outrider("crawl", *options(web, "-d", "crawl", "--max-pages", "5", "--time-limit", "5m"))

    assert code == 0
    assert out.startswith("Stopped at the limit of pages.")
    assert "a larger --max-pages goes on with the" in out

    _, out, err = await outrider("crawl", "-d", "crawl")

    assert "as in the last run: max_pages = 5, time_limit = 300 (--max-pages none lifts it)" in err
    assert out.startswith("Stopped at the limit of pages.")


async def test_seeds_come_by_the_standard_input(web: Served, tmp_path: Path, outrider: Run) -> None:
    """S2-24."""
    seed, *rest = options(web, "--scope", "page")

    code, out, _ = await outrider("crawl", "--seeds", "-", *rest, given=f"\ufeff# mine\r\n{seed}\r\n".encode())

    assert code == 0
    assert "crawl-seeds/crawl.db" in out
    assert (tmp_path / "crawl-seeds" / "seeds.txt").read_text() == f"{seed}\n"


# Stopped, killed, and gone on with.


async def started(tmp_path: Path, environment: dict[str, str], *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "outrider", "crawl", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    )


async def until_pages(home: Path) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                status = json.loads((home / "logs" / "status.json").read_bytes())
            except (FileNotFoundError, ValueError):
                status = None
            if status is not None and status["progress"]["counts"]["pages"] > 0:
                return
            await asyncio.sleep(0.05)


async def test_ctrl_c_ends_it_with_a_summary_and_the_directory_alone_goes_on(
    outrider: Run, web: Served, tmp_path: Path, environment: dict[str, str]
) -> None:
    process = await started(tmp_path, environment, *options(web, "-d", "crawl", "--delay", "3s"))
    await until_pages(tmp_path / "crawl")
    running = await outrider("status", "crawl")

    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
    async with asyncio.timeout(60):
        out, err = await process.communicate()

    assert running[1].startswith("outrider crawling")
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert out.startswith(b"Stopped by Ctrl-C; nothing is lost.")
    assert b"the same command again goes on with the" in out

    code, told, _ = await outrider("crawl", "-d", "crawl", "--delay", "0")

    assert code == 0
    assert told.startswith("Finished")


async def test_a_killed_crawl_is_told_as_such_and_goes_on(
    outrider: Run, web: Served, tmp_path: Path, environment: dict[str, str]
) -> None:
    process = await started(tmp_path, environment, *options(web, "-d", "crawl", "--delay", "300ms"))
    await until_pages(tmp_path / "crawl")

    os.killpg(process.pid, signal.SIGKILL)
    await process.communicate()

    _, status, _ = await outrider("status", "crawl")
    assert status.startswith("It ended without a word, perhaps killed; nothing is lost.")
    code, out, _ = await outrider("crawl", "-d", "crawl", "--delay", "0")
    assert (code, out.partition(":")[0]) == (0, "Finished")


async def test_a_full_disk_is_told_and_once_there_is_space_it_goes_on(
    outrider: Run, web: Served, tmp_path: Path, environment: dict[str, str]
) -> None:
    """No file may grow beyond 200 KiB: for those who write, that is a full disk."""
    command = shlex.join([sys.executable, "-m", "outrider", "crawl", *options(web, "-d", "crawl")])
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f"ulimit -f 200; exec {command}"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    )
    async with asyncio.timeout(60):
        _, err = await process.communicate()

    assert process.returncode == 6
    assert b"Traceback" not in err
    told = err.decode().splitlines()[-1]
    assert told.startswith("outrider: ")
    assert "full" in told
    assert "the same command goes on from there" in told

    code, out, _ = await outrider("crawl", *options(web, "-d", "crawl"))

    assert (code, out.partition(":")[0]) == (0, "Finished")


# A directory is one crawl's.


async def test_a_second_crawl_in_one_directory_is_refused(outrider: Run, tmp_path: Path) -> None:
    with CrawlDirectory(tmp_path / "crawl").held():
        code, _, err = await outrider("crawl", *NOBODY, "-d", "crawl")

    assert code == 2
    assert f"another crawl (process {os.getpid()}) is running there" in err


@pytest.fixture
async def begun(outrider: Run, tmp_path: Path) -> Path:
    """A crawl that was begun, and somebody's notes on it."""
    await outrider("crawl", *NOBODY, "-d", "crawl")
    (tmp_path / "crawl" / "notes.txt").touch()
    return tmp_path / "crawl"


async def test_what_binds_is_not_changed_and_the_difference_is_shown(outrider: Run, begun: Path) -> None:
    before = (begun / "outrider.toml").read_text()

    code, _, err = await outrider("crawl", *NOBODY, "-d", "crawl", "--set", "site_by=host")

    assert code == 2
    assert "site_by was domain, is now host; set them back" in err
    assert (begun / "outrider.toml").read_text() == before


async def test_a_broken_database_is_named_with_the_way_out(outrider: Run, begun: Path) -> None:
    for name in ("crawl.db-wal", "crawl.db-shm"):
        (begun / name).unlink(missing_ok=True)
    (begun / "crawl.db").write_bytes(os.urandom(5_000))

    broken = await outrider("crawl", "-d", "crawl")
    anew = await outrider("crawl", *NOBODY, "-d", "crawl", "--fresh", "--yes")

    assert broken[0] == 6
    assert "crawl.db" in broken[2]
    assert "is not a SQLite database" in broken[2]
    assert "--fresh begins anew" in broken[2]
    assert "going on" not in anew[2]
    assert anew[0] == 4
    assert (begun / "notes.txt").exists()


async def test_fresh_discards_nothing_unasked(outrider: Run, begun: Path) -> None:
    before = (begun / "crawl.db").read_bytes()

    code, _, err = await outrider("crawl", *NOBODY, "-d", "crawl", "--fresh")

    assert code == 2
    assert "--fresh would discard an earlier crawl; say --yes as well" in err
    assert (begun / "crawl.db").read_bytes() == before


async def test_fresh_asks_who_is_there_and_heeds_a_no(begun: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "outrider", "crawl", *NOBODY, "-d", "crawl", "--fresh"),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env=environment,
    )
    os.close(theirs)
    os.write(ours, b"n\n")
    async with asyncio.timeout(60):
        _, err = await process.communicate()
    os.close(ours)

    assert process.returncode == 130
    assert b"Discard the crawl in crawl?" in err
    assert (begun / "outrider.toml").exists()


# When it is us who fail.


async def test_a_store_that_a_worker_cannot_open_is_one_sentence(outrider: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    code, _, err = await outrider("crawl", *NOBODY, "-d", "crawl", "--set", f"contents=warc://{tmp_path}/file/archive")

    assert code == 6
    assert "Traceback" not in err
    assert "file/archive" in err.splitlines()[-1]


async def test_workers_that_die_at_once_lead_to_what_they_said(tmp_path: Path, environment: dict[str, str]) -> None:
    """Also those that were forked before the crawl began."""
    spoilt = tmp_path / "spoilt"
    spoilt.mkdir()
    (spoilt / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'outrider.app.worker_process' in sys.orig_argv:\n"
        "    sys.stderr.write('a bug')\n"
        "    os._exit(1)\n"
        "forks = []\n"
        "die_if_first = lambda: len(forks) > 1 or os._exit(1)\n"
        "os.register_at_fork(before=lambda: forks.append(1), after_in_child=die_if_first)\n"
    )
    environment["PYTHONPATH"] = f"{spoilt}:{environment.get('PYTHONPATH', '')}"

    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "outrider", "crawl", *NOBODY, "-d", "crawl", "--workers", "1"),
        cwd=tmp_path,
        env=environment,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(120):
        err = (await command.communicate())[1].decode()

    assert command.returncode == 3
    assert "die as soon as they are started" in err
    named = Path(err.splitlines()[-1].rpartition(" ")[2])
    assert (tmp_path / named).read_text().startswith("a bug")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
async def test_a_crawl_ends_although_nobody_can_hear_it(
    closed: str, web: Served, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Standard descriptors are closed: files of ours would get their numbers."""
    words = shlex.join([sys.executable, "-m", "outrider", "crawl", *options(web, "-d", "crawl", "--max-pages", "2")])
    command = await asyncio.create_subprocess_shell(f"exec {words} {closed}", cwd=tmp_path, env=environment)
    async with asyncio.timeout(120):
        code = await command.wait()

    assert code == 0
