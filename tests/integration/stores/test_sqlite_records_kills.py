"""Writers are killed at any moment: of every batch all is there or nothing, and the counts are those of the rows.

A writer notes each batch in a file before it writes it and again once it is written; the kernel keeps the notes. Half
of the lives share their file with a frontier.
"""

import asyncio
import os
import random
import sqlite3
import sys
from asyncio.subprocess import PIPE
from collections import Counter
from contextlib import AsyncExitStack, closing
from pathlib import Path

from msgspec.structs import replace

from outrider.model.record import PageFilter, Record, Tally
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.ports import FrontierRules
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier
from outrider.testing.contracts.records import decision, pages_of, visit

ROOT = Path(__file__).parents[3]
MODULE = "tests.integration.stores.test_sqlite_records_kills"
KILLS = int(os.environ.get("KILLS", "16"))
SEED = int(os.environ.get("KILLS_SEED", str(random.randrange(1 << 32))))  # noqa: S311 - any will do, and it is printed
LIFE = 1_000_000
AGAIN = 0.2
"""How many of a batch's visits were on record before: a crash repeats visits, and what is replaced must stay whole."""


def batch_of(number: int, luck: random.Random, before: list[int]) -> list[Record]:
    """`scan_id` says which batch wrote a visit last."""
    new = range(number, number + luck.randint(1, 40))
    again = [n for n in before if luck.random() < AGAIN]
    made = [
        visit(
            n,
            f"http://s{n % 7}.org/{n}",
            f"http://s{n % 7}.org/{number}" if luck.random() < AGAIN else None,
            luck.choice([200, 404, 500]),
            title="t" * luck.randint(0, 2_000),
            wire_length=luck.randint(0, 10_000),
        )
        for n in (*new, *again)
    ]
    pages = [replace(record, page=replace(record.page, scan_id=f"{number}")) for record in made if record.page]
    return [*pages, Record(decisions=tuple(decision(f"http://no.org/{n}") for n in new))]


async def write_until_killed(folder: Path, life: int, *, with_frontier: bool) -> None:
    luck = random.Random(life)  # noqa: S311 - repeatable on purpose
    notes = os.open(folder / "notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    url = f"sqlite://{folder}/crawl.db"
    number = life * LIFE
    before: list[int] = []
    async with AsyncExitStack() as stack:
        records = await stack.enter_async_context(open_records(url))
        frontier = await stack.enter_async_context(open_frontier(url, FrontierRules())) if with_frontier else None
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            batch = batch_of(number, luck, before)
            ids = [int(record.page.fetch_id.removeprefix("fetch-")) for record in batch if record.page]
            before = [n for n in ids if n >= number]
            os.write(notes, f"begun {number} {len(ids)} {len(before)}\n".encode())
            await records.write(batch)
            os.write(notes, f"done {number} {len(ids)} {len(before)}\n".encode())
            if frontier is not None:
                await frontier.add([Task(Url(f"http://s{n % 7}.org/{n}")) for n in before])
            number = before[-1] + 1


async def kill_at_some_moment(folder: Path, life: int, luck: random.Random) -> None:
    command = (sys.executable, "-m", MODULE, str(folder), str(life), str(life % 2))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=ROOT)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"ready\n"
        await asyncio.sleep(luck.uniform(0.0, 0.2))
    finally:
        process.kill()
        await process.communicate()


def noted(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """New visits of each batch that was begun, and of each that its writer was told of."""
    lines = [line.split() for line in (folder / "notes").read_text().splitlines()]
    return (
        {number: int(new) for word, number, _, new in lines if word == "begun"},
        {number: int(new) for word, number, _, new in lines if word == "done"},
    )


def judge(path: Path, begun: dict[str, int], done: dict[str, int]) -> int:
    """How many batches stand that their writer was not told of."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT fetch_id, scan_id FROM pages").fetchall()
        refused = connection.execute("SELECT count(*) FROM decisions").fetchone()[0]
        counted = dict(connection.execute("SELECT name, n FROM record_counts WHERE n"))
        held = dict(connection.execute("SELECT status, count(*) FROM pages GROUP BY 1"))
        length = connection.execute("SELECT coalesce(sum(wire_length), 0) FROM pages").fetchone()[0]
        alone = connection.execute(
            "SELECT (SELECT count(*) FROM pages WHERE id NOT IN (SELECT page FROM proofs)),"
            " (SELECT count(*) FROM proofs WHERE page NOT IN (SELECT id FROM pages)),"
            " (SELECT count(*) FROM page_urls WHERE page NOT IN (SELECT id FROM pages)),"
            " (SELECT count(*) FROM pages WHERE id NOT IN (SELECT page FROM page_urls)),"
            " (SELECT sum(1 + (url != final_url)) FROM pages) - (SELECT count(*) FROM page_urls)"
        ).fetchone()
    new_of = Counter(_batch_of(int(fetch_id.removeprefix("fetch-")), begun) for fetch_id, _ in rows)
    assert {number: new_of[number] for number in done} == done, "a batch that was written is there"
    assert {number: begun[number] for number in new_of} == dict(new_of), "no batch is there in part"
    assert refused == sum(new_of.values()), "decisions come with their batch"
    # Of a life, only the last batch can have been unknown to its writer, so each replaced visit tells a later batch.
    assert {scan for _, scan in rows} <= set(new_of)
    assert counted == {name: n for name, n in {**held, "bytes": length}.items() if n}
    assert alone == (0, 0, 0, 0, 0)
    return len(set(new_of) - set(done))


def _batch_of(n: int, begun: dict[str, int]) -> str:
    return next(number for number, new in begun.items() if int(number) <= n < int(number) + new)


async def test_killed_writers_leave_whole_batches_and_a_true_tally(tmp_path: Path) -> None:
    """S1-36: evidence goes in by the batch, and a batch is never there in part, whenever its writer is killed."""
    print(f"{KILLS} kills, KILLS_SEED={SEED}")
    luck = random.Random(SEED)  # noqa: S311 - repeatable on purpose
    unknown = 0

    for life in range(1, KILLS + 1):
        await kill_at_some_moment(tmp_path, life, luck)
        begun, done = noted(tmp_path)
        unknown = judge(tmp_path / "crawl.db", begun, done)
    async with open_records(f"sqlite://{tmp_path}/crawl.db", create=False) as records:
        pages = await pages_of(records, PageFilter())
        tally = await records.tally()

    begun, done = noted(tmp_path)
    print(f"{len(pages)} pages, {len(begun)} batches begun, {len(done)} answered, {unknown} stand unanswered")
    assert tally == Tally(
        dict(Counter(page.metadata.status for page in pages)), sum(page.metadata.wire_length for page in pages)
    )
    assert len(done) > KILLS, "the writers came to write"
    assert len(begun) > len(done), "and were killed while they did"


if __name__ == "__main__":
    asyncio.run(write_until_killed(Path(sys.argv[1]), int(sys.argv[2]), with_frontier=sys.argv[3] == "1"))
