"""Real Redis servers for tests: own ports, own folders, stopped at the end. A missing binary skips, and fails in CI."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

import pytest
from redis import Redis
from redis.exceptions import RedisError
from tests.services.ports import free_port

_PATIENCE: Final = 20.0


def require_redis() -> str:
    binary = shutil.which("redis-server")
    if binary is None:
        why = "redis-server is not installed, so that nothing about the Redis frontier can be shown"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    return binary


class RedisServer:
    """One `redis-server`. `kill` is as rude as a power cut of the process; `start` brings it back on the same port."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.binary = require_redis()
        self.port = free_port()
        self.folder = folder
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> "Redis":
        return Redis(port=self.port, socket_timeout=5, protocol=2)

    def start(self) -> Self:
        basics = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self.folder)]
        log = ["--logfile", str(self.folder / "log")]
        self.process = subprocess.Popen([self.binary, *basics, *log, *self.options])
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                with self.client() as client:
                    client.ping()
            except RedisError as error:
                if "NOAUTH" in str(error) or "Authentication" in str(error):
                    return
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"redis-server on {self.port} did not come up: {(self.folder / 'log').read_text()[-2000:]}")

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    stop = kill


class RedisClusterNodes:
    """Three masters that share the slots; with `replicas`, each has one that takes over when it is gone."""

    def __init__(self, folder: Path, *options: str, replicas: bool = False) -> None:
        # Where nobody takes over, a node that a busy machine keeps waiting must not be taken for a lost one.
        patience = "2000" if replicas else "8000"
        cluster = ("--cluster-enabled", "yes", "--cluster-node-timeout", patience, *options)
        self.nodes = [RedisServer(folder / str(number), *cluster) for number in range(6 if replicas else 3)]
        self.masters, self.replicas = self.nodes[:3], self.nodes[3:]

    @property
    def url(self) -> str:
        return f"redis+cluster://127.0.0.1:{self.nodes[0].port}"

    def start(self) -> Self:
        share = -(-16_384 // len(self.masters))
        for number, node in enumerate(self.nodes):
            node.start()
            with node.client() as client:
                if node in self.masters:
                    last = min(16_384, (number + 1) * share) - 1
                    client.execute_command("CLUSTER ADDSLOTSRANGE", number * share, last)
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
                for other in self.nodes[:number]:
                    client.execute_command("CLUSTER MEET", "127.0.0.1", other.port)
        self.wait_until_whole()
        for master, replica in zip(self.masters, self.replicas, strict=False):
            with master.client() as client, replica.client() as its_client:
                its_client.execute_command("CLUSTER REPLICATE", client.execute_command("CLUSTER MYID"))
        _wait(lambda: all(self._is_followed(master) for master in self.masters) or not self.replicas)
        return self

    def wait_until_whole(self) -> None:
        """As each node sees it, and no node waits for another: a node that came back is known to have by all."""
        _wait(lambda: all(self._is_whole(node) for node in self.nodes if node.process is not None))

    def wait_until_promoted(self, replica: RedisServer) -> None:
        """Until all who are alive know it: who is asked by a newcomer must not send it to the dead."""
        _wait(lambda: all(self._leads(replica, node) for node in self.nodes if node.process is not None))

    def _leads(self, replica: RedisServer, asked: RedisServer) -> bool:
        with asked.client() as client:
            known = client.execute_command("CLUSTER NODES")
        one = known.get(f"127.0.0.1:{replica.port}", {})
        return "master" in one.get("flags", "") and bool(one.get("slots"))

    def _is_followed(self, master: RedisServer) -> bool:
        with master.client() as client:
            return bool(client.execute_command("WAIT", 1, 100) == 1)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def _is_whole(self, node: RedisServer) -> bool:
        with node.client() as client:
            info = client.execute_command("CLUSTER INFO")
        text = info.decode() if isinstance(info, bytes) else "\n".join(f"{key}:{value}" for key, value in info.items())
        return "cluster_state:ok" in text and f"cluster_known_nodes:{len(self.nodes)}" in text


def _wait(condition: Callable[[], object]) -> None:
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.05)
    raise RuntimeError("the cluster did not come together")
