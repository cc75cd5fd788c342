"""Others read what we wrote: warcio checks it, fastwarc reads it, and the index is held against it."""

import gzip
import warnings
from pathlib import Path
from types import SimpleNamespace
from zlib import MAX_WBITS, decompressobj

from msgspec import Struct, json
from warcio.checker import Checker  # type: ignore[import-untyped]  # it ships no types

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc's own, about its old names
    from fastwarc.warc import ArchiveIterator, WarcRecordType


class Judged(Struct, frozen=True):
    """What is in an archive: fetch ids in the order of the file, and those that an index lists."""

    fetch_ids: list[str]
    listed: list[str]
    records: int


def open_file(archive: Path) -> Path:
    """The one that is being written."""
    [path] = archive.glob("*.warc.gz.open")
    return path


def names(archive: Path) -> list[str]:
    return sorted(path.name for path in archive.iterdir() if path.is_file())


def judge(archive: Path, indexes: Path | None = None) -> Judged:
    """Every complete file of a directory; fails unless all of it is sound."""
    fetch_ids: list[str] = []
    listed: list[str] = []
    records = 0
    indexes = indexes or archive / "indexes"
    for path in sorted(archive.glob("*.warc.gz")):
        assert Checker(SimpleNamespace(inputs=[str(path)], verbose=False)).process_all() == 0
        theirs = _read(path)
        records += len(theirs)
        fetch_ids += [fetch_id for _, fetch_id in theirs if fetch_id]
        listed += _listed(path, indexes / path.name.replace(".warc.gz", ".cdxj"))
    return Judged(fetch_ids, listed, records)


def _read(path: Path) -> list[tuple[str, str]]:
    found = []
    for number, record in enumerate(ArchiveIterator(str(path), parse_http=True)):
        assert (record.record_type == WarcRecordType.warcinfo) == (number == 0)
        fetch_id = ""
        if record.record_type == WarcRecordType.response:
            assert record.verify_payload_digest()
        elif record.record_type == WarcRecordType.metadata:
            fetch_id = _fetch_id(record.reader.read())
        found.append((str(record.record_type), fetch_id))
    return found


def _fetch_id(block: bytes) -> str:
    return block.split(b"\r\n")[0].removeprefix(b"fetchId: ").decode()


def _listed(path: Path, index: Path) -> list[str]:
    """Each line of a sorted index points at a member that is the answer it speaks of."""
    data = path.read_bytes()
    lines = index.read_bytes().splitlines(keepends=True)
    assert lines == sorted(set(lines))
    found = []
    for line in lines:
        value = json.decode(line.split(b" ", 2)[2])
        offset, length = int(value["offset"]), int(value["length"])
        assert value["filename"] == path.name
        record = gzip.decompress(data[offset : offset + length])
        assert b"WARC-Type: response\r\n" in record or b"WARC-Type: revisit\r\n" in record
        assert f"WARC-Target-URI: {value['url']}\r\n".encode() in record
        found.append(_following_id(data, offset + length))
    return found


def _following_id(data: bytes, start: int) -> str:
    """In one of the next members: to read all that follow, once for each line, would take minutes."""
    while True:
        member = decompressobj(wbits=MAX_WBITS | 16)
        _, found, after = member.decompress(memoryview(data)[start:]).partition(b"fetchId: ")
        if found:
            return after.split(b"\r\n")[0].decode()
        start = len(data) - len(member.unused_data)
