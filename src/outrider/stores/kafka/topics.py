"""Are the topics there? A missing one is an error that says the way out, or is made when the URL says `create=1`.

No topic is ever made by asking for it: what a broker makes by itself has partitions that nobody chose.
"""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._metadata import ClusterMetadata
from confluent_kafka.cimpl import NewTopic
from msgspec import Struct

from outrider.errors import ConfigError, StoreUnavailable
from outrider.stores.kafka.broker import Trouble, error_of
from outrider.stores.place import Place

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SLICE: Final = 0.25
"""Seconds until we look again whether the driver told why nothing comes."""


class Making(Struct, frozen=True):
    """How a missing topic is made; zero leaves it to the broker."""

    wanted: bool
    partitions: int
    replication: int

    @classmethod
    def of(cls, place: Place) -> "Making":
        return cls(
            wanted=place.text("create", "0", ("0", "1")) == "1",
            partitions=place.number("partitions", 0, least=0),
            replication=place.number("replication", 0, least=0),
        )


def topic_of(place: Place, name: str) -> str:
    if not _NAME.fullmatch(name) or name in {".", ".."}:
        raise ConfigError(f"{place}: {name!r} is not a topic; expected letters, digits, dots, dashes and underscores")
    return name


async def require(
    place: Place,
    settings: Mapping[str, str | int | float | bool],
    topics: Sequence[str],
    making: Making,
    seconds: float,
) -> None:
    """Raises `StoreUnavailable` for a topic that is missing, too: somebody else may be about to make it.

    `StoreUnavailable` or `StoreError` when nobody answers, `ConfigError` for settings that cannot be.
    """
    trouble = Trouble()
    try:
        await asyncio.to_thread(_require, place, settings, topics, making, seconds, trouble)
    except asyncio.CancelledError:
        trouble.is_away = True  # for the thread: nobody waits for its answer any more, and the program wants to end
        raise


def _require(
    place: Place,
    settings: Mapping[str, str | int | float | bool],
    topics: Sequence[str],
    making: Making,
    seconds: float,
    trouble: Trouble,
) -> None:
    until = time.monotonic() + seconds
    try:
        admin = AdminClient({**settings, "error_cb": trouble.tell})  # type: ignore[dict-item]  # their type forgot it
    except KafkaException as error:
        # Such as a file of certificates that cannot be read.
        raise ConfigError(f"{place}: {error_of(error).str()}") from error
    missing = _missing(topics, _listed(admin, place, trouble, until))
    if missing and not making.wanted:
        names = " and ".join(missing)
        ways = f"kafka-topics.sh --create --topic {missing[0]} …, or {'&' if '?' in place.url else '?'}create=1"
        raise StoreUnavailable(f"{place}: the broker has no topic {names} that this user may see; make it with {ways}")
    if missing:
        _make(admin, place, trouble, missing, making, until)


def _listed(admin: AdminClient, place: Place, trouble: Trouble, until: float) -> ClusterMetadata:
    while True:
        try:
            return admin.list_topics(timeout=_SLICE)
        except KafkaException as error:
            admin.poll(0)
            if trouble.is_unexplained:
                hint = "the broker cannot be reached: it hangs up; does it expect TLS or a password there?"
                raise StoreUnavailable(f"{place}: {hint}") from error
            if trouble.is_hopeless or time.monotonic() > until:
                raise trouble.translated(place, error_of(error)) from error


def _missing(topics: Sequence[str], listed: ClusterMetadata) -> list[str]:
    return [topic for topic in dict.fromkeys(topics) if topic not in listed.topics]


def _make(
    admin: AdminClient, place: Place, trouble: Trouble, topics: Sequence[str], making: Making, until: float
) -> None:
    new = [
        NewTopic(topic, num_partitions=making.partitions or -1, replication_factor=making.replication or -1)
        for topic in topics
    ]
    for made in admin.create_topics(new, operation_timeout=max(until - time.monotonic(), 1.0)).values():
        try:
            made.result(max(until - time.monotonic(), 1.0))
        except KafkaException as error:
            # Another worker that starts with us may have been quicker.
            if error_of(error).code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise trouble.translated(place, error_of(error)) from error
    while _missing(topics, _listed(admin, place, trouble, until)):
        if time.monotonic() > until:
            raise StoreUnavailable(f"{place}: the topics {' and '.join(topics)} were made, and are not there yet")
        time.sleep(0.02)
