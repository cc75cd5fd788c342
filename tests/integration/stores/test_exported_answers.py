"""Links are read again from whatever keeps the answers: an archive that is written or damaged, and a cache."""

import os
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.integration.stores.conftest import StartRedis

from outrider.cli import main
from outrider.cli.exit_codes import ExitCode
from outrider.loop import run
from outrider.model.capture import Capture
from outrider.model.record import PageFilter, Record
from outrider.model.url import Url
from outrider.ops.export.links import Unread, edges
from outrider.ports import ContentStore
from outrider.stores.contents import KeptAnswers, open_answers, open_contents
from outrider.stores.memory.records import MemoryRecords
from outrider.stores.records import open_records
from outrider.testing.contracts.records import visit


def content(n: int) -> bytes:
    return f"<a href=/to/{n}>".encode()


def capture(n: int) -> Capture:
    body = content(n)
    return Capture(f"fetch-{n}", Url(f"http://a.org/{n}"), 1.0 + n, 200, (), body, content=body)


def record(n: int, key: str) -> Record:
    body = content(n)
    digest = sha256(body).hexdigest()
    whole = visit(n, f"http://a.org/{n}", content_key=key, content_length=len(body), content_hash=digest)
    return replace(whole, evidence=())


async def keep(contents: ContentStore, numbers: range) -> list[Record]:
    keys = await contents.put([capture(n) for n in numbers])
    await contents.confirm(keys)
    return [record(n, key) for n, key in zip(numbers, keys, strict=True)]


async def targets(answers: KeptAnswers, records: list[Record]) -> tuple[list[str], Unread]:
    store, unread = MemoryRecords(), Unread()
    await store.write(records)
    found = [edge.target async for batch in edges(store, answers, PageFilter(), unread) for edge in batch]
    return found, unread


async def test_an_archive_is_read_while_it_is_written(tmp_path: Path) -> None:
    place = f"warc://{tmp_path}/archive"
    async with open_contents(place) as contents, open_answers(place) as answers:
        records = await keep(contents, range(3))

        found, unread = await targets(answers, records)

    assert found == [f"http://a.org/to/{n}" for n in range(3)]
    assert unread == Unread()


async def test_a_cache_gives_what_it_still_has(start_redis: StartRedis) -> None:
    server = start_redis()
    async with open_contents(server.url) as contents:
        records = await keep(contents, range(3))
    with server.client() as client:
        client.delete(records[1].page.metadata.content_key)  # type: ignore[union-attr]  # it has a page

    async with open_answers(server.url) as answers:
        found, unread = await targets(answers, records)

    assert found == ["http://a.org/to/0", "http://a.org/to/2"]
    assert unread == Unread(gone=1)


def test_a_damaged_archive_costs_what_is_damaged_and_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(_crawled(tmp_path))
    [file] = (tmp_path / "archive").glob("*.warc.gz")
    _flip_a_byte(file, run(_key_of(tmp_path, 1)))

    code = main(["export", "links", str(tmp_path), "-o", str(tmp_path / "links.csv")])

    err = capsys.readouterr().err
    assert code == ExitCode.STORE
    assert "the answers of 1 pages cannot be read" in err
    assert "http://a.org/1: " in err
    lines = (tmp_path / "links.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["target", "http://a.org/to/0", "http://a.org/to/2"]


async def _crawled(home: Path) -> None:
    async with open_contents(f"warc://{home}/archive?indexes={home}/indexes") as contents:
        records = await keep(contents, range(3))
    async with open_records(f"sqlite://{home}/crawl.db") as store:
        await store.write(records)


async def _key_of(home: Path, n: int) -> str:
    async with open_records(f"sqlite://{home}/crawl.db", create=False) as store:
        [found] = await store.find(Url(f"http://a.org/{n}"))
    assert found.page is not None
    return found.page.metadata.content_key or ""


def _flip_a_byte(file: Path, key: str) -> None:
    _, offset, length = key.rsplit(":", 2)
    with file.open("r+b") as archive:
        place = int(offset) + int(length) // 2
        before = os.pread(archive.fileno(), 1, place)
        os.pwrite(archive.fileno(), bytes([before[0] ^ 0xFF]), place)
