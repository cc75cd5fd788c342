"""Mending: whatever a killed process left, what is settled is kept and listed, and the rest is cut off."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.integration.stores.warc_judges import judge, names, open_file

from outrider.errors import StoreError
from outrider.stores.contents import open_contents
from outrider.stores.warc.mend import IsSettled, Mended, Story, mend
from outrider.testing.contracts.contents import as_kept, capture

ROOT = Path(__file__).parents[3]
MODULE = "tests.integration.stores.test_warc_mend"


def settled(*numbers: int) -> IsSettled:
    ids = {f"fetch-{number}" for number in numbers}

    async def is_settled(asked: Sequence[Story]) -> list[bool]:
        return [fetch_id in ids for fetch_id, _ in asked]

    return is_settled


async def nobody_asks(_: Sequence[Story]) -> list[bool]:
    raise AssertionError("there was nothing to ask about")


async def abandoned(archive: Path, *, captures: int = 5, confirmed: Sequence[int] = (0, 1)) -> list[str]:
    """What is left of a process that put some captures and confirmed a few of them."""
    async with open_contents(f"warc://{archive}") as contents:
        keys = await contents.put([capture(number) for number in range(captures)])
        await contents.confirm([keys[number] for number in confirmed])
    return keys


def ids(*numbers: int) -> list[str]:
    return [f"fetch-{number}" for number in numbers]


def index_of(archive: Path) -> Path:
    [path] = (archive / "indexes").glob("*.cdxj")
    return path


async def test_what_was_not_settled_is_cut_off(tmp_path: Path) -> None:
    keys = await abandoned(tmp_path)

    mended = await mend(tmp_path, tmp_path / "indexes", settled(2))

    judged = judge(tmp_path)
    assert judged.fetch_ids == judged.listed == ids(0, 1, 2)
    assert (mended.files, mended.kept, mended.rescued, mended.cut, mended.left) == (1, 3, 1, 2, 0)
    assert mended.bytes_cut > 0
    async with open_contents(f"warc://{tmp_path}") as contents:
        assert await contents.get(keys[2]) == as_kept(capture(2))
        assert await contents.get(keys[3]) is None


async def test_all_files_are_asked_about_in_one_question(tmp_path: Path) -> None:
    await abandoned(tmp_path)
    await abandoned(tmp_path, captures=3, confirmed=(0,))
    questions: list[Sequence[Story]] = []

    async def is_settled(asked: Sequence[Story]) -> list[bool]:
        questions.append(asked)
        return [True] * len(asked)

    mended = await mend(tmp_path, tmp_path / "indexes", is_settled)

    page = "http://example.com/page"
    assert questions == [[(f"fetch-{n}", (f"{page}/{n}",)) for n in (2, 3, 4, 1, 2)]]
    assert mended == Mended(files=2, kept=8, rescued=5)
    assert judge(tmp_path).fetch_ids == ids(0, 1, 2, 3, 4, 0, 1, 2)


async def test_mending_again_finds_nothing_to_do(tmp_path: Path) -> None:
    await abandoned(tmp_path)
    await mend(tmp_path, tmp_path / "indexes", settled(2))
    before = judge(tmp_path)

    assert await mend(tmp_path, tmp_path / "indexes", nobody_asks) == Mended()

    assert judge(tmp_path) == before


async def test_nothing_to_mend_is_fine(tmp_path: Path) -> None:
    assert await mend(tmp_path / "nowhere", tmp_path / "indexes", nobody_asks) == Mended()


async def test_an_unsettled_capture_between_settled_ones_stays_unlisted(tmp_path: Path) -> None:
    """The places of those behind it are known by now."""
    keys = await abandoned(tmp_path, confirmed=(3,))

    mended = await mend(tmp_path, tmp_path / "indexes", settled(1))

    judged = judge(tmp_path)
    assert judged.fetch_ids == ids(0, 1, 2, 3)
    assert judged.listed == ids(1, 3)
    assert (mended.kept, mended.rescued, mended.left, mended.cut) == (2, 1, 2, 1)
    async with open_contents(f"warc://{tmp_path}") as contents:
        assert await contents.get(keys[3]) == as_kept(capture(3))


async def test_a_file_without_a_settled_capture_is_removed(tmp_path: Path) -> None:
    await abandoned(tmp_path, confirmed=())

    mended = await mend(tmp_path, tmp_path / "indexes", settled())

    assert (mended.files, mended.kept, mended.cut) == (1, 0, 5)
    assert names(tmp_path) == names(tmp_path / "indexes") == []


async def test_a_file_that_was_torn_anywhere_is_made_whole(tmp_path: Path) -> None:
    """Also in its first record, and also when the index was not forced to the disk and is gone."""
    whole = tmp_path / "whole"
    await abandoned(whole, captures=3, confirmed=())
    size = open_file(whole).stat().st_size
    most = 0
    for cut in range(0, size, 23):
        torn = tmp_path / f"torn{cut}"
        shutil.copytree(whole, torn)
        os.truncate(open_file(torn), cut)

        mended = await mend(torn, torn / "indexes", settled(0, 1, 2))

        judged = judge(torn)
        assert judged.fetch_ids == judged.listed == ids(*range(mended.kept)), f"cut at {cut}"
        assert not [name for name in names(torn) if name.endswith(".open")]
        most = max(most, mended.kept)
    assert most == 2, "the last one was always torn"


@pytest.mark.parametrize("tail", [b"\0" * 3_000, b"\x1f\x8b\x08", b"\x1f\x8b" + b"\xff" * 500, b"WARC/1.1\r\n"])
async def test_garbage_behind_the_last_capture_is_cut_off(tmp_path: Path, tail: bytes) -> None:
    """A power cut may leave blocks that were never written."""
    await abandoned(tmp_path, confirmed=(0, 1, 2))
    with open_file(tmp_path).open("ab") as file:
        file.write(tail)

    mended = await mend(tmp_path, tmp_path / "indexes", settled(3, 4))

    assert mended == Mended(files=1, kept=5, rescued=2, bytes_cut=len(tail))
    assert judge(tmp_path).listed == ids(0, 1, 2, 3, 4)


@pytest.mark.parametrize("tail", [b"com,example)/page/2 2023", b"\0" * 64, b"com,example)/page/9 2023 {}\n"])
async def test_a_torn_line_of_the_index_is_asked_about_again(tmp_path: Path, tail: bytes) -> None:
    await abandoned(tmp_path)
    with index_of(tmp_path).open("ab") as file:
        file.write(tail)

    mended = await mend(tmp_path, tmp_path / "indexes", settled(2))

    assert (mended.kept, mended.rescued, mended.cut) == (3, 1, 2)
    assert judge(tmp_path).listed == ids(0, 1, 2)


async def test_a_lost_index_is_made_anew(tmp_path: Path) -> None:
    await abandoned(tmp_path)
    shutil.rmtree(tmp_path / "indexes")

    await mend(tmp_path, tmp_path / "indexes", settled(0, 1, 2))

    assert judge(tmp_path).listed == ids(0, 1, 2)


async def test_a_line_that_points_beyond_the_file_is_not_believed(tmp_path: Path) -> None:
    """Bytes that are listed were synced; but a disk may lie."""
    await abandoned(tmp_path, confirmed=(0, 1, 2, 3))
    path = open_file(tmp_path)
    os.truncate(path, path.stat().st_size // 2)

    mended = await mend(tmp_path, tmp_path / "indexes", settled())

    judged = judge(tmp_path)
    assert judged.listed == ids(*range(mended.kept))
    assert 0 < mended.kept < 4


async def test_damage_in_the_middle_costs_only_itself(tmp_path: Path) -> None:
    keys = await abandoned(tmp_path, confirmed=(0, 3))
    offset = int(keys[1].split(":")[1])
    path = open_file(tmp_path)
    data = bytearray(path.read_bytes())
    data[offset : offset + 20] = b"\xff" * 20
    path.write_bytes(data)

    mended = await mend(tmp_path, tmp_path / "indexes", settled(4))

    assert (mended.kept, mended.rescued) == (3, 1)
    async with open_contents(f"warc://{tmp_path}") as contents:
        for number in (0, 3, 4):
            assert await contents.get(keys[number]) == as_kept(capture(number))


async def test_the_file_of_a_living_process_is_not_touched(tmp_path: Path) -> None:
    async with open_contents(f"warc://{tmp_path}") as contents:
        keys = await contents.put([capture(0), capture(1)])

        assert await mend(tmp_path, tmp_path / "indexes", nobody_asks) == Mended(in_use=1)

        await contents.confirm(keys)
    assert judge(tmp_path).listed == ids(0, 1)


async def test_who_cannot_answer_changes_nothing(tmp_path: Path) -> None:
    async def is_settled(_: Sequence[Story]) -> list[bool]:
        raise StoreError("the frontier is away")

    await abandoned(tmp_path)
    before = open_file(tmp_path).read_bytes()

    with pytest.raises(StoreError, match="the frontier is away"):
        await mend(tmp_path, tmp_path / "indexes", is_settled)

    assert open_file(tmp_path).read_bytes() == before
    assert (await mend(tmp_path, tmp_path / "indexes", settled(2))).kept == 3


async def test_mending_may_itself_be_killed_at_any_step(tmp_path: Path) -> None:
    """Before each of its acts on a file, one after the other; whoever mends then gets the same archive."""
    ruin = tmp_path / "ruin"
    await abandoned(ruin)
    await abandoned(ruin, captures=2, confirmed=())
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", MODULE, str(tmp_path), cwd=ROOT)
    assert await process.wait() == 0

    states = sorted(path for path in names_of_states(tmp_path))
    for state in states:
        await mend(state, state / "indexes", settled(2))
        judged = judge(state)
        assert judged.fetch_ids == judged.listed == ids(0, 1, 2), state
        assert len(names(state)) == len(names(state / "indexes")) == 1, state
    print(f"killed before {len(states) - 1} acts")
    assert len(states) > 8


def names_of_states(folder: Path) -> list[Path]:
    return list(folder.glob("state*"))


def mend_and_die(state: Path, act: int) -> None:
    """Killed before the act of that number, if there are as many."""
    acts = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal acts
        if event in {"open", "os.truncate", "os.rename", "os.remove", "os.mkdir"} and (
            event == "os.truncate" or str(state) in str(arguments[0])
        ):
            acts += 1
            if acts == act:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    asyncio.run(mend(state, state / "indexes", settled(2)))


def main(folder: Path) -> None:
    for act in range(1, 100):
        state = folder / f"state{act:02}"
        shutil.copytree(folder / "ruin", state)
        child = os.fork()
        if child == 0:
            mend_and_die(state, act)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
    raise AssertionError("it does not end")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
