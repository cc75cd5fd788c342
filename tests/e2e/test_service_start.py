"""Started before its stores, a service with `--wait` says what is missing, once each, and begins by itself."""

import asyncio
import re
import signal
from pathlib import Path

from redis import Redis
from tests.e2e.service_faults import begun, readiness
from tests.e2e.services import Rig, until
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.cli.exit_codes import ExitCode
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_server import Ready, Served

AT_ONCE = 20.0


def _rig(folder: Path, redis: RedisServer, kafka: KafkaServer) -> Rig:
    """With nothing that is visited, and no topics: those are what is waited for."""
    return Rig(Served(World(), Ready(8080, None, 0)), redis, kafka, folder)


async def test_a_service_waits_for_each_store_and_begins_when_the_last_is_there(
    tmp_path: Path, kafka: KafkaServer
) -> None:
    """First no Redis, then another password than ours, then no topics; each is told once, however often it is tried."""
    redis = RedisServer(tmp_path / "redis")
    built = _rig(tmp_path, redis, kafka)
    try:
        worker = await built.start("worker", "worker", "--wait")
        await until(lambda: worker.said.count("cannot be reached") == 1, "it waits for Redis", worker)
        assert readiness(worker) == (503, "its stores cannot be used yet\n")
        redis.options = ("--requirepass", "sesame")
        redis.start()
        await until(lambda: "refuses this user or password" in worker.said, "it waits for the password", worker)
        with Redis(port=redis.port, password="sesame") as client:
            client.config_set("requirepass", "")
        await until(lambda: "has no topic" in worker.said, "it waits for the topics", worker)
        assert re.search(f"has no topic {built.failures} and {built.topic} .*--create --topic", worker.said)

        await asyncio.to_thread(kafka.create, built.topic, built.failures)

        await begun(worker)
        await until(lambda: readiness(worker) == (200, "ready\n"), "it is ready", worker)
        assert worker.said.count("trying again until it works") == 3
        assert await worker.stopped(within=AT_ONCE) == ExitCode.OK
        assert "sesame" not in worker.said
    finally:
        await built.close()
        redis.stop()


async def test_a_signal_ends_the_wait_and_without_it_a_missing_topic_is_one_sentence(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    built = _rig(tmp_path, redis, kafka)
    try:
        waiting = await built.start("waiting", "worker", "--wait")
        hasty = await built.start("hasty", "worker")
        await until(lambda: "has no topic" in waiting.said, "it waits for the topics", waiting)

        code = await waiting.stopped(signal.SIGTERM, within=AT_ONCE)

        assert code == ExitCode.OK
        assert "Traceback" not in waiting.said
        assert await hasty.ended(within=AT_ONCE) == ExitCode.STORE
        [sentence] = [line for line in hasty.said.splitlines() if "metrics, health" not in line]
        assert sentence.startswith(f"outrider: {kafka.url(built.topic)}?")
        assert f"the broker has no topic {built.failures} and {built.topic} that this user may see" in sentence
        assert sentence.endswith(f"make it with kafka-topics.sh --create --topic {built.failures} …, or &create=1")
    finally:
        await built.close()
