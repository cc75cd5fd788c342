"""The lines of many indexes in one order, whatever state the files are in."""

from pathlib import Path

import pytest

from outrider.errors import StoreError
from outrider.model.capture import Capture
from outrider.model.url import Url
from outrider.ops.export import cdxj
from outrider.ops.export.cdxj import merged_index
from outrider.stores.warc.cdxj import index_line


def line(n: int, file: str) -> bytes:
    capture = Capture("id", Url(f"http://example.org/{n}"), 1.0 + n, 200, (), b"")
    return index_line(capture, "ab", f"{file}.warc.gz", n, 1)


def shelve(home: Path, name: str, lines: list[bytes], *, is_open: bool = False) -> None:
    (home / f"{name}.warc.gz{'.open' if is_open else ''}").touch()
    (home / "indexes").mkdir(exist_ok=True)
    (home / "indexes" / f"{name}.cdxj").write_bytes(b"".join(lines))


def merged(home: Path) -> list[bytes]:
    return list(merged_index(home, home / "indexes"))


def test_many_parts_become_one_in_byte_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than are merged at once, so that some are merged before others."""
    monkeypatch.setattr(cdxj, "_AT_ONCE", 3)
    lines = {name: [line(n, name) for n in range(10)] for name in map("file-{}".format, range(11))}
    for name, some in lines.items():
        shelve(tmp_path, name, sorted(some))

    found = merged(tmp_path)

    assert found == sorted(one for some in lines.values() for one in some)


def test_a_file_that_is_still_written_is_sorted_as_far_as_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdxj, "_PIECE", 4)
    whole = [line(n, "a") for n in range(30)]
    shuffled = [line(n * 7 % 10, "b") for n in range(10)]
    torn = line(99, "b")[:-5]
    shelve(tmp_path, "a", sorted(whole))
    shelve(tmp_path, "b", [*shuffled, torn], is_open=True)

    found = merged(tmp_path)

    assert found == sorted([*whole, *shuffled])


def test_a_line_that_was_said_twice_is_there_once(tmp_path: Path) -> None:
    shelve(tmp_path, "a", [line(1, "a"), line(2, "a"), line(1, "a")], is_open=True)

    assert merged(tmp_path) == [line(1, "a"), line(2, "a")]


def test_a_complete_index_that_is_out_of_order_is_put_in_order(tmp_path: Path) -> None:
    shelve(tmp_path, "a", [line(2, "a"), line(1, "a")])

    assert merged(tmp_path) == [line(1, "a"), line(2, "a")]


@pytest.mark.parametrize("bad", [b"nonsense\n", b"org,example)/ 1 {}\n", b"\xff {\xff\n"])
def test_what_is_no_line_in_a_complete_index_is_said(tmp_path: Path, bad: bytes) -> None:
    shelve(tmp_path, "a", [line(1, "a"), bad])

    with pytest.raises(StoreError, match=r"a\.cdxj line 2: is no line of an index"):
        merged(tmp_path)


def test_no_index_is_no_lines(tmp_path: Path) -> None:
    assert merged(tmp_path) == []
