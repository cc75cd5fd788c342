"""Nothing is lost between Redis and the files, wherever the story is cut; a disk that fails says so in one sentence."""

import os
import re
import resource
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import cast

import pytest
from tests.e2e.frontier_kills import INTERVAL, SITES, crawl_through_kills
from tests.integration.stores.conftest import StartRedis
from tests.services.redis import RedisServer

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.model.lease import Lease
from outrider.model.ledger import Added, Settled
from outrider.model.outcome import Validators
from outrider.model.settlement import Done
from outrider.model.task import Changes, Task
from outrider.model.url import Url
from outrider.policy.pace import PaceLimits
from outrider.policy.settle import SettleRules
from outrider.ports import FrontierRules
from outrider.stores.place import Place
from outrider.stores.redis_files.frontier import RedisFilesFrontier
from outrider.stores.redis_files.segments import Segment, Segments
from outrider.stores.registry import open_frontier
from outrider.testing.clock import FakeClock

RULES = FrontierRules(settle=SettleRules(pace=PaceLimits(delay=1.0)))
HEAD = 3
QUEUE = re.compile(rb":[qft]:")


class PowerCut(BaseException):
    """The process is gone: nothing behind this line of its program happens."""


class CutBeforeWrite(Segments):
    async def write(self, queue: bytes, items: Sequence[bytes]) -> Segment:  # noqa: ARG002 - the base's signature
        raise PowerCut


class CutAfterWrite(Segments):
    async def write(self, queue: bytes, items: Sequence[bytes]) -> Segment:
        await super().write(queue, items)
        raise PowerCut


class CutAfterRead(Segments):
    async def read(self, queue: bytes, segment: Segment, most: int) -> tuple[list[bytes], Segment | None]:
        await super().read(queue, segment, most)
        raise PowerCut


class CutAfterRefill(Segments):
    async def retire(self, *_: object, **__: object) -> None:
        raise PowerCut


class WithoutGrace(Segments):
    """What was read goes with the next that was read."""

    def __init__(self, folder: Path, place: Place) -> None:
        super().__init__(folder, place, grace=0.0)


class WrittenMeanwhile(Segments):
    """While the file is written, `act` is what another worker does."""

    act: Callable[[], Awaitable[None]]

    async def write(self, queue: bytes, items: Sequence[bytes]) -> Segment:
        segment = await super().write(queue, items)
        await self.act()
        return segment


class ReadMeanwhile(Segments):
    """The same, while it is read."""

    act: Callable[[], Awaitable[None]]

    async def read(self, queue: bytes, segment: Segment, most: int) -> tuple[list[bytes], Segment | None]:
        found = await super().read(queue, segment, most)
        await self.act()
        return found


def page(number: int) -> Task:
    return Task(Url(f"http://example.com/{number}"))


def url_of(server: RedisServer, folder: Path, head: int = HEAD) -> str:
    return f"redis+files://127.0.0.1:{server.port}/0?files={folder}&head={head}"


def opened(
    server: RedisServer,
    folder: Path,
    clock: FakeClock | None = None,
    kind: type[Segments] = Segments,
    head: int = HEAD,
) -> AbstractAsyncContextManager[RedisFilesFrontier]:
    return _opened(url_of(server, folder, head), clock, kind, folder)


@asynccontextmanager
async def _opened(
    url: str, clock: FakeClock | None, kind: type[Segments], folder: Path
) -> AsyncIterator[RedisFilesFrontier]:
    async with open_frontier(url, RULES, clock) as store:
        frontier = cast("RedisFilesFrontier", store)
        (ours,) = folders_in(folder)
        frontier.segments = kind(ours, Place(url))
        yield frontier


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    made.mkdir()
    return made


def folders_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def segments_in(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.seg"))


def fetched(lease: Lease) -> Settled:
    done = tuple((task, Done(task.url, task.url, 200, Validators(), Changes())) for task in lease.tasks)
    return Settled(lease, lease.site, done)


async def visit_all(frontier: RedisFilesFrontier, clock: FakeClock, at_once: int = 4) -> list[str]:
    """Every task that is lent, in order, settled as fetched."""
    order: list[str] = []
    for _ in range(1_000):
        lent = await frontier.lease(sites=1, tasks=at_once, seconds=60)
        if not lent.leases and lent.next_at is None:
            left = [key for key in await frontier.server.command("KEYS", "*") if QUEUE.search(key)]
            assert left == [], "something is still queued that is not counted"
            return order
        clock.advance(1.0)
        for lease in lent.leases:
            order += [task.url.path for task in lease.tasks]
            await frontier.settle([fetched(lease)])
    raise AssertionError("the frontier does not end")


def paths(*numbers: int) -> list[str]:
    return [f"/{number}" for number in numbers]


async def test_a_long_queue_is_in_files_and_comes_back_in_order(start_redis: StartRedis, folder: Path) -> None:
    """S2-42, H2-4: what comes while part of the queue is in files goes behind it."""
    server, clock = start_redis(), FakeClock(1_000)

    async with opened(server, folder, clock) as frontier:
        await frontier.add([page(number) for number in range(20)])
        await frontier.add([page(number) for number in range(20, 23)])
        with server.client() as client:
            in_redis = client.llen("{outrider:0}:q:0:example.com"), client.llen("{outrider:0}:t:0:example.com")
        files = len(segments_in(folder))
        census = await frontier.census()
        order = await visit_all(frontier, clock)
        after = await frontier.census()

    assert in_redis == (HEAD, 3)
    assert files == 1
    assert (census.pending, census.discovered, census.adds_up) == (23, 23, True)
    assert order == paths(*range(23))
    assert (after.fetched, after.adds_up, after.is_finished) == (23, True, True)


async def test_what_is_in_files_is_in_the_ledger(start_redis: StartRedis, folder: Path) -> None:
    server = start_redis()

    async with opened(server, folder) as frontier:
        await frontier.add([page(number) for number in range(20)])
        entries = [entry.url.path async for batch in frontier.entries() for entry in batch]
        found = await frontier.find(page(17).url)
        bare = [key async for batch in frontier.hashes() for key in batch]
        again = await frontier.add([page(17)])

    assert entries == paths(*range(20))
    assert found is not None
    assert found.url == page(17).url
    assert bare == []
    assert again == [Added.KNOWN]


@pytest.mark.parametrize("cut", [CutBeforeWrite, CutAfterWrite])
async def test_a_cut_while_spilling_loses_nothing(start_redis: StartRedis, folder: Path, cut: type[Segments]) -> None:
    """H0-4, H2-21: before the file, or between the file and the script that names it."""
    server, clock = start_redis(), FakeClock(1_000)
    async with opened(server, folder, clock, cut) as frontier:
        with pytest.raises(PowerCut):
            await frontier.add([page(number) for number in range(20)])

    async with opened(server, folder, clock) as frontier:
        census = await frontier.census()
        await frontier.add([page(number) for number in range(15, 25)])
        order = await visit_all(frontier, clock)

    assert (census.pending, census.adds_up) == (20, True)
    assert order == paths(*range(25))


@pytest.mark.parametrize("cut", [CutAfterRead, CutAfterRefill])
async def test_a_cut_while_filling_in_loses_nothing(start_redis: StartRedis, folder: Path, cut: type[Segments]) -> None:
    """Before the script that puts the items back, or between it and the farewell to the file."""
    server, clock = start_redis(), FakeClock(1_000)
    async with opened(server, folder, clock) as frontier:
        await frontier.add([page(number) for number in range(20)])
    async with opened(server, folder, clock, cut) as frontier:
        with pytest.raises(PowerCut):
            await visit_all(frontier, clock, at_once=20)

    async with opened(server, folder, clock) as frontier:
        census = await frontier.census()
        entries = [entry.url.path async for batch in frontier.entries() for entry in batch]
        order = await visit_all(frontier, clock)

    assert (census.pending, census.adds_up) == (20, True)
    assert entries == order == paths(*range(20))


async def test_a_server_that_forgot_its_last_second_finds_the_file_again(start_redis: StartRedis, folder: Path) -> None:
    """A segment that was read is kept: the server may come back as it was before."""
    server, clock = start_redis(), FakeClock(1_000)
    async with opened(server, folder, clock) as frontier:
        await frontier.add([page(number) for number in range(20)])
        with server.client() as client:
            client.save()
        for path in segments_in(folder):
            os.utime(path, (0, 0))  # written long ago, and read just now
        await visit_all(frontier, clock)
    server.kill()
    server.start()

    async with opened(server, folder, clock) as frontier:
        order = await visit_all(frontier, clock)

    assert order == paths(*range(20))


async def test_files_that_were_read_and_files_of_the_dead_are_swept(start_redis: StartRedis, folder: Path) -> None:
    """S2-42: the disk does not fill up with what nobody will ask for."""
    server, clock = start_redis(), FakeClock(1_000)
    async with opened(server, folder, clock, CutAfterWrite) as frontier:
        with pytest.raises(PowerCut):
            await frontier.add([page(number) for number in range(10)])
    (orphan,) = segments_in(folder)

    async with opened(server, folder, clock, WithoutGrace) as frontier:
        await frontier.add([page(number) for number in range(10, 30)])
        await frontier.add([page(number) for number in range(30, 50)])
        written = segments_in(folder)
        order = await visit_all(frontier, clock)
    left = segments_in(folder)

    assert order == paths(*range(50))
    assert orphan in written
    assert len(written) == 3
    assert orphan not in left
    assert len(left) <= 1


@pytest.mark.parametrize("others_head", [HEAD, 100], ids=["who spills the same", "who does not spill"])
async def test_what_others_do_while_a_file_is_written_keeps_the_order(
    start_redis: StartRedis, folder: Path, others_head: int
) -> None:
    """Another takes tasks from the front and adds behind: what was written counts, or is thrown away whole."""
    server, clock = start_redis(), FakeClock(1_000)
    async with (
        opened(server, folder, clock, head=others_head) as other,
        opened(server, folder, clock, WrittenMeanwhile) as frontier,
    ):

        async def meanwhile() -> None:
            lent = await other.lease(sites=1, tasks=2, seconds=60)
            await other.add([page(number) for number in range(20, 40)])
            await other.release(lent.leases)

        cast("WrittenMeanwhile", frontier.segments).act = meanwhile
        await frontier.add([page(number) for number in range(20)])
        clock.advance(1.0)
        order = await visit_all(other, clock)
        census = await other.census()

    assert order == paths(*range(40))
    assert (census.fetched, census.adds_up) == (40, True)


@pytest.mark.parametrize("taken", [1, 4, 5, 9, 20])
async def test_a_file_that_two_read_at_once_is_filled_in_once(
    start_redis: StartRedis, folder: Path, taken: int
) -> None:
    """Another fills in the same part, and visits some of it: whoever comes second shows less, and never out of turn."""
    server, clock = start_redis(), FakeClock(1_000)
    visited: list[str] = []
    async with opened(server, folder, clock) as other, opened(server, folder, clock, ReadMeanwhile) as frontier:

        async def meanwhile() -> None:
            (lease,) = (await other.lease(sites=1, tasks=taken, seconds=60)).leases
            await other.settle([fetched(lease)])
            visited.extend(task.url.path for task in lease.tasks)
            await other.add([Task(page(number).url, priority=-1) for number in (20, 21)])
            clock.advance(1.0)

        cast("ReadMeanwhile", frontier.segments).act = meanwhile
        await other.add([page(number) for number in range(20)])
        for lease in (await frontier.lease(sites=1, tasks=5, seconds=60)).leases:
            visited.extend(task.url.path for task in lease.tasks)
            await frontier.settle([fetched(lease)])
        clock.advance(1.0)
        order = visited + await visit_all(other, clock)
        census = await other.census()

    assert order == paths(*range(22))
    assert (census.fetched, census.adds_up) == (22, True)


async def test_killed_workers_lose_no_task_and_shorten_no_gap(start_redis: StartRedis, folder: Path) -> None:
    """H0-4, H0-5, H2-21: real processes, killed at any moment, with nearly every task in files."""
    server = start_redis()

    story = await crawl_through_kills(url_of(server, folder, head=1), folder.parent, kills=20, pages=60, seed=7)

    pages = SITES * 60
    assert (story.census.discovered, story.census.fetched, story.census.adds_up) == (pages, pages, True)
    assert set(story.settled.values()) == {1}
    assert len(segments_in(folder)) > SITES
    assert story.shortest_gap >= INTERVAL - 1e-6


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """As a full disk does it: the beginning of the file is written, the rest is refused."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_is_said_and_nothing_is_half_written(start_redis: StartRedis, folder: Path) -> None:
    server, clock = start_redis(), FakeClock(1_000)
    async with opened(server, folder, clock) as frontier:
        with (
            no_file_longer_than(50),
            pytest.raises(StoreError, match=r"cannot write .*\.seg: File too large") as caught,
        ):
            await frontier.add([page(number) for number in range(20)])
        census, files = await frontier.census(), segments_in(folder)
        order = await visit_all(frontier, clock)

    assert not isinstance(caught.value, StoreUnavailable)
    assert files == []
    assert (census.pending, census.adds_up) == (20, True)
    assert order == paths(*range(20))


async def test_a_full_server_still_lends_what_is_in_files(start_redis: StartRedis, folder: Path) -> None:
    """H2-6."""
    server, clock = start_redis("--maxmemory-policy", "noeviction"), FakeClock(1_000)
    async with opened(server, folder, clock) as frontier:
        await frontier.add([page(number) for number in range(20)])
        with server.client() as client:
            client.config_set("maxmemory", 1)
        lent = await frontier.lease(sites=1, tasks=10, seconds=60)

    assert [task.url.path for task in lent.leases[0].tasks] == paths(*range(10))


async def test_a_damaged_file_is_said_and_not_read(start_redis: StartRedis, folder: Path) -> None:
    server, clock = start_redis(), FakeClock(1_000)
    async with opened(server, folder, clock) as frontier:
        await frontier.add([page(number) for number in range(20)])
        (segment,) = segments_in(folder)
        segment.write_bytes(segment.read_bytes()[:30])

        with pytest.raises(StoreError, match="is damaged"):
            await visit_all(frontier, clock)
        census = await frontier.census()

    assert census.adds_up


@pytest.mark.parametrize(("place", "said"), [("nowhere", "No such file"), ("file", "Not a directory")])
async def test_a_folder_that_cannot_be_used_is_said_before_anything_is_written(
    start_redis: StartRedis, tmp_path: Path, place: str, said: str
) -> None:
    server = start_redis()
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=said):
        async with open_frontier(url_of(server, tmp_path / place), RULES):
            pass

    with server.client() as client:
        assert client.dbsize() == 0


async def test_a_folder_without_permission_is_said_so(start_redis: StartRedis) -> None:
    server = start_redis()

    with pytest.raises(StoreError, match="cannot use /sys:"):
        async with open_frontier(url_of(server, Path("/sys")), RULES):
            pass


async def test_another_folder_than_the_others_use_is_noticed(
    start_redis: StartRedis, folder: Path, tmp_path: Path
) -> None:
    server = start_redis()
    other = tmp_path / "other"
    other.mkdir()
    async with opened(server, folder):
        pass

    with pytest.raises(StoreError, match="must see the folder it was made with"):
        async with open_frontier(url_of(server, other), RULES):
            pass

    assert folders_in(other) == []


async def test_a_store_with_files_is_not_opened_without_them(start_redis: StartRedis, folder: Path) -> None:
    """S2-39: from one to the other a frontier is moved; read by the wrong one, it would seem to have lost its tails."""
    server = start_redis()
    async with opened(server, folder):
        pass

    with pytest.raises(ConfigError, match=r"made as redis\+files:"):
        async with open_frontier(server.url, RULES):
            pass


@pytest.mark.parametrize("files", ["", "files=here"])
async def test_the_folder_must_be_named_whole(files: str) -> None:
    with pytest.raises(ConfigError, match="expected the whole path of a folder"):
        async with open_frontier(f"redis+files://127.0.0.1/0?{files}", RULES):
            pass
