"""Files of an archive: whole, named by nobody else, and readable by others."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.integration.stores.warc_judges import judge, names, open_file

from outrider.errors import StoreError
from outrider.model.capture import Capture, Unchanged
from outrider.model.outcome import Hop
from outrider.model.url import Url
from outrider.stores.contents import open_contents
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.contents import START, as_kept, capture

ROOT = Path(__file__).parents[3]


def every_kind() -> list[Capture]:
    hop = Hop(Url("http://example.com/old"), 301, (("Location", "/"),), "/", START, address="127.0.0.1")
    chunked = (("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip"))
    return [
        capture(0),
        replace(capture(1), request=b"", http_version="2"),
        replace(capture(2), headers=chunked),
        replace(capture(3), truncated=True, headers=(("Content-Length", "99"),)),
        replace(capture(4), chain=(hop, hop)),
        replace(capture(5), unchanged=Unchanged.SAME_CONTENT, earlier_at=START - 9),
        replace(capture(6, b""), unchanged=Unchanged.NOT_MODIFIED, earlier_at=START - 9, status=304),
        replace(capture(7), status=404, headers=(), body=b""),
    ]


async def test_other_tools_find_every_record_sound(tmp_path: Path) -> None:
    captures = every_kind()

    async with open_contents(f"warc://{tmp_path}/a?operator=me@example.com&agent=test/1&prefix=T&worker=3") as contents:
        await contents.confirm(await contents.put(captures))

    judged = judge(tmp_path / "a")
    ids = [put.fetch_id for put in captures]
    assert judged.fetch_ids == ids
    assert sorted(judged.listed) == ids
    assert judged.records == 1 + 3 * len(captures) - 1


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.text("abcXYZ-_ ;/=\xe9\xff\t", max_size=12), st.text("ab1,;= \xe9\t", max_size=20))),
            st.binary(max_size=3_000),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_other_tools_find_any_header_and_body_sound(
    tmp_path_factory: pytest.TempPathFactory, answers: list[tuple[list[tuple[str, str]], bytes]]
) -> None:
    archive = tmp_path_factory.mktemp("any")
    captures = [
        replace(
            capture(number, body), headers=tuple((name.strip(" \t"), value.strip(" \t")) for name, value in headers)
        )
        for number, (headers, body) in enumerate(answers)
    ]

    async def write() -> list[Capture | None]:
        async with open_contents(f"warc://{archive}") as contents:
            keys = await contents.put(captures)
            await contents.confirm(keys)
            return [await contents.get(key) for key in keys]

    assert asyncio.run(write()) == [as_kept(put) for put in captures]
    assert judge(archive).fetch_ids == [put.fetch_id for put in captures]


async def test_a_file_is_complete_when_it_is_full_and_settled(tmp_path: Path) -> None:
    async with open_contents(f"warc://{tmp_path}?roll=2000", FakeClock(START)) as contents:
        first = await contents.put([capture(number) for number in range(4)])
        second = await contents.put([capture(9)])
        assert names(tmp_path) == [f"outrider-20231114221320-00-0000{n}.warc.gz.open" for n in (0, 1)]

        await contents.confirm(first)

        full, current = names(tmp_path)
        assert full == "outrider-20231114221320-00-00000.warc.gz"
        assert current == "outrider-20231114221320-00-00001.warc.gz.open"
        assert second[0].startswith("outrider-20231114221320-00-00001.warc.gz:")
        assert await contents.get(first[0]) == as_kept(capture(0))
        await contents.confirm(second)
    assert names(tmp_path) == [f"outrider-20231114221320-00-0000{n}.warc.gz" for n in (0, 1)]
    assert judge(tmp_path).listed == [*(f"fetch-{number}" for number in range(4)), "fetch-9"]


async def test_what_waits_to_be_settled_leaves_its_file_open(tmp_path: Path) -> None:
    async with open_contents(f"warc://{tmp_path}") as contents:
        keys = await contents.put([capture(0), capture(1)])
        await contents.confirm(keys[:1])

    [name] = names(tmp_path)
    assert name.endswith(".warc.gz.open")


async def test_an_archive_that_got_nothing_has_no_file(tmp_path: Path) -> None:
    async with open_contents(f"warc://{tmp_path}/new/archive?indexes={tmp_path}/elsewhere"):
        pass

    assert names(tmp_path / "new" / "archive") == []
    assert (tmp_path / "elsewhere").is_dir()


async def test_no_file_is_ever_written_over(tmp_path: Path) -> None:
    """The same moment, worker and counter: each file still gets a name of its own."""
    for number in range(3):
        async with open_contents(f"warc://{tmp_path}", FakeClock(START)) as contents:
            await contents.confirm(await contents.put([capture(number)]))

    assert names(tmp_path) == [f"outrider-20231114221320-00-0000{n}.warc.gz" for n in range(3)]
    assert judge(tmp_path).listed == ["fetch-0", "fetch-1", "fetch-2"]


async def test_after_closing_nothing_is_taken(tmp_path: Path) -> None:
    async with open_contents(f"warc://{tmp_path}") as contents:
        pass

    with pytest.raises(StoreError, match="the archive is closed"):
        await contents.put([capture()])


async def test_damage_is_said_not_passed_on(tmp_path: Path) -> None:
    async with open_contents(f"warc://{tmp_path}") as contents:
        [key] = await contents.put([capture(body=os.urandom(5_000))])
        path = open_file(tmp_path)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)

        with pytest.raises(StoreError, match="cannot be read back"):
            await contents.get(key)
        path.unlink()
        assert await contents.get(key) is None


async def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match=r"file/archive: .*; see to the disk"):
        async with open_contents(f"warc://{tmp_path}/file/archive"):
            pass


WRITER = """
import asyncio, sys
from outrider.stores.contents import open_contents
from outrider.testing.clock import FakeClock
from outrider.testing.contracts.contents import START, capture

async def write(url, first):
    async with open_contents(url, FakeClock(START)) as contents:
        for number in range(first, first + 40, 4):
            await contents.confirm(await contents.put([capture(n) for n in range(number, number + 4)]))

asyncio.run(write(sys.argv[1], int(sys.argv[2])))
"""


async def test_two_processes_share_a_directory_and_no_file(tmp_path: Path) -> None:
    """Even when both believe to be the same worker at the same moment."""
    url = f"warc://{tmp_path}?roll=4000"
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, url, first, cwd=ROOT)
        for first in ("0", "40")
    ]

    assert [await process.wait() for process in processes] == [0, 0]

    judged = judge(tmp_path)
    assert sorted(judged.listed) == sorted(judged.fetch_ids) == sorted(f"fetch-{number}" for number in range(80))
    assert all(name.endswith(".warc.gz") for name in names(tmp_path))
