"""Two processes open one fresh file at the same moment, with a frontier in it or without: both can write.

The two stay alive for many files; the parent names a file to both at once, and waits for both answers.
"""

import asyncio
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import closing
from itertools import product
from pathlib import Path

from outrider.model.record import PageStatus, Tally
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import pages_of, visit

ROOT = Path(__file__).parents[3]
MODULE = "tests.integration.stores.test_sqlite_records_at_once"
ROUNDS = 3
WAYS = ("records", "records-frontier", "frontier-records", "frontier")


async def use(path: str, way: str, number: int) -> None:
    url = f"sqlite://{path}"
    for what in way.split("-"):
        if what == "records":
            async with open_records(url) as records:
                await records.write([visit(number)])
        else:
            # A seed of its own would be another rule: the file keeps that of whoever came first.
            async with open_frontier(url, FrontierRules()) as frontier:
                await frontier.add([Task(Url(f"http://s{number}.org/"))])


async def answer(number: int) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        path, way = line.split()
        await use(path, way, number)
        sys.stdout.write("done\n")
        sys.stdout.flush()


async def started(number: int) -> Process:
    command = (sys.executable, "-m", MODULE, str(number))
    return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=ROOT)


async def told(process: Process, line: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line.encode())
    await process.stdin.drain()
    async with asyncio.timeout(60):
        said = await process.stdout.readline()
    if said != b"done\n":
        _, err = await process.communicate()
        raise AssertionError(err.decode())


async def held(path: Path, ways: tuple[str, ...]) -> None:
    """Everybody's is there, once."""
    writers = [number for number, way in enumerate(ways) if "records" in way]
    async with open_records(f"sqlite://{path}") as records:
        assert sorted(page.fetch_id for page in await pages_of(records)) == [f"fetch-{number}" for number in writers]
        assert await records.tally() == (Tally({PageStatus.FETCHED: len(writers)}, 10 * len(writers)))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT version FROM records_migrations").fetchall() == [(1,), (2,)]
    adders = sum("frontier" in way for way in ways)
    if adders:
        async with open_frontier(f"sqlite://{path}", FrontierRules()) as frontier:
            assert (await frontier.census()).discovered == adders


async def test_two_processes_open_a_fresh_file_at_once(tmp_path: Path) -> None:
    processes = [await started(number) for number in range(2)]
    pairs = [ways for ways in product(WAYS, WAYS) if any("records" in way for way in ways)]
    try:
        for number, ways in product(range(ROUNDS), pairs):
            path = tmp_path / f"{number}-{'-and-'.join(ways)}.db"

            await asyncio.gather(
                *(told(process, f"{path} {way}\n") for process, way in zip(processes, ways, strict=True))
            )

            await held(path, ways)
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
            await process.communicate()


if __name__ == "__main__":
    asyncio.run(answer(int(sys.argv[1])))
