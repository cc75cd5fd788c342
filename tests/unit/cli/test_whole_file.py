"""An output is there whole or not at all, and what was there before stays until then."""

import os
import resource
import stat
import threading
from pathlib import Path

import pytest

from outrider.cli.whole_file import STDOUT, output_to
from outrider.errors import ConfigError


class Broken(Exception):
    """Something went wrong half-way."""


def write(path: Path, *parts: bytes) -> None:
    with output_to(path, "--output") as out:
        for part in parts:
            out.write(part)


def break_off(path: Path, error: BaseException) -> None:
    with output_to(path, "--output") as out:
        out.write(b"new" * 100_000)
        raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write(tmp_path / "pages.csv", b"a", b"b")

    assert (tmp_path / "pages.csv").read_bytes() == b"ab"
    assert names(tmp_path) == ["pages.csv"]


def test_until_it_is_whole_the_old_one_is_there(tmp_path: Path) -> None:
    target = tmp_path / "pages.csv"
    target.write_bytes(b"old")

    with output_to(target, "--output") as out:
        out.write(b"new")
        out.flush()
        during = target.read_bytes()

    assert (during, target.read_bytes()) == (b"old", b"new")


def test_a_failure_half_way_keeps_the_old_one_and_leaves_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "pages.csv"
    target.write_bytes(b"old")

    with pytest.raises(Broken):
        break_off(target, Broken())

    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["pages.csv"]


def test_a_failure_half_way_makes_no_file_where_there_was_none(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        break_off(tmp_path / "pages.csv", KeyboardInterrupt())

    assert names(tmp_path) == []


def test_a_disk_that_takes_only_half_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    target = tmp_path / "pages.csv"
    target.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            write(target, b"new" * 1_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert caught.value.filename == str(target)
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["pages.csv"]


def test_a_file_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "pages.csv"
    target.write_bytes(b"old")
    target.chmod(0o640)

    write(target, b"new")

    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "pages.csv", b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "pages.csv").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")

    write(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


@pytest.mark.parametrize("name", ["n" * 255, "日" * 85, "\U0001f577" * 63, os.fsdecode(b"\xff")], ids=range(4))
def test_a_name_may_be_as_long_as_a_name_can_be(tmp_path: Path, name: str) -> None:
    write(tmp_path / name, b"new")

    assert (tmp_path / name).read_bytes() == b"new"
    assert names(tmp_path) == [name]


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()

    write(pipe, b"new")
    reader.join()

    assert read == [b"new"]
    assert pipe.is_fifo()


def test_a_dash_is_the_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    write(STDOUT, b"new")

    assert capfdbinary.readouterr().out == b"new"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "that is a folder; name a file in it"),
        ("nowhere/pages.csv", "there is no folder '.*/nowhere'"),
        ("file/pages.csv", "there is no folder '.*/file'"),
        ("astray", "there is no folder '.*/nowhere'"),
        ("loop", "Too many levels of symbolic links"),
        ("n" * 256, "File name too long"),
    ],
)
def test_where_nothing_can_be_written_one_sentence_says_why(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "astray").symlink_to(tmp_path / "nowhere" / "pages.csv")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    before = names(tmp_path)

    with pytest.raises(ConfigError, match=rf"(?s)--output '.*': .*({said})"):
        write(tmp_path / name, b"new")

    assert names(tmp_path) == before
