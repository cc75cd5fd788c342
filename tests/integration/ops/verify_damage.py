"""Ways to spoil a crawl's directory, each as small as it can be: what rots, what is cut, and what somebody edits."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import json
from msgspec.structs import replace

from outrider.model.capture import Capture
from outrider.model.url import Url
from outrider.stores.contents import open_contents
from outrider.stores.warc.cdxj import index_line
from outrider.stores.warc.records import capture_records, packed, payload_digest, warcinfo_record

STRANGER = Url("http://stranger.test/")
_A_PAGE = "(SELECT min(id) FROM pages WHERE status = 'fetched')"


def indexes(home: Path) -> list[Path]:
    return sorted(home.glob("indexes/*.cdxj"))


def flip_a_byte_of_a_body(home: Path) -> None:
    """In the middle of an answer, as a disk does it."""
    line = _line(_lines(home)[3])
    [path] = home.glob(f"archive/{line['filename']}*")
    data = bytearray(path.read_bytes())
    data[int(line["offset"]) + int(line["length"]) // 2] ^= 0x10
    path.write_bytes(data)


def cut_a_file(home: Path) -> None:
    path = _archive(home)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])


def cut_the_last_record(home: Path) -> None:
    path = _archive(home)
    path.write_bytes(path.read_bytes()[:-1])


def take_a_file_away(home: Path) -> None:
    _archive(home).unlink()


def remove_an_index_line(home: Path) -> None:
    _rewrite(home, lambda lines: lines[:2] + lines[3:])


def remove_an_index(home: Path) -> None:
    indexes(home)[0].unlink()


def duplicate_an_index_line(home: Path) -> None:
    _rewrite(home, lambda lines: [*lines[:3], lines[2], *lines[3:]])


def swap_two_index_lines(home: Path) -> None:
    _rewrite(home, lambda lines: [lines[1], lines[0], *lines[2:]])


def point_an_index_line_elsewhere(home: Path) -> None:
    offset = int(_line(_lines(home)[2])["offset"])
    _edit_line(home, f'"offset":"{offset}"', f'"offset":"{offset + 1}"')


def doctor_the_status_of_an_index_line(home: Path) -> None:
    status = _line(_lines(home)[2])["status"]
    _edit_line(home, f'"status":"{status}"', '"status":"418"')


def damage_an_index_line(home: Path) -> None:
    _edit_line(home, "{", "<")


def add_an_index_without_a_file(home: Path) -> None:
    (home / "indexes" / "outrider-20200101000000-00-00000.cdxj").write_bytes(_lines(home)[0])


def give_a_page_another_hash(home: Path) -> None:
    _edit_page(home, content_hash="0" * 64)


def give_a_page_another_length(home: Path) -> None:
    _edit_page(home, content_length=17)


def give_a_page_another_status(home: Path) -> None:
    _edit_page(home, status_code=418)


def give_a_page_another_url(home: Path) -> None:
    _edit_page(home, url=STRANGER, final_url=STRANGER)


def give_a_page_the_answer_of_another(home: Path) -> None:
    other = "SELECT content_key FROM pages WHERE status = 'fetched' ORDER BY id DESC LIMIT 1"
    _edit_page(home, content_key=_sql(home, other)[0][0])


def give_a_page_a_key_that_is_none(home: Path) -> None:
    _edit_page(home, content_key="../../etc/passwd:0:9")


def take_a_page_its_key(home: Path) -> None:
    _edit_page(home, content_key=None)


def remove_a_page(home: Path) -> None:
    _sql(home, f"DELETE FROM pages WHERE id = {_A_PAGE}")  # noqa: S608 - our own words


def miscount_the_ledger(home: Path) -> None:
    _sql(home, "UPDATE counts SET n = n + 1 WHERE name = 'discovered'")


def archive_a_stranger(home: Path) -> None:
    """An answer that is archived and listed, and of which nobody has a record."""
    asyncio.run(_archived(home.absolute(), _capture()))


def archive_a_body_that_is_not_its_digest(home: Path) -> None:
    asyncio.run(_archived(home.absolute(), _capture("0" * 64)))


def archive_an_answer_with_the_metadata_of_another(home: Path) -> None:
    """By hand, for no writer makes it: index and digests are right."""
    name = "outrider-20200101000000-00-00000.warc.gz"
    capture, other = _capture(), replace(_capture(), fetch_id="other")
    digest = payload_digest(capture)
    info, answer = packed(warcinfo_record(name, 1e9, ())), packed(capture_records(capture, digest)[0])
    (home / "archive" / name).write_bytes(info + answer + packed(capture_records(other, digest)[-1]))
    line = index_line(capture, digest, name, len(info), len(answer))
    (home / "indexes" / name.replace(".warc.gz", ".cdxj")).write_bytes(line)


def remove_an_event(home: Path) -> None:
    path, lines, number = _fetched_event(home)
    path.write_bytes(b"".join(lines[:number] + lines[number + 1 :]))


def doctor_the_hash_of_an_event(home: Path) -> None:
    path, lines, number = _fetched_event(home)
    event = json.decode(lines[number])
    lines[number] = json.encode({**event, "content_hash": "0" * 64}) + b"\n"
    path.write_bytes(b"".join(lines))


def tell_of_a_page_that_never_was(home: Path) -> None:
    path, lines, number = _fetched_event(home)
    event = {**json.decode(lines[number]), "url": str(STRANGER), "fetch_id": "never"}
    path.write_bytes(b"".join([*lines, json.encode(event) + b"\n"]))


def tell_of_a_page_twice(home: Path) -> None:
    path, lines, number = _fetched_event(home)
    path.write_bytes(b"".join([*lines, lines[number]]))


def damage_an_event(home: Path) -> None:
    path, lines, number = _fetched_event(home)
    lines[number] = b"\x00\xff" + lines[number]
    path.write_bytes(b"".join(lines))


def leave_an_event_half_written(home: Path) -> None:
    path, lines, _ = _fetched_event(home)
    path.write_bytes(b"".join(lines) + b'{"type":"webpage_fet')


def leave_it_as_killed(home: Path) -> None:
    """A file that is still open: its last answer waits to be settled, and half a record follows."""
    path = _archive(home)
    with path.open("ab") as file:
        file.write(path.read_bytes()[:40])
    last = max(_lines(home), key=lambda line: int(_line(line)["offset"]))
    _rewrite(home, lambda lines: [line for line in lines if line != last])
    path.rename(path.with_name(f"{path.name}.open"))


def leave_a_capture_half_written(home: Path, records: float) -> None:
    """So many of its records, by the process that was killed meanwhile."""
    path = _archive(home)
    capture = replace(_capture(), request=b"GET / HTTP/1.1\r\n\r\n")
    members = [packed(record) for record in capture_records(capture, payload_digest(capture))]
    whole = int(records)
    half = members[whole][: round(len(members[whole]) * (records - whole))]
    with path.open("ab") as file:
        file.write(b"".join(members[:whole]) + half)
    path.rename(path.with_name(f"{path.name}.open"))


def leave_a_file_just_begun(home: Path) -> None:
    """Killed within the first record."""
    data = _archive(home).read_bytes()[:50]
    (home / "archive" / "outrider-20200101000000-00-00000.warc.gz.open").write_bytes(data)


def _archive(home: Path) -> Path:
    return home / "archive" / str(_line(_lines(home)[0])["filename"])


def _lines(home: Path) -> list[bytes]:
    return indexes(home)[0].read_bytes().splitlines(keepends=True)


def _line(text: bytes) -> dict[str, Any]:
    line: dict[str, Any] = json.decode(text.split(b" ", 2)[2])
    return line


def _rewrite(home: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    lines = _lines(home)
    indexes(home)[0].write_bytes(b"".join(change(lines)))


def _edit_line(home: Path, old: str, new: str) -> None:
    lines = _lines(home)
    edited = lines[2].replace(old.encode(), new.encode())
    assert edited != lines[2]
    _rewrite(home, lambda lines: [*lines[:2], edited, *lines[3:]])


def _edit_page(home: Path, **columns: object) -> None:
    names = ", ".join(f"{name} = ?" for name in columns)
    _sql(home, f"UPDATE pages SET {names} WHERE id = {_A_PAGE}", *columns.values())  # noqa: S608 - our own words


def _sql(home: Path, statement: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(home / "crawl.db")) as connection:
        rows = connection.execute(statement, values).fetchall()
        connection.commit()
    return rows


def _fetched_event(home: Path) -> tuple[Path, list[bytes], int]:
    for path in sorted(home.glob("events/*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines):
            if line.startswith(b'{"type":"webpage_fetched"'):
                return path, lines, number
    raise AssertionError("no page was told of")


def _capture(digest: str | None = None) -> Capture:
    return Capture("stranger", STRANGER, 1e9, 200, (), b"<p>nobody knows me</p>", payload_sha256=digest)


async def _archived(home: Path, capture: Capture) -> None:
    place = f"warc://{home}/archive?worker=77&indexes={home}/indexes"
    async with open_contents(place) as contents:
        await contents.confirm(await contents.put([capture]))
