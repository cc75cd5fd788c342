"""Is every page taken that was told of, whoever dies in between? Taking is not acknowledging."""

import asyncio
import sys
from collections.abc import Sequence
from itertools import count

import pytest
from tests.services.kafka import KafkaServer
from tests.services.kafka_events import failed, fetched
from tests.services.ports import free_port

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.model.event import PageFetched
from outrider.stores.kafka.messages import key_of, value_of
from outrider.stores.pages import Pages, open_pages

_serial = count()


def told(server: KafkaServer, numbers: Sequence[int], topic: str = "", partitions: int = 1) -> str:
    """A topic with these pages in it, as a plain producer tells of them."""
    if not topic:
        topic = f"told{next(_serial)}"
        server.create(topic, partitions=partitions)
    server.tell(topic, [(key_of(fetched(n)), value_of(fetched(n))) for n in numbers])
    return topic


async def take(pages: Pages, wanted: int, tries: int = 100) -> list[PageFetched]:
    """So many, or fewer when no more come."""
    found: list[PageFetched] = []
    for _ in range(tries):
        found += await pages.take(wanted - len(found), 0.2)
        if len(found) >= wanted:
            break
    return found


async def take_until(pages: Pages, last: PageFetched) -> list[PageFetched]:
    found: list[PageFetched] = []
    for _ in range(200):
        found += await pages.take(20, 0.1)
        if last in found:
            break
    return found


async def test_what_is_done_does_not_come_again(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, range(10))
    async with open_pages(kafka_server.url(topic)) as pages:
        first = await take(pages, 4)
        await pages.done()

    async with open_pages(kafka_server.url(topic)) as pages:
        second = await take(pages, 6)

    assert first + second == [fetched(n) for n in range(10)]


async def test_what_is_taken_and_not_done_comes_again(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, range(10))
    async with open_pages(kafka_server.url(topic)) as pages:
        await take(pages, 4)
        await pages.done()
        lost = await take(pages, 6)

    async with open_pages(kafka_server.url(topic)) as pages:
        again = await take(pages, 6)

    assert lost == again == [fetched(n) for n in range(4, 10)]


async def test_another_group_reads_for_itself(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, range(3))
    found = []
    for group in ("one", "other"):
        async with open_pages(kafka_server.url(topic, group=group)) as pages:
            found.append(await take(pages, 3))
            await pages.done()

    assert found == [[fetched(n) for n in range(3)]] * 2


async def test_what_is_no_page_is_counted_and_passed_over(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, [1])
    odd = [None, b"", b"{", b'"text"', b"\xff\xfe", b'{"type":"webpage_fetched"}', value_of(failed(3))]
    kafka_server.tell(topic, [(None, value) for value in odd])
    told(kafka_server, [2], topic)

    async with open_pages(kafka_server.url(topic)) as pages:
        found = await take(pages, 2)
        malformed = pages.malformed
        await pages.done()
        lag = await pages.lag()

    assert found == [fetched(1), fetched(2)]
    assert (malformed, lag) == (len(odd), 0)


async def test_lag_is_what_is_not_done(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, range(10), partitions=3)
    async with open_pages(kafka_server.url(topic)) as pages:
        await take(pages, 10)
        before = await pages.lag()
        await pages.done()
        after = await pages.lag()

    assert (before, after) == (10, 0)


async def test_whoever_is_cancelled_loses_nothing(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, range(3))
    async with open_pages(kafka_server.url(topic)) as pages:
        impatient = asyncio.create_task(pages.take(10, 5))
        await asyncio.sleep(0)
        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient

        found = await take(pages, 3)

    assert found == [fetched(n) for n in range(3)]


async def test_two_of_a_group_share_the_partitions(kafka_server: KafkaServer) -> None:
    """What the first took and had not done when it lost its partition is taken by the other as well, not skipped."""
    topic = told(kafka_server, range(20), partitions=4)
    url = kafka_server.url(topic)
    new = {fetched(n) for n in range(20, 60)}
    mine: list[PageFetched] = []
    yours: list[PageFetched] = []
    async with open_pages(url) as one, open_pages(url) as other:
        undone = await take(one, 20)
        for _ in range(100):
            await one.take(100, 0.1)
            yours += await other.take(100, 0.1)
            if yours:
                break
        told(kafka_server, range(20, 60), topic)
        for _ in range(100):
            mine += await one.take(100, 0.1)
            yours += await other.take(100, 0.1)
            if new <= {*mine, *yours}:
                break
        await one.done()
        await other.done()

    again = set(yours) - new
    assert again
    assert again < set(undone)
    assert {*mine, *yours} >= new
    assert new & set(mine)
    assert new & set(yours)
    assert not set(mine) & set(yours)


async def test_what_a_killed_member_took_is_taken_by_another(kafka_server: KafkaServer) -> None:
    topic = told(kafka_server, range(10))
    url = kafka_server.url(topic, session=2)
    program = (
        "import asyncio, sys\n"
        "from outrider.stores.pages import open_pages\n"
        "async def main():\n"
        "    async with open_pages(sys.argv[1]) as pages:\n"
        "        print(len(await pages.take(4, 30)), flush=True)\n"
        "        await pages.done()\n"
        "        print(len(await pages.take(4, 30)), flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    member = await asyncio.create_subprocess_exec(sys.executable, "-c", program, url, stdout=asyncio.subprocess.PIPE)
    assert member.stdout is not None
    done, undone = [int(await member.stdout.readline()) for _ in range(2)]
    member.kill()
    await member.communicate()

    async with open_pages(url) as pages:
        found = await take(pages, 10 - done)

    assert undone > 0
    assert found == [fetched(n) for n in range(done, 10)]


async def test_a_broker_that_is_away_is_told_and_then_all_goes_on(kafka_server: KafkaServer) -> None:
    """The one member stays, the other leaves while nobody hears it; neither has confirmed anything."""
    topic = told(kafka_server, range(10))
    staying = kafka_server.url(topic, group="staying", session=30)
    leaving = kafka_server.url(topic, group="leaving", session=2)
    async with open_pages(staying) as pages:
        async with open_pages(leaving) as others:
            first = await take(pages, 10)
            await take(others, 4)
            kafka_server.kill()

            with pytest.raises(StoreUnavailable, match="the broker cannot be reached"):
                await take(pages, 1)
            with pytest.raises(StoreUnavailable, match="the broker cannot be reached"):
                await pages.done()
        await asyncio.to_thread(kafka_server.start)
        told(kafka_server, range(10, 20), topic)
        second = await take_until(pages, fetched(19))
        await pages.done()
        lag = await pages.lag()
    async with open_pages(leaving) as others:
        all_again = await take_until(others, fetched(19))

    assert first + second == [fetched(n) for n in range(20)]
    assert lag == 0
    assert all_again == [fetched(n) for n in range(20)]


async def test_a_closed_stream_says_so(kafka_server: KafkaServer) -> None:
    async with open_pages(kafka_server.url(told(kafka_server, []))) as pages:
        pass

    with pytest.raises(StoreError, match="closed"):
        await pages.take(1, 0.1)


async def test_nobody_there_is_worth_trying_again() -> None:
    port = free_port()

    with pytest.raises(StoreUnavailable, match=r"the broker cannot be reached: .*refused"):
        async with open_pages(f"kafka://127.0.0.1:{port}/webpage_log"):
            pass


async def test_a_missing_topic_is_named(kafka_server: KafkaServer) -> None:
    with pytest.raises(StoreUnavailable, match="no topic nowhere"):
        async with open_pages(kafka_server.url("nowhere")):
            pass


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://127.0.0.1", "no stream of pages is named by redis:; there are kafka:, kafka"),
        ("kafka://127.0.0.1/pages?failures=x", "no such option: failures; it knows ca, certificate, create, group"),
    ],
)
async def test_what_cannot_be_is_named(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        async with open_pages(url):
            pass
