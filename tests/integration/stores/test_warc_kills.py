"""Writers are killed at any moment: every settled capture is there once, and what was not settled is gone.

The frontier is a file to which a writer appends the ids that it settled, one write a line; the kernel keeps it.
"""

import asyncio
import os
import random
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path

from tests.integration.stores.warc_judges import judge, names

from outrider.stores.contents import open_contents
from outrider.stores.warc.mend import Mended, Story, mend
from outrider.testing.contracts.contents import capture

ROOT = Path(__file__).parents[3]
MODULE = "tests.integration.stores.test_warc_kills"
KILLS = int(os.environ.get("KILLS", "20"))
SEED = int(os.environ.get("KILLS_SEED", str(random.randrange(1 << 32))))  # noqa: S311 - any will do, and it is printed
LATE = 3
"""Batches that wait for their confirmation: as in a crawl, settling lags behind."""


async def write_until_killed(folder: Path, life: int) -> None:
    luck = random.Random(life)  # noqa: S311 - repeatable on purpose
    ledger = os.open(folder / "ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    number = life * 1_000_000
    waiting: list[tuple[str, int]] = []
    settled: list[str] = []
    async with open_contents(f"warc://{folder}/archive?roll=300000") as contents:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            batch = range(number, number + luck.randint(1, 12))
            number = batch.stop
            keys = await contents.put([capture(n, luck.randbytes(luck.randint(0, 9_000))) for n in batch])
            waiting += zip(keys, batch, strict=True)
            luck.shuffle(waiting)
            ready, waiting = waiting[LATE * 4 :], waiting[: LATE * 4]
            ready = [
                pair for pair in ready if luck.random() < 0.9
            ]  # a lease may be lost: never settled, never confirmed
            os.write(ledger, "".join(f"fetch-{n}\n" for _, n in ready).encode())
            await contents.confirm(settled)
            settled = [key for key, _ in ready]


async def kill_at_some_moment(folder: Path, life: int, luck: random.Random) -> None:
    command = (sys.executable, "-m", MODULE, str(folder), str(life))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=ROOT)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    await asyncio.sleep(luck.uniform(0.0, 0.15))
    process.kill()
    await process.communicate()


def settled_in(ledger: Path) -> set[str]:
    """A kill may cut a write in two, which no frontier would show: the line that has no end is taken back."""
    text = ledger.read_text()
    whole = text[: text.rfind("\n") + 1]
    os.truncate(ledger, len(whole))
    return set(whole.split())


async def test_killed_writers_lose_no_settled_capture_and_leave_no_other(tmp_path: Path) -> None:
    """H0-4, C29."""
    print(f"{KILLS} kills, KILLS_SEED={SEED}")
    luck = random.Random(SEED)  # noqa: S311 - repeatable on purpose
    total = Mended()
    known: set[str] = set()

    for life in range(1, KILLS + 1):
        await kill_at_some_moment(tmp_path, life, luck)
        known = settled_in(tmp_path / "ledger")

        async def is_settled(asked: Sequence[Story], known: set[str] = known) -> list[bool]:
            return [fetch_id in known for fetch_id, _ in asked]

        mended = await mend(tmp_path / "archive", tmp_path / "archive" / "indexes", is_settled)

        total = Mended(*(getattr(total, name) + getattr(mended, name) for name in Mended.__struct_fields__))
        assert all(name.endswith(".warc.gz") for name in names(tmp_path / "archive"))
    judged = judge(tmp_path / "archive")

    print(f"{len(judged.listed)} captures listed; {total}")
    assert sorted(judged.listed) == sorted(known)
    assert len(set(judged.fetch_ids)) == len(judged.fetch_ids)
    assert set(judged.listed) <= set(judged.fetch_ids)
    assert len(judged.fetch_ids) - len(judged.listed) == total.left, "only between settled ones may others stay"
    assert total.cut > 0
    assert total.rescued > 0


if __name__ == "__main__":
    asyncio.run(write_until_killed(Path(sys.argv[1]), int(sys.argv[2])))
