"""The status file is there whole or not at all, and knows whether its writer lives."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.unit.observe.crawls import BUSY

from outrider.errors import StoreError
from outrider.observe.status_file import Status, is_running, read_status, whole_status, write_status


def test_a_snapshot_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "status.json"

    write_status(path, BUSY)
    write_status(path, replace(BUSY, at=BUSY.at + 1))

    assert read_status(path) == replace(BUSY, at=BUSY.at + 1)
    assert [found.name for found in path.parent.iterdir()] == ["status.json"]


def test_one_that_an_older_version_wrote_is_read(tmp_path: Path) -> None:
    """It does not say what the time was spent on."""
    path = tmp_path / "status.json"
    write_status(path, BUSY)
    text = path.read_bytes()
    start = text.index(b',"activity":')
    path.write_bytes(text[:start] + text[text.index(b"}", start) + 1 :])

    assert read_status(path) == replace(BUSY, counts=replace(BUSY.counts, activity={}))


def test_no_file_is_no_status(tmp_path: Path) -> None:
    assert read_status(tmp_path / "status.json") is None


@pytest.mark.parametrize("content", [b"", b"{}", b'{"pid": 1', b"\xff\xfe", b"[]"])
def test_something_else_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "status.json").write_bytes(content)

    with pytest.raises(StoreError, match="not a status file"):
        read_status(tmp_path / "status.json")


def test_what_cannot_be_written_is_an_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "status.json").mkdir()

    with pytest.raises(StoreError, match="directory"):
        write_status(tmp_path / "status.json", BUSY)

    assert [found.name for found in tmp_path.iterdir()] == ["status.json"]


def written(path: Path) -> Status:
    status = whole_status(path)
    assert status is not None
    return status


def test_it_runs_while_its_writer_lives_and_has_not_ended(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    write_status(path, BUSY)
    status = written(path)

    assert is_running(status) is True
    assert is_running(replace(status, progress=replace(BUSY, finish="finished"))) is False
    assert is_running(replace(status, began=1)) is False
    assert is_running(replace(status, host="another.example")) is None
    assert status.pid == os.getpid()


def test_a_writer_that_was_killed_does_not_run(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    script = (
        "import sys, os, signal; from pathlib import Path; from outrider.model.progress import Progress;"
        "from outrider.observe.status_file import write_status;"
        "write_status(Path(sys.argv[1]), Progress(1.0, 1.0)); os.kill(os.getpid(), signal.SIGKILL)"
    )

    subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=60)

    assert is_running(written(path)) is False
