"""The two S2 layouts come over whole, from a real Redis: nothing lost, nothing twice, nothing touched unasked."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis import Redis
from tests.services.redis import RedisServer

from outrider.model.ledger import Entry, State
from outrider.model.url import Url
from outrider.ops.migrate import Statistics, migrate
from outrider.ports import FrontierRules
from outrider.stores.legacy.layouts import open_layout
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.stores.registry import FrontierStore, open_frontier
from outrider.testing.clock import FakeClock

NOW = 1_000.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    started = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield started
    started.stop()


@pytest.fixture
def redis(server: RedisServer) -> Iterator["Redis"]:
    with server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
async def target(tmp_path: Path) -> AsyncIterator[FrontierStore]:
    async with open_frontier(f"sqlite://{tmp_path}/new.db", FrontierRules(), FakeClock(NOW)) as frontier:
        yield frontier


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files as the hybrid kept them: in folders by shard, one per domain, append only."""
    files = tmp_path / "frontiers"
    (files / "0a").mkdir(parents=True)
    (files / "ff").mkdir()
    return files


@pytest.fixture
def files(folder: Path, server: RedisServer) -> str:
    return f"s2+files://{folder}?redis=127.0.0.1:{server.port}/0"


@pytest.fixture
def lists(server: RedisServer) -> str:
    return f"s2+redis://127.0.0.1:{server.port}/0"


async def migrated(source: str, target: FrontierStore, *, dry_run: bool = False, clean: bool = False) -> Statistics:
    async with open_layout(source) as layout:
        return await migrate(layout, target, batch_size=2, dry_run=dry_run, clean=clean)


async def owed(frontier: FrontierStore) -> list[tuple[str, int]]:
    """URL and depth, in the order in which they came."""
    entries: list[Entry] = [entry async for batch in frontier.entries() for entry in batch]
    tasks = [entry.task for entry in entries if entry.state is State.PENDING and entry.task]
    return [(str(task.url), task.depth) for task in sorted(tasks, key=lambda task: (task.url.host, task.sequence))]


def everything(client: "Redis") -> dict[bytes, object]:
    def value(key: bytes) -> object:
        kind = client.type(key)
        if kind == b"hash":
            return client.hgetall(key.decode())
        return client.lrange(key.decode(), 0, -1) if kind == b"list" else client.get(key)

    return {key: value(key) for key in client.scan_iter()}


async def test_files_are_read_from_where_they_were_left(
    folder: Path, files: str, redis: "Redis", target: FrontierStore
) -> None:
    """S2-4, S2-10, S2-11, S2-13: recursively; the domain is the stem; blank lines are nothing."""
    read = b"http://a.org/old|0\nhttp://a.org/older|1\n"
    (folder / "0a" / "a.org.frontier").write_bytes(read + b"http://a.org/1|2\n\n  \nhttp://a.org/2|0\nhttp://a.org/3|1")
    (folder / "ff" / "b.org.frontier").write_bytes(b"http://www.b.org/|0\r\n")
    (folder / "ff" / "notes.txt").write_bytes(b"http://c.org/|0\n")
    redis.hset("domain:a.org", mapping={"frontier_offset": len(read), "frontier_size": 9, "file_path": "0a/a.org"})

    done = await migrated(files, target)

    assert done == Statistics(domains_processed=2, urls_migrated=4, files_read=2)
    assert await owed(target) == [
        ("http://a.org/1", 2),
        ("http://a.org/2", 0),
        ("http://a.org/3", 1),
        ("http://www.b.org/", 0),
    ]


async def test_of_a_list_the_tail_is_the_oldest(lists: str, redis: "Redis", target: FrontierStore) -> None:
    """S2-2, S2-9, S2-38: all that LLEN counts arrives, and first come stays first."""
    redis.lpush("frontier:a.org", *(f"http://a.org/{n}|0" for n in range(5)))
    redis.lpush("frontier:b.org", "http://b.org/0|7")

    done = await migrated(lists, target)
    lent = await target.lease(sites=1, tasks=5, seconds=60)

    assert done == Statistics(domains_processed=2, urls_migrated=6)
    assert done.urls_migrated == redis.llen("frontier:a.org") + redis.llen("frontier:b.org")
    assert await owed(target) == [*((f"http://a.org/{n}", 0) for n in range(5)), ("http://b.org/0", 7)]
    assert [task.url.path for task in lent.leases[0].tasks] == ["/0", "/1", "/2", "/3", "/4"]


async def test_lines_that_broke_the_old_reader_are_read(lists: str, redis: "Redis", target: FrontierStore) -> None:
    """H2-18: a bar in the URL; H2-23: a bare domain; and bytes that are no UTF-8."""
    redis.rpush("frontier:a.org", b"http://a.org/x|y|3", b"http://a.org/?q=1|2", b"a.org|0", b"a.org:8080/p|1")
    redis.rpush("frontier:b.org", b"http://b.org/caf\xe9|0")

    done = await migrated(lists, target)

    assert done == Statistics(domains_processed=2, urls_migrated=5)
    assert sorted(await owed(target)) == [
        ("http://a.org/", 0),
        ("http://a.org/?q=1", 2),
        ("http://a.org/x|y", 3),
        ("http://a.org:8080/p", 1),
        ("http://b.org/caf%E9", 0),
    ]


async def test_what_cannot_be_read_is_counted_and_the_run_goes_on(
    folder: Path, files: str, redis: "Redis", target: FrontierStore
) -> None:
    """S2-13."""
    (folder / "0a" / "a.org.frontier").mkdir()
    (folder / "0a" / "b.org.frontier").write_bytes(b"http://b.org/1|0\nftp://b.org/|0\nhttp://b.org/2|0\n")
    (folder / "ff" / "c.org.frontier").write_bytes(b"http://c.org/|0\n")
    (folder / "ff" / "d.org.frontier").write_bytes(b"http://d.org/|0\n")
    redis.hset("domain:c.org", "frontier_offset", "soon")

    done = await migrated(files, target)

    assert (done.domains_processed, done.urls_migrated, done.files_read, done.errors) == (4, 3, 2, 3)
    assert [sentence.partition(":")[0] for sentence in done.complaints] == ["a.org", "b.org", "c.org"]
    assert await owed(target) == [("http://b.org/1", 0), ("http://b.org/2", 0), ("http://d.org/", 0)]


@pytest.mark.parametrize("layout", ["files", "lists"])
async def test_a_repeated_run_adds_nothing(
    folder: Path, files: str, lists: str, redis: "Redis", target: FrontierStore, layout: str
) -> None:
    """H2-21: also when the same URL stands in the source twice."""
    lines = [b"http://a.org/1|0", b"http://a.org/2|0", b"http://a.org/1|4"]
    redis.rpush("frontier:a.org", *lines)
    (folder / "a.org.frontier").write_bytes(b"\n".join(lines))
    source = {"files": files, "lists": lists}[layout]

    first = await migrated(source, target)
    again = await migrated(source, target)

    assert (first.urls_migrated, first.urls_known) == (2, 1)
    assert (again.urls_migrated, again.urls_known, again.errors) == (0, 3, 0)
    assert (await target.census()).discovered == 2


@pytest.mark.parametrize("clean", [False, True])
async def test_a_dry_run_writes_nothing_on_either_side(
    folder: Path,
    files: str,
    lists: str,
    redis: "Redis",
    target: FrontierStore,
    clean: bool,  # noqa: FBT001 - a column
) -> None:
    """S2-14."""
    redis.rpush("frontier:a.org", "http://a.org/1|0", "nonsense://|0")
    redis.hset("domain:a.org", mapping={"frontier_offset": 0, "is_excluded": 1, "next_fetch_time": 5})
    (folder / "a.org.frontier").write_bytes(b"http://a.org/1|0\n")
    before = everything(redis)

    from_files = await migrated(files, target, dry_run=True, clean=clean)
    from_lists = await migrated(lists, target, dry_run=True, clean=clean)

    assert (from_files.urls_migrated, from_files.files_read) == (1, 1)
    assert (from_lists.urls_migrated, from_lists.errors) == (1, 1)
    census = await target.census()
    assert (census.discovered, census.sites) == (0, 0)
    assert everything(redis) == before


async def test_what_was_known_of_a_site_comes_along(lists: str, redis: "Redis", target: FrontierStore) -> None:
    """S2-3, S2-20: an exclusion by hand, and when it may next be asked; but not of a stranger in its queue."""
    redis.rpush("frontier:a.org", "http://a.org/|0", "http://stranger.org/|0")
    redis.rpush("frontier:b.org", "http://www.b.org/|0")
    redis.rpush("frontier:c.org", "http://c.org/|0")
    redis.hset("domain:a.org", mapping={"is_excluded": 1, "next_fetch_time": ""})
    redis.hset("domain:b.org", mapping={"is_excluded": 0, "next_fetch_time": NOW + 30.5})

    await migrated(lists, target)
    lent = await target.lease(sites=9, tasks=9, seconds=60)

    sites = {site.key: site async for batch in target.sites() for site in batch}
    assert {key: site.excluded for key, site in sites.items()} == {
        "a.org": True,
        "b.org": False,
        "c.org": False,
        "stranger.org": False,
    }
    assert sites["b.org"].not_before == NOW + 30.5
    assert sorted(lease.site.key for lease in lent.leases) == ["c.org", "stranger.org"]
    assert lent.next_at == NOW + 30.5


async def test_cleaning_drops_the_file_fields_and_nothing_else(
    folder: Path, files: str, redis: "Redis", target: FrontierStore
) -> None:
    """S2-12: after each domain, and at the end of those that have no file any more; a domain with an error is kept."""
    (folder / "a.org.frontier").write_bytes(b"http://a.org/|0\n")
    (folder / "bad.org.frontier").write_bytes(b"http://bad.org/|0\nnonsense://|0\n")
    rest = {b"is_seeded": b"1", b"robots_txt": b"User-agent: *"}
    all_of_it = {**rest, b"file_path": b"x", b"frontier_offset": b"0", b"frontier_size": b"1"}
    for name in ("a.org", "bad.org", "gone.org"):
        redis.hset(f"domain:{name}", items=[part for item in all_of_it.items() for part in item])
    redis.set("domain:of-another-kind", "1")
    redis.set("crawler:shard_count", "4")

    done = await migrated(files, target, clean=True)

    assert (done.urls_migrated, done.errors) == (2, 1)
    assert everything(redis) == {
        b"domain:a.org": rest,
        b"domain:bad.org": all_of_it,
        b"domain:gone.org": rest,
        b"domain:of-another-kind": b"1",
        b"crawler:shard_count": b"4",
    }
    assert (folder / "a.org.frontier").read_bytes() == b"http://a.org/|0\n"


async def test_cleaning_drops_a_list_once_all_of_it_has_moved(
    lists: str, redis: "Redis", target: FrontierStore
) -> None:
    redis.rpush("frontier:a.org", "http://a.org/|0")
    redis.rpush(b"frontier:\xff", "http://b.org/|0")
    redis.rpush("frontier:bad.org", "nonsense://|0", "http://bad.org/|0")
    redis.set("frontier:of-another-kind", "1")
    redis.hset("domain:a.org", "is_seeded", "1")

    done = await migrated(lists, target, clean=True)

    assert (done.domains_processed, done.urls_migrated, done.errors) == (3, 3, 1)
    assert await target.knows([Url("http://a.org/"), Url("http://b.org/"), Url("http://bad.org/")]) == [True] * 3
    assert everything(redis) == {
        b"domain:a.org": {b"is_seeded": b"1"},
        b"frontier:bad.org": [b"nonsense://|0", b"http://bad.org/|0"],
        b"frontier:of-another-kind": b"1",
    }


async def test_progress_is_told_domain_by_domain(lists: str, redis: "Redis") -> None:
    """S2-13."""
    for name in ("a.org", "b.org"):
        redis.rpush(f"frontier:{name}", f"http://{name}/1|0", f"http://{name}/2|0")
    told: list[Statistics] = []

    async with open_layout(lists) as layout:
        await migrate(layout, MemoryFrontier(FrontierRules(), FakeClock(NOW)), tell=told.append)

    assert [(done.domains_processed, done.urls_migrated) for done in told] == [(1, 2), (2, 4)]
