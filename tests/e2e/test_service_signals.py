"""A service that is told to stop finishes what it can, gives back the rest, and is never held up by who is away."""

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

from tests.e2e.service_faults import answered, begun, census, judge_events, readiness, rig_over, scraped, site
from tests.e2e.services import SWIFTLY, until
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.cli.exit_codes import ExitCode
from outrider.testing.webfarm import WebFarm, hang, slow_first_byte
from outrider.testing.webfarm.holes import refused_port

AT_ONCE = 20.0
"""Less than any of the waits here would take that somebody forgot to end."""
LONG = 300.0
SITES, PAGES = 4, 12
_SETTLED = "outrider_frontier_urls{fetched}"


async def test_a_stop_finishes_what_is_under_way_and_hands_the_rest_back(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """S4-27: by SIGTERM to every process, as systemd does it. What was fetched is told, and no site stays lent."""
    release = asyncio.Event()
    hosts = [f"site-{number}.test" for number in range(SITES)]
    sites = {host: site(PAGES) for host in hosts}
    sites["slow.test"] = site(1, slow=slow_first_byte(release))
    async with WebFarm(sites) as farm, rig_over(farm, tmp_path, redis, kafka) as built:
        urls = [farm.url(host, f"/{number}") for host in hosts for number in range(PAGES)]
        urls.append(farm.url("slow.test", "/slow"))
        worker = await built.worker("worker", delay=0.2, timeout=LONG, first_byte_timeout=LONG)
        built.push(reversed(urls))
        await until(
            lambda: farm.asked("slow.test", "/slow") != [] and len(answered(farm.log)) > SITES, "it works", worker
        )

        os.killpg(worker.process.pid, signal.SIGTERM)
        await until(lambda: "told to stop" in readiness(worker)[1], "it stops", worker)
        release.set()
        code = await worker.ended()

        assert code == ExitCode.OK, worker.said
        fetched = answered(farm.log)
        assert urls[-1] in fetched
        assert len(fetched) < len(urls)
        assert built.fetched() == Counter(fetched)
        counted = await census(built)
        assert (counted.leased, counted.fetched, counted.adds_up) == (0, len(fetched), True)
        assert counted.pending == len(urls) - len(fetched)
        assert judge_events(built, fetched, farm.log) == 0


async def test_a_stop_while_a_site_is_down_does_not_sleep(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """H4-4: the next probe is minutes away. The URLs stay owed, and nothing is a dead letter."""
    with refused_port() as (_, port):
        async with WebFarm({}) as farm, rig_over(farm, tmp_path, redis, kafka) as built:
            urls = [f"http://down.test:{port}/{number}" for number in range(PAGES)]
            worker = await built.worker("worker", **SWIFTLY, allow_ports=[port], breaker_backoff=LONG)
            built.push(urls)
            await until(lambda: "circuit open for down.test" in worker.said, "it is down", worker)

            code = await worker.stopped(within=AT_ONCE)

            assert code == ExitCode.OK, worker.said
            counted = await census(built)
            assert (counted.leased, counted.pending + counted.waiting) == (0, len(urls))
            assert built.letters() == []


async def test_a_second_signal_gives_up_what_is_under_way(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """The site says nothing, and would be waited for as long as the drain may take; its URL stays owed."""
    async with (
        WebFarm({"silent.test": site(0, silence=hang())}) as farm,
        rig_over(farm, tmp_path, redis, kafka) as built,
    ):
        worker = await built.worker(
            "worker", timeout=LONG, first_byte_timeout=LONG, idle_timeout=LONG, drain_limit=LONG
        )
        built.push([farm.url("silent.test", "/silence")])
        await until(lambda: farm.asked("silent.test", "/silence") != [], "it waits for an answer", worker)

        worker.process.send_signal(signal.SIGTERM)
        await until(lambda: readiness(worker)[0] == 503, "it stops", worker)
        code = await worker.stopped(signal.SIGINT, within=AT_ONCE)

        assert code == ExitCode.OK, worker.said
        counted = await census(built)
        assert (counted.leased, counted.pending) == (0, 1)
        assert built.told() == built.told(built.failures) == []


async def test_a_stop_while_kafka_is_away_ends_within_its_limit_and_loses_nothing(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """What was fetched could not be told, so it is fetched again by the next, at once: its sites were given back."""
    hosts = [f"site-{number}.test" for number in range(SITES)]
    async with WebFarm({host: site(2) for host in hosts}) as farm, rig_over(farm, tmp_path, redis, kafka) as built:
        urls = [farm.url(host, f"/{number}") for host in hosts for number in range(2)]
        settings = {"events": f"{kafka.url(built.topic)}?timeout=1", "drain_limit": 1.0}
        worker = await built.worker("worker", **settings)
        await begun(worker)
        built.push(urls[:1])
        await until(lambda: scraped(worker)[_SETTLED] == 1, "it works", worker)
        kafka.kill()
        try:
            built.push(urls[1:])
            await until(lambda: "cannot be reached" in readiness(worker)[1], "it waits for Kafka", worker)

            code = await worker.stopped(within=AT_ONCE)
        finally:
            await asyncio.to_thread(kafka.start)

        assert code == ExitCode.STORE, worker.said
        assert worker.said.splitlines()[-1].startswith(f"outrider: kafka://{kafka.bootstrap}/")
        assert "Traceback" not in worker.said
        assert (await census(built)).leased == 0
        again = await built.worker("again", **settings)
        await begun(again)
        await until(lambda: scraped(again)[_SETTLED] == len(urls), "the next one does it", again)
        assert await again.stopped() == ExitCode.OK
        judge_events(built, urls, farm.log)
        assert (await census(built)).fetched == len(urls)
