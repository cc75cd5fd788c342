"""`outrider pages` over many pages: in little memory, with whoever reads going away, and beside a crawl that writes."""

import asyncio
import csv
import io
import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from asyncio.subprocess import PIPE
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.integration.cli.conftest import Run

from outrider.stores.records import open_records
from outrider.testing.contracts.records import visit

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

MANY = 100_000
ROOM = 110
"""Megabytes of memory that the many may take beyond what one page takes."""

_MULTIPLY = """
INSERT INTO pages ({columns})
WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < :many)
SELECT {values} FROM pages, n WHERE id = 1
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by the database from one page: by ourselves it would take a minute."""
    folder = tmp_path_factory.mktemp("many")
    path = folder / "crawl.db"

    async def one() -> None:
        async with open_records(f"sqlite://{path}") as records:
            await records.write([visit(1, "http://example.org/" + "p" * 100, title="t" * 200)])

    asyncio.run(one())
    with closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info (pages)")]
        values = ["n" if name == "id" else "'fetch-' || n" if name == "fetch_id" else name for name in columns]
        asked = _MULTIPLY.format(columns=", ".join(columns), values=", ".join(values))
        connection.execute(asked, {"many": MANY})
        connection.commit()
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "outrider", "pages", *arguments]


def peak(folder: Path, output: Path, environment: dict[str, str], *arguments: str) -> float:
    """Megabytes that the process had at most."""
    with output.open("wb") as out:
        process = subprocess.Popen(command(str(folder), *arguments), stdout=out, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss / 1024


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_many_pages_take_little_memory(many: Path, tmp_path: Path, environment: dict[str, str], form: str) -> None:
    few = peak(many, tmp_path / "few", environment, "--format", form, "--limit", "1")

    taken = peak(many, tmp_path / "all", environment, "--format", form)

    print(f"{form}: {few:.0f} MB for one page, {taken:.0f} MB for {MANY:,}")
    assert taken - few < ROOM
    if form == "parquet":
        assert parquet.read_metadata(tmp_path / "all").num_rows == MANY
    else:
        with (tmp_path / "all").open("rb") as lines:
            assert sum(1 for _ in lines) == MANY + (form == "csv")


@pytest.mark.parametrize("form", ["jsonl", "csv", "table", "parquet"])
async def test_a_reader_that_goes_away_is_no_error(many: Path, environment: dict[str, str], form: str) -> None:
    """As with `| head -1`."""
    process = await asyncio.create_subprocess_exec(
        *command(str(many), "--format", form), stdout=PIPE, stderr=PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None

    first = await process.stdout.read(1)
    process.stdout._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 - a reader cannot be closed otherwise
    async with asyncio.timeout(60):
        err = await process.stderr.read()
        code = await process.wait()

    assert first
    assert (code, err) == (141, b"")


async def test_an_interrupt_leaves_the_old_output_and_no_draft(
    many: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    output = tmp_path / "pages.csv"
    keep(output)
    process = await asyncio.create_subprocess_exec(
        *command(str(many), "--output", str(output)), stdout=PIPE, stderr=PIPE, env=environment
    )

    async with asyncio.timeout(60):
        while process.returncode is None and len(names(tmp_path)) < 2:  # noqa: ASYNC110 - no event crosses processes
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGINT)
        await process.communicate()

    assert process.returncode == 130
    assert names(tmp_path) == ["pages.csv"]
    assert kept(output)


async def test_a_full_disk_leaves_the_old_output_and_no_draft(many: Path, tmp_path: Path) -> None:
    output = tmp_path / "pages.csv"
    keep(output)

    limited = f"ulimit -f 2000; exec {' '.join(command(str(many), '--output', str(output)))}"
    process = await asyncio.create_subprocess_exec("sh", "-c", limited, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()

    assert (process.returncode, out, err.decode()) == (3, b"", f"outrider: {output}: File too large\n")
    assert names(tmp_path) == ["pages.csv"]
    assert kept(output)


async def test_damage_met_on_the_way_leaves_the_old_output_and_no_draft(
    many: Path, outrider: Run, tmp_path: Path
) -> None:
    output = tmp_path / "pages.jsonl"
    keep(output)
    spoil(many / "crawl.db", tmp_path / "spoilt.db")

    code, out, err = await outrider("pages", "--store", "sqlite:spoilt.db", "--output", str(output))

    assert (code, out) == (6, "")
    assert err == "outrider: sqlite:spoilt.db: the file is damaged; restore it from a copy, or begin afresh\n"
    assert names(tmp_path) == ["pages.jsonl", "spoilt.db"]
    assert kept(output)


def keep(output: Path) -> None:
    output.write_text("what was there\n")


def kept(output: Path) -> bool:
    return output.read_text() == "what was there\n"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def spoil(path: Path, copy: Path) -> None:
    """Its second half."""
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    copy.write_bytes(whole[:middle] + b"\xa5" * (len(whole) - middle))


async def test_pages_are_read_while_a_crawl_writes(outrider: Run, tmp_path: Path) -> None:
    """Each reading is of whole batches, in order, and hinders nobody."""
    written = 0
    stop = asyncio.Event()

    async def crawl() -> None:
        nonlocal written
        async with open_records(f"sqlite://{tmp_path}/crawl.db") as records:
            for start in range(0, 20_000, 10):
                await records.write([replace(visit(n), evidence=()) for n in range(start, start + 10)])
                written = start + 10
                begun.set()
                if stop.is_set():
                    return

    begun = asyncio.Event()
    crawling = asyncio.create_task(crawl())
    await begun.wait()
    for form in ("jsonl", "csv", "jsonl"):
        before = written
        code, out, err = await outrider("pages", "--format", form)

        rows = (
            [json.loads(line)["fetchId"] for line in out.splitlines()]
            if form == "jsonl"
            else [row["fetchId"] for row in csv.DictReader(io.StringIO(out))]
        )
        assert (code, err) == (0, "")
        assert before <= len(rows) <= written
        assert len(rows) % 10 == 0
        assert rows == [f"fetch-{n}" for n in range(len(rows))]
    stop.set()
    await crawling


async def test_parquet_is_not_for_a_terminal(many: Path, environment: dict[str, str]) -> None:
    own, theirs = pty.openpty()
    try:
        process = await asyncio.create_subprocess_exec(
            *command(str(many), "--format", "parquet"), stdout=theirs, stderr=PIPE, env=environment
        )
        _, err = await process.communicate()
    finally:
        os.close(theirs)
        os.close(own)

    assert process.returncode == 2
    assert err.decode() == "outrider: Parquet is not for a terminal; use --output FILE, or a pipe\n"
