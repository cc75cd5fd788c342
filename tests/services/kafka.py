"""A real Kafka broker for tests: KRaft, one node, own ports. Without Java or Maven a skip; a failure in CI."""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self

import pytest
import trustme
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from tests.services.kafka_jars import PASSWORD, USER, JarsMissing, fetch, properties
from tests.services.ports import free_ports

__all__ = ["PASSWORD", "USER", "KafkaServer"]

_PATIENCE: Final = 60.0


class KafkaServer:
    """One broker. `kill` is as rude as a power cut of the process; `start` brings it back on the same ports.

    At `bootstrap` it asks for no password, at `guarded` it does; `encrypted` is for those who trust the file `ca`.
    Topics are made by `create`, never by themselves.
    """

    def __init__(self, folder: Path, *settings: str) -> None:
        try:
            self._jars = fetch()
        except JarsMissing as missing:
            if os.environ.get("CI") == "true":
                pytest.fail(str(missing))
            pytest.skip(str(missing))
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._ports = free_ports(4)
        self._process: subprocess.Popen[bytes] | None = None
        shutil.copytree(self._jars.formatted, folder / "data")
        self.ca = folder / "ca.pem"
        certificate = _certify(self.ca, folder / "broker.pem")
        (folder / "broker.properties").write_text(properties(folder / "data", self._ports, certificate, settings))

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._ports[0]}"

    @property
    def guarded(self) -> str:
        return f"127.0.0.1:{self._ports[1]}"

    @property
    def pid(self) -> int:
        """Of the broker that runs now."""
        if self._process is None:
            raise RuntimeError("the Kafka broker is not running")
        return self._process.pid

    @property
    def encrypted(self) -> str:
        return f"127.0.0.1:{self._ports[3]}"

    def url(self, topic: str, **options: str | int) -> str:
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return f"kafka://{self.bootstrap}/{topic}{'?' * bool(query)}{query}"

    def start(self) -> Self:
        command = self._jars.command("kafka.Kafka", str(self.folder / "broker.properties"))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        until = time.monotonic() + _PATIENCE
        admin = self._admin()
        while time.monotonic() < until and self._process.poll() is None:
            try:
                if admin.list_topics(timeout=0.5).brokers:
                    return self
            except KafkaException:
                time.sleep(0.05)
        said = (self.folder / "log").read_text(errors="replace")[-2_000:]
        self.kill()
        raise RuntimeError(f"the Kafka broker on {self.bootstrap} did not come up: {said}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def create(self, *topics: str, partitions: int = 1) -> None:
        new = [NewTopic(topic, num_partitions=partitions, replication_factor=1) for topic in topics]
        admin = self._admin()
        for made in admin.create_topics(new).values():
            made.result(_PATIENCE)
        until = time.monotonic() + _PATIENCE
        while not all(self._is_led(admin, topic) for topic in topics):
            if time.monotonic() > until:
                raise RuntimeError(f"{topics} have no leader")

    def partitions(self, topic: str) -> int:
        return len(self._admin().list_topics(timeout=_PATIENCE).topics[topic].partitions)

    def tell(self, topic: str, messages: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        """Keys and values, as a plain producer writes them; a key's partition is that of Java's producers."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "partitioner": "murmur2_random", "log_level": 0})
        for key, value in messages:
            producer.produce(topic, value, key)
        if producer.flush(_PATIENCE):
            raise RuntimeError(f"the broker on {self.bootstrap} did not take what was told to it")

    def messages(self, topic: str) -> list[Message]:
        """All that is there now, as a plain consumer reads it: by partition, in order."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader-of-the-tests",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 10,
            }
        )
        try:
            found: list[Message] = []
            for number in sorted(consumer.list_topics(topic, timeout=_PATIENCE).topics[topic].partitions):
                low, high = _marks(consumer, TopicPartition(topic, number))
                if high > low:
                    consumer.assign([TopicPartition(topic, number, low)])
                    found += _read_until(consumer, high)
            return found
        finally:
            consumer.close()

    def _admin(self) -> AdminClient:
        # What librdkafka has to say about a broker that is not there yet is no news.
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 100})

    def _is_led(self, admin: AdminClient, topic: str) -> bool:
        known = admin.list_topics(timeout=5).topics.get(topic)
        return known is not None and all(part.leader >= 0 for part in known.partitions.values())


def _certify(ca: Path, certificate: Path) -> Path:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(ca))
    issued = authority.issue_cert("127.0.0.1")
    # Java reads a private key in one format only.
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    certificate.write_bytes(written + b"".join(part.bytes() for part in issued.cert_chain_pems))
    return certificate


_NOT_YET: Final = {
    KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - so it is called
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
}


def _marks(consumer: Consumer, part: TopicPartition) -> tuple[int, int]:
    """The first offset and the one after the last. A consumer may hear of a topic before it hears of its parts, and of
    these before their leader does.
    """
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            low, high = consumer.get_watermark_offsets(part, timeout=_PATIENCE)
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > until:
                raise
            consumer.poll(0.05)
        else:
            return low, high


def _read_until(consumer: Consumer, high: int) -> list[Message]:
    found: list[Message] = []
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        for message in consumer.consume(10_000, timeout=0.1):
            error = message.error()
            if error is not None:
                raise RuntimeError(f"reading failed: {error}")
            found.append(message)
        # Marks of transactions take offsets too, so that the position is asked and not the messages counted.
        if consumer.position(consumer.assignment())[0].offset >= high:
            return found
    raise RuntimeError(f"only {len(found)} messages could be read")
