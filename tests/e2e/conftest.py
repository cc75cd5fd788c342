"""Servers for tests of the whole service: one Redis for each process that runs tests, beside the one Kafka."""

from collections.abc import Iterator

import pytest
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer


@pytest.fixture(scope="session")
def kafka(kafka_server: KafkaServer) -> KafkaServer:
    return kafka_server


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis")).start()
    yield server
    server.stop()
