"""What does a consumer of Kafka find, and what does a user read when there is no getting through?"""

import asyncio
import json
from collections import Counter
from hashlib import sha256

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME
from tests.services.kafka import PASSWORD, USER, KafkaServer
from tests.services.kafka_events import failed, fetched, insist
from tests.services.ports import free_port

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.model.codec import from_json
from outrider.model.event import BugFound, CrawlStarted, PageFetched, SiteProbed
from outrider.stores.events import open_events


async def test_a_page_is_told_as_the_specification_has_it(kafka_server: KafkaServer) -> None:
    """S4-2, S4-14: metadata only, JSON, keyed by the SHA-256 of the URL as raw bytes."""
    event = fetched(1)
    async with open_events(kafka_server.url("schema", create=1)) as sink:
        await sink.publish([event])

    (message,) = kafka_server.messages("schema")
    value = message.value() or b""
    said = json.loads(value)
    assert message.key() == sha256(event.url.encode()).digest()
    assert message.timestamp() == (TIMESTAMP_CREATE_TIME, 1_700_000_001_250)
    assert list(said.items())[:2] == [("type", "webpage_fetched"), ("version", 1)]
    assert said["url"] == event.url
    assert said.keys() >= {"cache_key", "status_code", "content_type", "content_length", "content_hash", "fetched_at"}
    assert from_json(value, PageFetched) == event


async def test_pages_failures_and_the_rest_have_their_topics(kafka_server: KafkaServer) -> None:
    """What no topic takes is not published."""
    probed, started = SiteProbed(at=1.0, site="a.example", alive=True), CrawlStarted(at=2.0, workers=1, resumed=False)
    url = kafka_server.url("pages", failures="failures", rest="rest", create=1)
    async with open_events(url) as sink, open_events(kafka_server.url("pages", failures="failures")) as other:
        await sink.publish([fetched(1), failed(2), probed, started])
        await other.publish([probed, started])

    keys = {
        topic: [message.key() for message in kafka_server.messages(topic)] for topic in ("pages", "failures", "rest")
    }
    assert keys == {
        "pages": [sha256(fetched(1).url.encode()).digest()],
        "failures": [sha256(failed(2).url.encode()).digest()],
        "rest": [sha256(b"a.example").digest(), None],
    }


async def test_all_events_of_a_url_are_in_one_partition_in_order(kafka_server: KafkaServer) -> None:
    async with open_events(kafka_server.url("spread", failures="spread", create=1, partitions=4)) as sink:
        await sink.publish([make(n) for n in range(40) for make in (failed, fetched)])

    places: dict[object, list[tuple[int | None, str]]] = {}
    for message in kafka_server.messages("spread"):
        places.setdefault(message.key(), []).append((message.partition(), json.loads(message.value() or b"")["type"]))
    assert len(places) == 40
    assert all([kind for _, kind in found] == ["page_failed", "webpage_fetched"] for found in places.values())
    assert all(len({partition for partition, _ in found}) == 1 for found in places.values())
    assert len({found[0][0] for found in places.values()}) == 4


async def test_a_full_queue_makes_the_publisher_wait(kafka_server: KafkaServer) -> None:
    async with open_events(kafka_server.url("narrow", failures="narrow", create=1, queue=20)) as sink:
        await asyncio.gather(*(sink.publish([failed(n) for n in range(200)]) for _ in range(3)))

    assert len(kafka_server.messages("narrow")) == 600


async def test_a_broker_that_is_killed_while_much_is_published_loses_nothing(kafka_server: KafkaServer) -> None:
    """S4, H4-8: who is patient waits until it is back, and the producer's numbers keep it from writing twice.

    Who is not hears of it and asks again (back-pressure); only what was on its way then may come twice.
    """
    patient = kafka_server.url("patient", failures="patient", create=1, partitions=2)
    impatient = kafka_server.url("impatient", failures="impatient", create=1, timeout=2)
    async with open_events(patient) as sink, open_events(impatient) as other:
        half_way = asyncio.Event()

        async def publish() -> None:
            for number in range(40):
                await sink.publish([failed(number * 50 + n) for n in range(50)])
                if number == 15:
                    half_way.set()

        await insist(other, [failed(n) for n in range(100)])
        publishing = asyncio.create_task(publish())
        await half_way.wait()
        await asyncio.to_thread(kafka_server.kill)
        with pytest.raises(StoreUnavailable, match="the broker cannot be reached"):
            await other.publish([failed(n) for n in range(100, 200)])
        await asyncio.to_thread(kafka_server.start)
        await insist(other, [failed(n) for n in range(100, 200)])
        await publishing

    for topic, told, most_twice in (("patient", 2_000, 50), ("impatient", 200, 200)):
        found = Counter(json.loads(message.value() or b"")["url"] for message in kafka_server.messages(topic))
        twice = found.total() - len(found)
        print(f"{topic}: {twice} of {told} events twice")
        assert len(found) == told
        assert twice <= most_twice


async def test_nobody_there_is_worth_trying_again(capfd: pytest.CaptureFixture[str]) -> None:
    port = free_port()

    with pytest.raises(
        StoreUnavailable, match=rf"127\.0\.0\.1:{port}.*the broker cannot be reached: .*refused"
    ) as caught:
        async with open_events(f"kafka://me:secret@127.0.0.1:{port}/webpage_log"):
            pass

    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
    assert capfd.readouterr() == ("", "")


async def test_one_host_of_several_is_enough(kafka_server: KafkaServer) -> None:
    port = free_port()

    async with open_events(
        f"kafka://127.0.0.1:{port},{kafka_server.bootstrap}/several?failures=several&create=1"
    ) as sink:
        await sink.publish([fetched(1)])

    assert len(kafka_server.messages("several")) == 1


async def test_a_missing_topic_is_named_with_the_way_out(kafka_server: KafkaServer) -> None:
    kafka_server.create("half")

    with pytest.raises(StoreUnavailable, match=r"no topic other .*kafka-topics.sh --create --topic other .*&create=1"):
        async with open_events(kafka_server.url("half", failures="other")):
            pass


async def test_a_missing_topic_is_made_on_request(kafka_server: KafkaServer) -> None:
    url = kafka_server.url("made", failures="made_too", create=1, partitions=3)

    async with open_events(url), open_events(url):
        pass

    assert kafka_server.partitions("made") == kafka_server.partitions("made_too") == 3


@pytest.mark.parametrize("mechanism", ["plain", "scram-sha-512"])
async def test_a_password_opens(kafka_server: KafkaServer, mechanism: str) -> None:
    topic = f"guarded-{mechanism}"
    url = f"kafka://{USER}:{PASSWORD}@{kafka_server.guarded}/{topic}?sasl={mechanism}&failures={topic}&create=1"

    async with open_events(url) as sink:
        await sink.publish([fetched(1)])

    assert len(kafka_server.messages(topic)) == 1


@pytest.mark.parametrize("mechanism", ["plain", "scram-sha-512"])
async def test_a_wrong_password_is_said_and_not_shown(
    kafka_server: KafkaServer, mechanism: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StoreError, match="refuses this user or password") as caught:
        async with open_events(f"kafka://{USER}:wrong-secret@{kafka_server.guarded}/pages?sasl={mechanism}"):
            pass

    assert not isinstance(caught.value, StoreUnavailable)
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
    assert capfd.readouterr() == ("", "")


async def test_who_speaks_plainly_where_a_password_is_wanted_is_told_so(kafka_server: KafkaServer) -> None:
    with pytest.raises(StoreUnavailable, match="does it expect TLS or a password there"):
        async with open_events(f"kafka://{kafka_server.guarded}/pages"):
            pass


async def test_a_broker_that_is_trusted_is_spoken_to_over_tls(kafka_server: KafkaServer) -> None:
    options = f"ca={kafka_server.ca}&failures=encrypted&create=1"

    async with open_events(f"kafka+ssl://{kafka_server.encrypted}/encrypted?{options}") as sink:
        await sink.publish([fetched(1)])

    assert len(kafka_server.messages("encrypted")) == 1


async def test_a_broker_that_is_not_trusted_is_an_error(kafka_server: KafkaServer) -> None:
    with pytest.raises(StoreError, match=r"no TLS with the broker: .*certificate verify failed") as caught:
        async with open_events(f"kafka+ssl://{kafka_server.encrypted}/encrypted"):
            pass

    assert not isinstance(caught.value, StoreUnavailable)


async def test_an_event_that_the_broker_does_not_take_is_an_error(kafka_server: KafkaServer) -> None:
    async with open_events(kafka_server.url("large", failures="large", rest="large", create=1)) as sink:
        with pytest.raises(StoreError, match="larger than the broker takes") as caught:
            await sink.publish([BugFound(at=1.0, what="visit", error="x" * 2_000_000)])
        await sink.publish([fetched(1)])

    assert not isinstance(caught.value, StoreUnavailable)
    assert len(kafka_server.messages("large")) == 1


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("kafka:///webpage_log", "expected kafka://host:9092/topic"),
        ("kafka://127.0.0.1/a/b", "'a/b' is not a topic"),
        ("kafka://127.0.0.1/pages?rest=no%20topic", "'no topic' is not a topic"),
        ("kafka://127.0.0.1/pages?ca=/x.pem", r"are for kafka\+ssl"),
        ("kafka+ssl://127.0.0.1/pages?ca=/no/such.pem", "such.pem"),
        ("kafka://127.0.0.1/pages?sasl=kerberos", "sasl='kerberos'; expected plain or scram-sha-256 or scram-sha-512"),
        (
            "kafka://127.0.0.1/pages?colour=red",
            "no such option: colour; it knows ca, certificate, compression, create, failures, key, partitions, queue",
        ),
    ],
)
async def test_an_option_that_cannot_be_is_named(url: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        async with open_events(url):
            pass
