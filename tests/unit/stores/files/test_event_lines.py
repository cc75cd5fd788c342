"""Event files are read by whole lines: merged in the order of time, or as they grow."""

import os
from pathlib import Path

import pytest

from outrider.stores.files import event_lines
from outrider.stores.files.event_lines import Follower, in_time_order


def line(at: float, site: str = "a.org") -> bytes:
    return b'{"type":"site_probed","version":1,"site":"%s","alive":true,"at":%a}\n' % (site.encode(), at)


def open_files() -> int:
    """Zero where the system does not tell."""
    return len(list(Path("/proc/self/fd").glob("*")))


def moments(folder: Path) -> list[float]:
    return [found.at for found in in_time_order(folder)]


def test_files_are_merged_in_the_order_of_time(tmp_path: Path) -> None:
    (tmp_path / "events-00-00001.jsonl").write_bytes(b"".join(line(at) for at in (1, 4, 5, 9)))
    (tmp_path / "events-00-00002.jsonl").write_bytes(b"".join(line(at) for at in (20, 21)))
    (tmp_path / "events-01-00001.jsonl").write_bytes(b"".join(line(at) for at in (2, 3, 6, 30)))
    (tmp_path / "events-02-00001.jsonl").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("not ours")

    assert moments(tmp_path) == [1, 2, 3, 4, 5, 6, 9, 20, 21, 30]


def test_what_a_worker_wrote_a_little_out_of_order_is_put_in_order(tmp_path: Path) -> None:
    (tmp_path / "events-00-00001.jsonl").write_bytes(b"".join(line(at) for at in (3, 1, 2, 7, 5)))
    (tmp_path / "events-01-00001.jsonl").write_bytes(b"".join(line(at) for at in (6, 4)))

    assert moments(tmp_path) == [1, 2, 3, 4, 5, 6, 7]


def test_half_a_line_is_not_there_yet_and_a_damaged_one_is_marked(tmp_path: Path) -> None:
    whole = line(1.0) + b"{]\n" + b"\xff\xff\n" + b'{"type":3}\n' + line(2.0)
    (tmp_path / "events-00-00001.jsonl").write_bytes(whole + line(3.0)[:-1])

    found = list(in_time_order(tmp_path))

    assert [each.at for each in found if each.head is not None] == [1.0, 2.0]
    assert [each.text for each in found if each.head is None] == [b"{]", b"\xff\xff", b'{"type":3}']


def test_few_files_are_open_at_once(tmp_path: Path) -> None:
    """A crawl of weeks rolls over a thousand times."""
    for serial in range(50):
        (tmp_path / f"events-00-{serial:05}.jsonl").write_bytes(line(serial) * 2)

    before = open_files()
    most = max(open_files() for _ in in_time_order(tmp_path))

    assert most <= before + 2


def test_a_follower_hears_what_comes_and_nothing_twice(tmp_path: Path) -> None:
    old, new = tmp_path / "events-00-00001.jsonl", tmp_path / "events-01-00001.jsonl"
    old.write_bytes(line(1.0) + line(2.0)[:20])
    follower = Follower(tmp_path)

    assert list(follower.news()) == []
    with old.open("ab") as file:
        file.write(line(2.0)[20:])
    new.write_bytes(line(3.0) + line(4.0)[:10])
    assert [each.at for each in follower.news()] == [2.0, 3.0]
    assert list(follower.news()) == []
    with new.open("ab") as file:
        file.write(line(4.0)[10:])
    assert [each.at for each in follower.news()] == [4.0]


def test_a_torn_end_that_is_cut_off_was_never_read(tmp_path: Path) -> None:
    """The next writer cuts it, and begins a new file."""
    torn = tmp_path / "events-00-00001.jsonl"
    torn.write_bytes(line(1.0))
    follower = Follower(tmp_path)

    with torn.open("ab") as file:
        file.write(line(2.0) + line(9.0)[:30])
    assert [each.at for each in follower.news()] == [2.0]
    os.truncate(torn, len(line(1.0) + line(2.0)))
    (tmp_path / "events-00-00002.jsonl").write_bytes(line(3.0))
    assert [each.at for each in follower.news()] == [3.0]


def test_a_line_longer_than_a_step_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_lines, "_STEP", 64)
    path = tmp_path / "events-00-00001.jsonl"
    path.write_bytes(line(1.0, "x" * 500) + line(2.0)[:70])
    follower = Follower(tmp_path)

    with path.open("ab") as file:
        file.write(line(2.0)[70:] + line(3.0, "y" * 500) + line(4.0))

    assert [each.at for each in follower.news()] == [2.0, 3.0, 4.0]
