"""What a schedule remembers of its turns: there whole or not at all, and held by one."""

from pathlib import Path

import pytest

from outrider.errors import ConfigError, StoreError
from outrider.policy.schedule import Edition, Turn
from outrider.stores.files.turns import held, read_turns, write_turns

TURNS = {"news/seeds a.txt": Turn(1.5, 2.5, 3.5, Edition(10, "d", 7), 4), "news/url b": Turn(1.0, 1.0, 1.0, given=1)}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    file = tmp_path / "turns.json"

    write_turns(file, {})
    write_turns(file, TURNS)

    assert read_turns(file) == TURNS
    assert [path.name for path in tmp_path.iterdir()] == ["turns.json"]


def test_no_file_means_that_nothing_was_fed(tmp_path: Path) -> None:
    assert read_turns(tmp_path / "none.json") == {}


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"turns": 5}', b"\xff"])
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "turns.json"
    file.write_bytes(content)

    with pytest.raises(StoreError, match="what was fed before cannot be read"):
        read_turns(file)


def test_where_nothing_can_be_written_is_said(tmp_path: Path) -> None:
    nowhere = tmp_path / "none" / "turns.json"

    with pytest.raises(StoreError, match="No such file or directory"):
        write_turns(nowhere, TURNS)
    with pytest.raises(StoreError, match="No such file or directory"), held(nowhere):
        pass
    with pytest.raises(StoreError, match="Is a directory"):
        read_turns(tmp_path)


def test_a_second_one_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "turns.json"

    with held(file), pytest.raises(ConfigError, match="another scheduler is at work with it"), held(file):
        pass
    with held(file):
        pass
