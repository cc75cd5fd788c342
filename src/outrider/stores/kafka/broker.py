"""How is the broker reached, and what do its errors mean? Driver errors end here, and none shows a password.

librdkafka does not raise when it loses the broker: it tells, and tries again. `Trouble` is who listens.
"""

# ruff: noqa: SLF001 - the driver's names of its own errors begin with an underscore

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from outrider.errors import ConfigError, StoreError, StoreUnavailable
from outrider.stores.place import Place

_MECHANISMS: Final[Mapping[str, str]] = {
    "plain": "PLAIN",
    "scram-sha-256": "SCRAM-SHA-256",
    "scram-sha-512": "SCRAM-SHA-512",
}
_REFUSED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
    }
)
_FORBIDDEN: Final = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_AWAY: Final = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._RESOLVE,
        KafkaError._WAIT_COORD,
        KafkaError._FATAL,
        KafkaError._PURGE_QUEUE,
        KafkaError._PURGE_INFLIGHT,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
    }
)
"""What may pass by itself. A topic that was there when we began is being made again, or will be."""


def settings_of(place: Place) -> dict[str, str | int | float | bool]:
    """What producer, consumer and admin have in common; takes the options of the connection out of the place."""
    hosts = [f"{f'[{host}]' if ':' in host else host}:{port or 9092}" for host, port in place.hosts if host]
    if not hosts:
        raise ConfigError(f"{place}: expected {place.scheme}://host:9092/topic")
    is_tls = place.scheme.endswith("+ssl")
    mechanism = place.text("sasl", "scram-sha-512", tuple(_MECHANISMS))
    settings: dict[str, str | int | float | bool] = {
        "bootstrap.servers": ",".join(hosts),
        "security.protocol": ("SASL_" if place.user else "") + ("SSL" if is_tls else "PLAINTEXT"),
        "client.id": "outrider",
        "reconnect.backoff.max.ms": 1_000,
        # Its log lines would go to standard error as they are; what matters of them comes as errors, too.
        "log_level": 0,
    }
    if place.user:
        settings |= {
            "sasl.mechanisms": _MECHANISMS[mechanism],
            "sasl.username": place.user,
            "sasl.password": place.password,
        }
    files = {
        "ssl.ca.location": place.text("ca", ""),
        "ssl.certificate.location": place.text("certificate", ""),
        "ssl.key.location": place.text("key", ""),
    }
    given = {name: path for name, path in files.items() if path}
    if given and not is_tls:
        raise ConfigError(f"{place}: ca, certificate and key are for kafka+ssl://")
    return settings | given


class Trouble:
    """What the driver told since we last heard that all is well. `tell` is given to it as its `error_cb`.

    `is_away`: no broker can be reached, so far as it knows. `is_fatal`: this producer or consumer is of no use any
    more; another one may be.
    """

    def __init__(self) -> None:
        self.is_fatal = False
        self.forget()

    def forget(self) -> None:
        self.is_away = False
        self._final: KafkaError | None = None
        self._cause: KafkaError | None = None

    def tell(self, error: KafkaError) -> None:
        """Called by whoever polls."""
        self.is_fatal = self.is_fatal or error.fatal()
        if error.code() == KafkaError._ALL_BROKERS_DOWN:
            self.is_away = True
        elif error.code() in _REFUSED or error.code() == KafkaError._SSL:
            self._final = error
        else:
            self._cause = error

    @property
    def is_unexplained(self) -> bool:
        """Nobody can be reached, and no connection said why: brokers hang up on who speaks another protocol."""
        return self.is_away and self._final is None and self._cause is None

    @property
    def is_hopeless(self) -> bool:
        """Trying again at once would not help."""
        return self.is_away or self._final is not None

    def translated(self, place: Place, error: KafkaError) -> StoreError:
        """`error` in our words, with the cause that was told beside it: a time-out alone explains nothing."""
        return translated(place, self._final or error, self._cause)


def translated(place: Place, error: KafkaError, cause: KafkaError | None = None) -> StoreError:
    code = error.code()
    if code in _REFUSED:
        made = StoreError(f"{place}: the broker refuses this user or password: {error.str()}")
    elif code in _FORBIDDEN:
        made = StoreError(f"{place}: the broker does not let this user do that: {error.str()}")
    elif code == KafkaError._SSL:
        made = StoreError(f"{place}: no TLS with the broker: {error.str()}")
    elif code in {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}:
        made = StoreError(f"{place}: an event is larger than the broker takes (message.max.bytes): {error.str()}")
    elif code in _AWAY or error.fatal() or error.retriable():
        what = f"cannot be reached: {cause.str()}" if cause is not None else f"cannot serve us now: {error.str()}"
        made = StoreUnavailable(f"{place}: the broker {what}")
    else:
        made = StoreError(f"{place}: {error.str()}")
    made.__cause__ = KafkaException(error)
    return made


def error_of(raised: KafkaException) -> KafkaError:
    """What the driver raises carries its error as the first argument."""
    found = raised.args[0] if raised.args else None
    return found if isinstance(found, KafkaError) else KafkaError(KafkaError._FAIL, str(raised))
