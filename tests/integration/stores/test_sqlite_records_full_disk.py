"""A disk that is full: the batch that met it is gone as a whole, one sentence says so, and then it goes on."""

import asyncio
import resource
import signal
import sys
from pathlib import Path

import pytest
from tests.integration.stores.sqlite_records_judges import large, on_record, written

from outrider.errors import StoreError
from outrider.model.record import PageStatus, Record, Tally
from outrider.stores.records import open_records
from outrider.testing.contracts.records import HOME, decision, visit

ROOT = Path(__file__).parents[3]
MODULE = "tests.integration.stores.test_sqlite_records_full_disk"
SMALL = 2 * 1024 * 1024


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


async def test_a_full_disk_costs_the_batch_and_nothing_else(small_disk: Path) -> None:
    path = small_disk / "crawl.db"
    async with open_records(f"sqlite://{path}") as store:
        await store.write([visit(10_000)])

        with pytest.raises(StoreError, match=r"crawl\.db: the disk (is full|failed).*nothing of this was written"):
            await store.write([*large(), Record(decisions=(decision(),))])

        assert await store.tally() == Tally({PageStatus.FETCHED: 1}, 10)
        assert await store.find(HOME) == [visit(10_000)]
        await store.write([visit(10_001)])

    assert await on_record(path) == ["fetch-10000", "fetch-10001"]


async def test_a_disk_that_is_full_from_the_start_is_named(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(SMALL - 8_192))

    with pytest.raises(StoreError, match=r"the disk is full|the disk failed|cannot be opened"):
        await written(small_disk / "crawl.db")

    (small_disk / "filler").unlink()
    await written(small_disk / "crawl.db")
    assert await on_record(small_disk / "crawl.db") == ["fetch-1"]


async def test_a_file_at_its_limit_rolls_the_whole_batch_back(path: Path) -> None:
    """Pages, evidence, decisions and counts are one batch."""
    async with open_records(f"sqlite://{path}?max_pages=60") as store:
        await store.write([visit(10_000)])

        with pytest.raises(StoreError, match="the disk is full, or the file has reached its limit; nothing"):
            await store.write([visit(10_000, code=500), *large(), Record(decisions=(decision(),))])

        assert await store.tally() == Tally({PageStatus.FETCHED: 1}, 10)
        assert await store.find(HOME) == [visit(10_000)]
        await store.write([visit(10_001)])

    assert await on_record(path) == ["fetch-10000", "fetch-10001"]


async def test_a_batch_without_room_does_not_spoil_the_next(path: Path) -> None:
    """Those that were committed together are told alike: none that was answered is lost."""
    async with open_records(f"sqlite://{path}?max_pages=60") as store:
        answers = await asyncio.gather(
            *(store.write(large() if n == 5 else [visit(10_000 + n)]) for n in range(10)), return_exceptions=True
        )
        accepted = {f"fetch-{10_000 + n}" for n, answer in enumerate(answers) if answer is None}
        refused = [answer for answer in answers if answer is not None]

    assert all(isinstance(answer, StoreError) for answer in refused)
    assert answers[5] in refused
    assert set(await on_record(path)) == accepted


@pytest.mark.parametrize("most", [1, 2, 5])
async def test_no_room_for_the_tables_is_one_sentence(path: Path, most: int) -> None:
    with pytest.raises(StoreError, match="the disk is full, or the file has reached its limit"):
        await written(path, options=f"?max_pages={most}")

    await written(path)
    assert await on_record(path) == ["fetch-1"]


async def meet_the_limit(path: Path) -> None:
    """In a process of its own: the limit cannot be taken back."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with open_records(f"sqlite://{path}") as store:
        await store.write([visit(10_000)])
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
        with pytest.raises(StoreError, match=r"(the disk is full|the disk failed).*nothing of this was written"):
            await store.write([*large(), Record(decisions=(decision(),))])
        assert await store.find(HOME) == [visit(10_000)]
        assert await store.tally() == Tally({PageStatus.FETCHED: 1}, 10)
        await store.write([visit(10_001)])


async def test_a_limit_on_file_sizes_costs_the_batch_and_nothing_else(path: Path) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", MODULE, str(path), cwd=ROOT)

    assert await process.wait() == 0

    assert await on_record(path) == ["fetch-10000", "fetch-10001"]


if __name__ == "__main__":
    asyncio.run(meet_the_limit(Path(sys.argv[1])))
