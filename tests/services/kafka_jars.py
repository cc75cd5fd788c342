"""Where are the broker's jars? Fetched with Maven, once, into a cache beside the repository; only the standard library.

Beside the jars the cache holds what makes a start quick: a storage folder that is formatted already, and an archive of
the classes that a broker loads (without it a start takes 3 s, with it less than 2). Run as a program, it fetches.
"""

import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.services.ports import free_ports

POM: Final = Path(__file__).parent / "kafka" / "pom.xml"
USER: Final = "crawler"
PASSWORD: Final = "open-sesame"
_JVM: Final = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xlog:disable", "-Xlog:all=error:stderr")
_QUIET: Final = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
_CLUSTER: Final = "b3V0cmlkZXItdGVzdHMhIQ"
"""Sixteen bytes in base64: all brokers of the tests are formatted alike, and none ever meets another."""
_PATIENCE: Final = 60.0


class JarsMissing(Exception):
    """The message says what is missing."""


class Jars:
    """`folder` is complete: nothing in it changes any more."""

    def __init__(self, folder: Path, java: str) -> None:
        self._folder = folder
        self._java = java

    @property
    def formatted(self) -> Path:
        return self._folder / "formatted"

    def command(self, main: str, *arguments: str, archive: str = "-XX:SharedArchiveFile") -> list[str]:
        """The order of the jars is a part of what the archive was made for."""
        path = ":".join(str(jar) for jar in sorted((self._folder / "jars").glob("*.jar")))
        classes = f"{archive}={self._folder / 'classes.jsa'}"
        return [self._java, *_JVM, _QUIET, classes, "-cp", path, main, *arguments]


def fetch() -> Jars:
    """Wait for whoever fetches already. Raises `JarsMissing`."""
    java, maven = shutil.which("java"), shutil.which("mvn")
    if java is None:
        raise JarsMissing("Java is not installed, so that no Kafka broker can be started")
    name = f"kafka-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "outrider-tests"
    cache.mkdir(parents=True, exist_ok=True)
    jars = Jars(cache / name, java)
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        whole = cache / name / "whole"
        if not whole.exists():
            if maven is None:
                raise JarsMissing("Maven is not installed, so that no Kafka broker can be fetched")
            shutil.rmtree(cache / name, ignore_errors=True)
            _fill(cache / name, maven, jars)
            whole.touch()
    return jars


def properties(data: Path, ports: Sequence[int], certificate: Path | None = None, more: Sequence[str] = ()) -> str:
    """One node, controller and broker at once. `ports`: plain, with SASL, the controller's; with TLS as the last."""
    plain, sasl, controller, *tls = ports
    encrypted = f",TLS://127.0.0.1:{tls[0]}" if tls else ""
    jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    lines = [
        "process.roles=broker,controller",
        "node.id=1",
        f"listeners=PLAIN://127.0.0.1:{plain},SASL://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}{encrypted}",
        f"advertised.listeners=PLAIN://127.0.0.1:{plain},SASL://127.0.0.1:{sasl}{encrypted}",
        "listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT,TLS:SSL",
        "listener.name.tls.ssl.keystore.type=PEM",
        f"listener.name.tls.ssl.keystore.location={certificate}",
        "controller.listener.names=CONTROLLER",
        f"controller.quorum.voters=1@127.0.0.1:{controller}",
        "inter.broker.listener.name=PLAIN",
        "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512",
        f"listener.name.sasl.plain.sasl.jaas.config={jaas}",
        f"listener.name.sasl.scram-sha-512.sasl.jaas.config={scram}",
        f"log.dirs={data}",
        "auto.create.topics.enable=false",
        "offsets.topic.num.partitions=1",
        "offsets.topic.replication.factor=1",
        "transaction.state.log.num.partitions=1",
        "transaction.state.log.replication.factor=1",
        "transaction.state.log.min.isr=1",
        "share.coordinator.state.topic.replication.factor=1",
        "share.coordinator.state.topic.min.isr=1",
        "group.initial.rebalance.delay.ms=0",
        "group.min.session.timeout.ms=1000",
        "num.network.threads=1",
        "num.io.threads=2",
        "background.threads=1",
        "num.replica.fetchers=1",
        "log.cleaner.dedupe.buffer.size=4194304",
        # A broker that was killed is believed alive for so long, also by the controller in the one that follows it.
        "broker.session.timeout.ms=1000",
        "broker.heartbeat.interval.ms=200",
        # Else the controller writes a record twice a second just to show that it lives.
        "metadata.max.idle.interval.ms=10000",
        *more,
    ]
    return "\n".join(lines) + "\n"


def _fill(folder: Path, maven: str, jars: Jars) -> None:
    folder.mkdir()
    _run(
        [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}"],
        f"Maven could not fetch the jars of {POM.name}",
    )
    settings = folder / "formatting.properties"
    ports = free_ports(3)
    settings.write_text(properties(jars.formatted, ports))
    user = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
    formatting = ["format", "-t", _CLUSTER, "-c", str(settings), "--add-scram", user]
    _run(jars.command("kafka.tools.StorageTool", *formatting), "Kafka could not format its storage")
    _archive_classes(folder, ports, jars)


def _archive_classes(folder: Path, ports: Sequence[int], jars: Jars) -> None:
    """Of a broker that ran until it listened. An archive that does not fit is not used: Java then starts without."""
    data, settings = folder / "archiving", folder / "archiving.properties"
    shutil.copytree(jars.formatted, data)
    settings.write_text(properties(data, ports))
    command = jars.command("kafka.Kafka", str(settings), archive="-XX:ArchiveClassesAtExit")
    with (folder / "archiving.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until and process.poll() is None and not _listens(ports[0]):
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.wait(_PATIENCE)
    shutil.rmtree(data)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _run(command: Sequence[str], failed: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise JarsMissing(f"{failed}: {done.stdout.decode(errors='replace')[-1_000:]}")


if __name__ == "__main__":
    try:
        fetch()
    except JarsMissing as missing:
        sys.exit(f"{missing}; the tests that need it will skip")
