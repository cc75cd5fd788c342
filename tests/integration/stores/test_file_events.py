"""Event files when processes are killed, disks are full, and several write at once."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outrider.errors import ConfigError, StoreError
from outrider.stores.events import open_events
from outrider.testing.contracts.events import skipped

WRITER = Path(__file__).with_name("event_writer.py")
ROOT = 0


@pytest.fixture
def closed_folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o500)
    return tmp_path


def writer(url: str, batches: int, size: int, limit: int = 0) -> "subprocess.Popen[str]":
    command = [sys.executable, str(WRITER), url, str(batches), str(size), str(limit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Every line of a file, which ends with one."""
    data = path.read_bytes()
    assert data == b"" or data.endswith(b"\n"), f"{path.name} ends with half a line"
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def test_a_line_has_its_type_and_version_first(tmp_path: Path) -> None:
    async with open_events(f"file://{tmp_path}/events?worker=3") as sink:
        await sink.publish([skipped(7)])

    (path,) = files_in(tmp_path / "events")
    assert path.name == "events-03-00001.jsonl"
    assert path.read_text().startswith('{"type":"page_skipped","version":1,"url":"http://example.com/0/7",')
    assert lines_of(path)[0]["at"] == 7.0


async def test_a_file_that_is_full_is_followed_by_the_next(tmp_path: Path) -> None:
    async with open_events(f"file://{tmp_path}?size=1000") as sink:
        for n in range(20):
            await sink.publish([skipped(n)])

    files = files_in(tmp_path)
    assert len(files) > 2
    assert files[0].name == "events-00-00001.jsonl"
    assert all(path.stat().st_size <= 1000 for path in files)
    assert [line["at"] for path in files for line in lines_of(path)] == list(range(20))


async def test_a_batch_larger_than_a_file_is_kept_whole(tmp_path: Path) -> None:
    async with open_events(f"file://{tmp_path}?size=100") as sink:
        await sink.publish([skipped(n) for n in range(50)])

    (path,) = files_in(tmp_path)
    assert len(lines_of(path)) == 50


async def test_half_a_line_is_cut_off_and_its_file_is_left_alone_afterwards(tmp_path: Path) -> None:
    whole = b'{"type":"site_probed","version":1,"at":1.0,"site":"a.org","alive":true}\n'
    torn = tmp_path / "events-05-00001.jsonl"
    torn.write_bytes(whole + whole[:30])
    only_torn = tmp_path / "events-00-00004.jsonl"
    only_torn.write_bytes(b'{"type":"si' * 20_000)
    inode = torn.stat().st_ino

    async with open_events(f"file://{tmp_path}") as sink:
        await sink.publish([skipped(1)])

    assert (torn.read_bytes(), torn.stat().st_ino) == (whole, inode)
    assert only_torn.read_bytes() == b""
    assert [line["at"] for line in lines_of(tmp_path / "events-00-00005.jsonl")] == [1.0]


async def test_after_kills_every_line_is_whole(tmp_path: Path) -> None:
    """H3-5, H2-21: what was said to be published is there, whatever was killed; and nothing is joined."""
    published = 0
    for size in (20, 500, 5_000, 20_000):
        process = writer(f"file://{tmp_path}", 0, size)
        assert process.stdout is not None
        dots = await asyncio.to_thread(process.stdout.read, 2)
        process.kill()
        rest, _ = await asyncio.to_thread(process.communicate)
        published += len(dots + rest) * size
    with (tmp_path / "events-00-00001.jsonl").open("ab") as file:
        file.write(b'{"type":"page_skip')  # should no kill have come in the middle of a line

    async with open_events(f"file://{tmp_path}") as sink:
        await sink.publish([skipped(1)])

    lines = [line for path in files_in(tmp_path) for line in lines_of(path)]
    assert len(lines) >= published + 1
    assert {line["type"] for line in lines} == {"page_skipped"}
    print(f"4 kills, {len(lines):,} lines")


async def test_writers_at_once_do_not_touch_each_other(tmp_path: Path) -> None:
    """Also under one number, and also when one starts while another is in the middle of a line."""
    url = f"file://{tmp_path}?size=20000"
    writers = [writer(url, 30, 20) for _ in range(3)]

    done = [await asyncio.to_thread(process.communicate) for process in writers]

    assert [out for out, _ in done] == ["." * 30] * 3
    found = [line["at"] for path in files_in(tmp_path) for line in lines_of(path)]
    assert sorted(found) == sorted(float(n) for n in range(600) for _ in range(3))


async def test_a_file_that_is_being_written_is_not_healed(tmp_path: Path) -> None:
    async with open_events(f"file://{tmp_path}") as one:
        await one.publish([skipped(1)])
        (path,) = files_in(tmp_path)
        with path.open("ab") as file:
            file.write(b'{"half')

        async with open_events(f"file://{tmp_path}") as other:
            await other.publish([skipped(2)])

        assert path.read_bytes().endswith(b'{"half')
        assert len(lines_of(tmp_path / "events-00-00002.jsonl")) == 1


async def test_a_full_disk_takes_a_batch_back_whole_and_later_ones_are_taken_again(tmp_path: Path) -> None:
    """A batch of 20 events fits into a file of 10,000 bytes a few times, and then not."""
    process = writer(f"file://{tmp_path}", 12, 20, limit=10_000)

    out, err = await asyncio.to_thread(process.communicate)

    assert process.returncode == 0
    assert set(out) == {".", "x"}
    assert out.endswith(".") or out.rstrip("x").count(".") > 2
    assert "nothing of this was written" in err
    lines = [line["at"] for path in files_in(tmp_path) for line in lines_of(path)]
    published = [float(number * 20 + n) for number, letter in enumerate(out) if letter == "." for n in range(20)]
    assert lines == published


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("nofile:///x", "no event sink is named by nofile:; there are file:, kafka:, kafka+ssl:, memory:"),
        ("events", "no event sink is named by nothing:"),
        ("file://host/x", "expected file:///path"),
        ("file:", "expected file:///path"),
        ("file:///x?sise=3", "no such option: sise; it knows size, synchronous, worker"),
        ("file:///x?size=0", "expected a whole number from 1 up"),
        ("file:///x?synchronous=maybe", "expected normal or full"),
        ("memory:?most=none", "expected a whole number"),
        ("memory:?least=1", "no such option: least; it knows most"),
    ],
)
async def test_a_wrong_url_is_one_sentence(url: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        async with open_events(url):
            raise AssertionError("it was opened")

    assert sentence in str(caught.value)


async def test_a_place_that_cannot_be_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="file"):
        async with open_events(f"file://{tmp_path}/file/events"):
            raise AssertionError("it was opened")


@pytest.mark.skipif(os.geteuid() == ROOT, reason="root may write everywhere")
async def test_a_folder_that_may_not_be_written_is_a_store_error(closed_folder: Path) -> None:
    with pytest.raises(StoreError, match="Permission denied"):
        async with open_events(f"file://{closed_folder}"):
            raise AssertionError("it was opened")


async def test_a_disk_that_confirms_each_batch(tmp_path: Path) -> None:
    async with open_events(f"file://{tmp_path}?synchronous=full") as sink:
        await sink.publish([skipped(1)])

    assert [len(lines_of(path)) for path in files_in(tmp_path)] == [1]
