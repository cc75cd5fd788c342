"""What a broker's errors mean to us: a table. And nothing of a place is guessed."""

# ruff: noqa: SLF001 - the driver's names of its own errors begin with an underscore

import pytest
from confluent_kafka import KafkaError

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.stores.kafka.broker import Trouble, settings_of, translated
from outrider.stores.place import Place

PLACE = Place("kafka://me:secret@127.0.0.1/pages")


@pytest.mark.parametrize(
    "code",
    [
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._RESOLVE,
        KafkaError._FATAL,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    ],
)
def test_what_may_pass_by_itself_is_worth_trying_again(code: int) -> None:
    assert isinstance(translated(PLACE, KafkaError(code)), StoreUnavailable)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (KafkaError._AUTHENTICATION, "refuses this user or password"),
        (KafkaError.UNSUPPORTED_SASL_MECHANISM, "refuses this user or password"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "does not let this user do that"),
        (KafkaError._SSL, "no TLS with the broker"),
        (KafkaError.MSG_SIZE_TOO_LARGE, "larger than the broker takes"),
        (KafkaError.INVALID_REPLICATION_FACTOR, "replication factor"),
    ],
)
def test_what_will_not_pass_is_an_error(code: int, said: str) -> None:
    error = translated(PLACE, KafkaError(code))

    assert not isinstance(error, StoreUnavailable)
    assert said in str(error)
    assert "secret" not in f"{error} {error.__cause__}"


def test_a_time_out_is_told_with_what_the_driver_said_before() -> None:
    trouble = Trouble()
    trouble.tell(KafkaError(KafkaError._TRANSPORT, "Connection refused"))
    trouble.tell(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    error = trouble.translated(PLACE, KafkaError(KafkaError._MSG_TIMED_OUT))

    assert isinstance(error, StoreUnavailable)
    assert str(error).endswith("the broker cannot be reached: Connection refused")


def test_a_wrong_password_explains_whatever_came_of_it() -> None:
    trouble = Trouble()
    trouble.tell(KafkaError(KafkaError._AUTHENTICATION, "Invalid username or password"))
    trouble.tell(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    error = trouble.translated(PLACE, KafkaError(KafkaError._TRANSPORT))

    assert type(error) is StoreError


def test_trouble_is_forgotten_and_a_fatal_error_is_not() -> None:
    trouble = Trouble()
    trouble.tell(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, fatal=True))
    trouble.tell(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    trouble.forget()

    assert not trouble.is_hopeless
    assert trouble.is_fatal


@pytest.mark.parametrize(
    ("url", "servers", "protocol"),
    [
        ("kafka://a.example", "a.example:9092", "PLAINTEXT"),
        ("kafka://a.example:1,b.example:2,[::1]:3/x", "a.example:1,b.example:2,[::1]:3", "PLAINTEXT"),
        ("kafka+ssl://a.example,b.example/x", "a.example:9092,b.example:9092", "SSL"),
        ("kafka://u:p@a.example/x", "a.example:9092", "SASL_PLAINTEXT"),
        ("kafka+ssl://u:p@a.example/x", "a.example:9092", "SASL_SSL"),
    ],
)
def test_a_url_names_brokers_and_how_they_are_spoken_to(url: str, servers: str, protocol: str) -> None:
    settings = settings_of(Place(url))

    assert (settings["bootstrap.servers"], settings["security.protocol"]) == (servers, protocol)


def test_a_password_is_not_sent_in_the_clear_unless_one_says_so() -> None:
    settings = [settings_of(Place(url)) for url in ("kafka://u:p@a.example", "kafka://u:p@a.example?sasl=plain")]

    assert [found["sasl.mechanisms"] for found in settings] == ["SCRAM-SHA-512", "PLAIN"]


def test_no_host_is_no_place() -> None:
    with pytest.raises(ConfigError, match="expected kafka://host:9092/topic"):
        settings_of(Place("kafka:///pages"))
