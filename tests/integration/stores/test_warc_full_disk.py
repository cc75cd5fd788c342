"""A disk that is full: nothing half-written stays, one sentence says what to do, and then it goes on."""

import asyncio
import os
import resource
import signal
import sys
from pathlib import Path

import pytest
from tests.integration.stores.warc_judges import judge, names, open_file

from outrider.errors import StoreError
from outrider.stores.contents import open_contents
from outrider.testing.contracts.contents import as_kept, capture

ROOT = Path(__file__).parents[3]
MODULE = "tests.integration.stores.test_warc_full_disk"
SMALL = 2 * 1024 * 1024


async def test_a_full_disk_costs_the_batch_and_nothing_else(small_disk: Path) -> None:
    filler = small_disk / "filler"
    archive = small_disk / "archive"
    async with open_contents(f"warc://{archive}") as contents:
        before = await contents.put([capture(0)])
        await contents.confirm(before)
        path = open_file(archive)
        whole = path.read_bytes()
        filler.write_bytes(bytes(SMALL - 400_000))

        with pytest.raises(StoreError, match=r"\.warc\.gz\.open: nothing of this was written: the disk is full; make"):
            await contents.put([capture(1, os.urandom(100_000)), capture(2, os.urandom(500_000))])

        assert path.read_bytes() == whole
        filler.unlink()
        after = await contents.put([capture(3, b"x" * 100_000)])
        await contents.confirm(after)
        assert await contents.get(before[0]) == as_kept(capture(0))
    assert judge(archive).fetch_ids == ["fetch-0", "fetch-3"]


async def test_a_full_disk_does_not_tear_the_index(small_disk: Path) -> None:
    filler = small_disk / "filler"
    archive = small_disk / "archive"
    async with open_contents(f"warc://{archive}") as contents:
        captures = [capture(number) for number in range(600)]
        keys = await contents.put(captures)
        await contents.confirm(keys[:1])
        fill(filler)

        with pytest.raises(StoreError, match=r"\.cdxj: nothing of this was written: the disk is full"):
            await contents.confirm(keys)

        [index] = (archive / "indexes").glob("*.cdxj")
        assert index.read_bytes().count(b"\n") == 1
        filler.unlink()
        await contents.confirm(keys)
    assert len(judge(archive).listed) == 600


def fill(path: Path) -> None:
    """To the last page."""
    with path.open("wb", buffering=0) as file:
        try:
            for _ in range(SMALL):
                file.write(bytes(4096))
        except OSError:
            return
    raise AssertionError("the disk is larger than it should be")


async def meet_the_limit(archive: Path) -> None:
    """In a process of its own: the limit cannot be taken back."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    async with open_contents(f"warc://{archive}?roll=150000") as contents:
        await contents.confirm(await contents.put([capture(0, os.urandom(50_000))]))
        path = open_file(archive)
        whole = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with pytest.raises(StoreError, match=r"\.warc\.gz\.open: .* the file may not grow any more; raise the limit"):
            await contents.put([capture(1, os.urandom(100_000)), capture(2, os.urandom(100_000))])
        assert path.read_bytes() == whole
        await contents.confirm(await contents.put([capture(3, os.urandom(100_000))]))
        await contents.confirm(await contents.put([capture(4, os.urandom(100_000))]))


async def test_a_limit_on_file_sizes_costs_the_batch_and_nothing_else(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", MODULE, str(tmp_path), cwd=ROOT)

    assert await process.wait() == 0

    assert judge(tmp_path).fetch_ids == ["fetch-0", "fetch-3", "fetch-4"]
    assert len(names(tmp_path)) == 2


if __name__ == "__main__":
    asyncio.run(meet_the_limit(Path(sys.argv[1])))
