"""What holds for every test."""

import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.services.kafka import KafkaServer

# A shell that starts us in the background lets SIGINT be ignored, and our children would inherit that: then no test of
# an interrupt could ever pass.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test fails because a machine is busy: hypothesis has limits of time of its own.
settings.register_profile("outrider", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("outrider")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole crawls and kills take longest and wait most: begun last, they would keep one process busy at the end."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)


@pytest.fixture(scope="session")
def kafka_server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[KafkaServer]":
    """One for all that a process tests, since each takes seconds to start: who wants to ruin it starts it again."""
    from tests.services.kafka import KafkaServer  # noqa: PLC0415 - most tests need no driver of Kafka

    server = KafkaServer(tmp_path_factory.mktemp("kafka") / "broker").start()
    yield server
    server.stop()
