"""A body is written whole or not at all."""

import os
import resource
import stat
import threading
from pathlib import Path

import pytest

from outrider.cli.body_file import check_target, write_body
from outrider.errors import ConfigError


def test_a_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_body(tmp_path / "page.html", b"<p>")

    assert (tmp_path / "page.html").read_bytes() == b"<p>"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_file_that_was_there_is_replaced_and_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"something longer than the new body")
    target.chmod(0o640)

    write_body(target, b"new")

    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_obeys_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_body(tmp_path / "page.html", b"new")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


def test_when_the_disk_takes_only_half_the_old_file_stays_and_no_draft_is_left(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_body(target, b"new" * 1_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")

    write_body(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()

    write_body(pipe, b"through")
    reader.join(timeout=60)

    assert got == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_place_that_cannot_be_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="that is a folder"):
        check_target(tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        check_target(tmp_path / "missing" / "page.html")
    with pytest.raises(ConfigError, match="File name too long"):
        check_target(tmp_path / ("x" * 300))
    check_target(tmp_path / "page.html")
    check_target(Path("-"))
