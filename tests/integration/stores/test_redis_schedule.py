"""One script takes a turn, gives its entries and remembers it, whoever else tries at the same moment."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from redis import Redis
from tests.services.redis import RedisServer

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.model.url import Url
from outrider.policy.schedule import Begin, Due, Edition, Fed, Kind, Look, Source, Step, serve
from outrider.stores.place import Place
from outrider.stores.queues import open_queue
from outrider.stores.redis.schedule import RedisSchedule

QUEUE = "crawler_queue"
PAGE = Source(Kind.URL, "https://example.org/ä", 60.0, schedule="news")
SEEDS = Source(Kind.SEEDS, "seeds.txt", None, schedule="news")
URLS = [Url(f"https://example.org/{n}") for n in range(2_500)]
WHOLE = Edition(len(URLS), "digest", 1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()


@pytest.fixture
def redis(server: RedisServer) -> Iterator["Redis"]:
    with server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
async def queue(server: RedisServer, redis: "Redis") -> AsyncIterator[RedisSchedule]:
    del redis
    async with RedisSchedule.open(Place(server.url), QUEUE, 1_000) as queue:
        yield queue


def step_of(source: Source, look: Look, urls: list[Url], edition: Edition | None = None) -> Step:
    """As the engine would decide it, with all that is left of the list."""
    last = look.turns.get(source.name)
    service = serve(Due(source, look.now), last, edition or Edition(), look.now)
    assert isinstance(service, Begin)
    return Step(source, urls[service.turn.given :], service.turn, last)


async def test_entries_are_bare_urls_unless_there_is_more_to_say(queue: RedisSchedule, redis: "Redis") -> None:
    sources = [
        PAGE,
        Source(Kind.URL, "https://example.org/b", priority=5),
        Source(Kind.SITEMAP, "https://example.org/s.xml"),
        Source(Kind.FEED, "https://example.org/f", priority=-1),
    ]

    for source in sources:
        await queue.feed(step_of(source, await queue.look([source]), [Url(source.what)]))

    assert redis.lrange(QUEUE, 0, -1) == [
        b"https://example.org/%C3%A4",
        b'{"url":"https://example.org/b","priority":5}',
        b'{"url":"https://example.org/s.xml","priority":0,"listing":true}',
        b'{"url":"https://example.org/f","priority":-1,"listing":true}',
    ]


async def test_what_was_fed_is_remembered_by_whoever_comes_next(queue: RedisSchedule, server: RedisServer) -> None:
    step = step_of(PAGE, await queue.look([PAGE]), [Url(PAGE.what)])
    await queue.feed(step)

    async with RedisSchedule.open(Place(server.url), QUEUE, 1_000) as other:
        look = await other.look([PAGE, SEEDS])

    assert set(look.turns) == {PAGE.name}
    turn = look.turns[PAGE.name]
    assert turn.is_over
    assert (turn.due_at, turn.began_at, turn.edition) == (step.turn.due_at, step.turn.began_at, step.turn.edition)
    assert look.now >= turn.began_at


async def test_of_many_who_decide_the_same_one_feeds(server: RedisServer, queue: RedisSchedule) -> None:
    async with RedisSchedule.open(Place(server.url), QUEUE, 1_000) as other:
        steps = [(one, step_of(PAGE, await one.look([PAGE]), [Url(PAGE.what)])) for one in (queue, other)]

        fed = await asyncio.gather(*(one.feed(step) for one, step in steps))

    assert {one.given for one in fed} == {1, None}
    assert [one.waiting for one in fed] == [1, 1]


async def test_a_list_goes_on_from_its_cursor_when_there_is_room(queue: RedisSchedule, redis: "Redis") -> None:
    """H4-12, and the list is never longer than it may be."""
    taken: list[bytes | str] = []
    rounds = 0

    while len(taken) < len(URLS):
        rounds += 1
        fed = await queue.feed(step_of(SEEDS, await queue.look([SEEDS]), URLS, WHOLE))
        assert fed.waiting <= 1_000
        entries = redis.lpop(QUEUE, 700)
        assert isinstance(entries, list)
        taken += entries

    assert taken == [url.encode() for url in URLS]
    assert rounds == 4
    assert (await queue.look([SEEDS])).turns[SEEDS.name].is_over


async def test_very_long_urls_are_given_a_few_at_a_time(queue: RedisSchedule) -> None:
    urls = [Url(f"https://example.org/{n}/{'x' * 60_000}") for n in range(40)]
    edition = Edition(len(urls), "long")

    given = [(await queue.feed(step_of(SEEDS, await queue.look([SEEDS]), urls, edition))).given for _ in range(3)]

    assert given == [17, 17, 6]


async def test_a_full_queue_gets_nothing_and_nothing_is_remembered(queue: RedisSchedule, redis: "Redis") -> None:
    redis.rpush(QUEUE, *range(1_200))

    fed = await queue.feed(step_of(PAGE, await queue.look([PAGE]), [Url(PAGE.what)]))

    assert fed == Fed(0, 1_200)
    assert (await queue.look([PAGE])).turns == {}


async def test_what_is_lent_still_waits(queue: RedisSchedule, server: RedisServer, redis: "Redis") -> None:
    redis.rpush(QUEUE, *range(1_000))
    async with open_queue(server.url, QUEUE) as worker:
        batch = await worker.take(900, 60.0)
        assert batch is not None

        lent = await queue.feed(step_of(PAGE, await queue.look([PAGE]), [Url(PAGE.what)]))
        await worker.done(batch)
        done = await queue.feed(step_of(PAGE, await queue.look([PAGE]), [Url(PAGE.what)]))

    assert (lent, done) == (Fed(0, 1_000), Fed(1, 101))


async def test_a_step_that_was_decided_before_a_restart_of_the_list_is_refused(
    queue: RedisSchedule, redis: "Redis"
) -> None:
    look = await queue.look([SEEDS])
    redis.hset(f"{{{QUEUE}}}:schedule", SEEDS.name, "3 {}")

    assert await queue.feed(step_of(SEEDS, look, URLS, WHOLE)) == Fed(None, 0)


async def test_thousands_of_sources_are_looked_at(queue: RedisSchedule) -> None:
    sources = [Source(Kind.URL, f"https://example.org/{n}") for n in range(2_500)]
    await queue.feed(step_of(sources[2_400], await queue.look(sources), [Url(sources[2_400].what)]))

    look = await queue.look(sources)

    assert list(look.turns) == [sources[2_400].name]


async def test_what_is_no_queue_is_said_so(queue: RedisSchedule, redis: "Redis") -> None:
    redis.set(QUEUE, "something else")

    with pytest.raises(StoreError, match="the key crawler_queue holds a string; expected a list"):
        await queue.look()


async def test_what_cannot_be_read_is_said_so(queue: RedisSchedule, redis: "Redis") -> None:
    redis.hset(f"{{{QUEUE}}}:schedule", PAGE.name, "x")

    with pytest.raises(StoreError, match=r"what is remembered of news/url .* cannot be read"):
        await queue.look([PAGE])


async def test_a_server_that_is_out_of_memory_has_written_nothing(server: RedisServer, redis: "Redis") -> None:
    async with RedisSchedule.open(Place(server.url), QUEUE, 10_000) as queue:
        look = await queue.look([SEEDS])
        redis.config_set("maxmemory", "1")
        try:
            with pytest.raises(StoreError, match="out of memory"):
                await queue.feed(step_of(SEEDS, look, URLS, WHOLE))
        finally:
            redis.config_set("maxmemory", "0")

        after = await queue.look([SEEDS])

    assert (after.waiting, after.turns) == (0, {})


async def test_a_name_with_braces_and_a_server_that_is_away_are_refused(server: RedisServer) -> None:
    with pytest.raises(ConfigError, match="expected one without braces"):
        async with RedisSchedule.open(Place(server.url), "{a}", 1):
            pass
    async with RedisSchedule.open(Place("redis://127.0.0.1:1"), QUEUE, 1) as away:
        with pytest.raises(StoreUnavailable):
            await away.look()
