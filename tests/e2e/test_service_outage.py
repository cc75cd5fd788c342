"""The outage of S4-26 in seconds instead of hours: a server refuses, then falters, then is back, all by itself."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

from tests.e2e.service_faults import begun, census, rig_over, scraped, site
from tests.e2e.services import SWIFTLY, Command, Rig, until
from tests.services.kafka import KafkaServer
from tests.services.redis import RedisServer

from outrider.testing.webfarm import Asked, WebFarm, status

SICK, PAGES = ("sick-one.test", "sick-two.test"), 12
BEFORE = 2
STEADY, STEADY_PAGES = "steady.test", 20
BACKOFFS = (0.2, 0.4, 0.8)
SLACK = 0.002
_BREAKER, _FETCHED = "page_fetcher_circuit_breaker", "page_fetcher_pages_fetched_total"
_SETTLED = "outrider_frontier_urls{fetched}"


async def test_a_server_that_goes_away_and_comes_back_costs_its_urls_nothing(
    tmp_path: Path, redis: RedisServer, kafka: KafkaServer
) -> None:
    """S4-4, S4-5, S4-21 to S4-26, S4-28, S4-45 to S4-50, H4-2: while the other site is served as if nothing were."""
    sites = {name: site(PAGES) for name in SICK}
    changes = f"changes-{tmp_path.name}"
    async with (
        WebFarm({STEADY: site(STEADY_PAGES)}) as steady,
        rig_over(steady, tmp_path, redis, kafka, more_topics=[changes]) as built,
    ):
        async with WebFarm(sites) as farm:
            worker = await _started(built, [steady.port, farm.port], changes)
            urls = [farm.url(host, f"/{number}") for host in SICK for number in range(PAGES)]
            early = [url for url in urls if int(url.rpartition("/")[2]) < BEFORE]
            built.push(early)
            await until(lambda: scraped(worker)[_FETCHED] == len(early), "all is well", worker)
        built.push(sorted({*urls} - {*early}))
        await until(lambda: scraped(worker)[f"{_BREAKER}_current_backoff_seconds"] == BACKOFFS[-1], "it is left alone")

        built.push(steady.url(STEADY, f"/{number}") for number in range(STEADY_PAGES))
        rest = STEADY_PAGES + len(early)
        await until(lambda: scraped(worker)[_SETTLED] == rest, "the other site is served meanwhile", worker)
        await _judge_outage(built, worker, urls)
        faltering = {host: {"*": status(503)} for host in SICK}
        async with WebFarm(faltering, port=farm.port) as again:
            await until(lambda: min(len(again.asked(host)) for host in SICK) >= 3, "it is probed", worker)
            _judge_probes(again.log)
            asked = len(again.log)
            again.sites.update(sites)
            everything = len(urls) + STEADY_PAGES
            await until(lambda: scraped(worker)[_FETCHED] == everything, "all is well again", worker)
            _judge_recovery(again.log[asked:], urls)
        await until(lambda: scraped(worker)[_SETTLED] == everything, "it is counted", worker)
        _judge_metrics(scraped(worker))

        assert await worker.stopped() == 0, worker.said
        assert built.fetched() == Counter([*urls, *(steady.url(STEADY, f"/{n}") for n in range(STEADY_PAGES))])
        _judge_events(built, changes)
        counted = await census(built)
        assert (counted.adds_up, counted.is_finished, counted.leased) == (True, True, 0)


async def _started(built: Rig, ports: list[int], changes: str) -> Command:
    worker = await built.worker(
        "worker",
        **SWIFTLY,
        allow_ports=ports,
        breaker_backoff=BACKOFFS[0],
        breaker_max_backoff=BACKOFFS[-1],
        events=f"{built.kafka.url(built.topic)}?timeout=10&rest={changes}",
    )
    await begun(worker)
    return worker


async def _judge_outage(built: Rig, worker: Command, urls: list[str]) -> None:
    """Nothing is lost, nobody is blamed, and nothing is asked but by probes."""
    owed = len(urls) - len(SICK) * BEFORE
    seen = scraped(worker)
    assert seen["outrider_frontier_urls{pending}"] + seen["outrider_frontier_urls{waiting}"] == owed
    assert seen["page_fetcher_pages_requeued_total"] == 5 * len(SICK)
    assert seen[f"{_BREAKER}_opened_total"] >= 2 * len(SICK)
    assert seen[f"{_BREAKER}_probes_total{{failure}}"] >= len(SICK)
    assert seen[f"{_BREAKER}_state"] in {1, 2}
    assert seen[f"{_BREAKER}_consecutive_failures"] >= 5
    assert seen["page_fetcher_dlq_enqueued_total"] == seen["page_fetcher_dlq_size"] == 0
    assert built.letters() == []


def _judge_probes(log: list[Asked]) -> None:
    """S4-23: one HEAD of the root at a time, and never sooner than it was said."""
    assert {(asked.method, asked.target) for asked in log} == {("HEAD", "/")}
    for host in SICK:
        moments = [asked.monotonic_at for asked in log if asked.host == host]
        assert all(later - earlier >= BACKOFFS[-1] - SLACK for earlier, later in pairwise(moments))


def _judge_recovery(log: list[Asked], urls: list[str]) -> None:
    """One more probe for each site, then every page that was owed, once."""
    assert Counter(asked.host for asked in log if asked.method == "HEAD") == dict.fromkeys(SICK, 1)
    got = Counter((asked.host, asked.target) for asked in log if asked.method == "GET")
    assert set(got.values()) == {1}
    assert len([target for _, target in got if target != "/robots.txt"]) == len(urls) - len(SICK) * BEFORE


def _judge_metrics(seen: dict[str, float]) -> None:
    assert seen["page_fetcher_pages_fetched_total"] == len(SICK) * PAGES + STEADY_PAGES
    assert seen[f"{_BREAKER}_closed_total"] == seen[f"{_BREAKER}_probes_total{{success}}"] == len(SICK)
    assert seen[f"{_BREAKER}_opened_total"] == seen[f"{_BREAKER}_probes_total{{failure}}"] + len(SICK)
    for gauge in ("state", "consecutive_failures", "current_backoff_seconds"):
        assert seen[f"{_BREAKER}_{gauge}"] == 0
    assert seen["page_fetcher_fetch_duration_seconds_count"] > 0
    assert seen["page_fetcher_content_size_bytes_count"] == seen["page_fetcher_pages_fetched_total"]
    for name in ("pages_failed_total", "dlq_enqueued_total", "dlq_size", "input_queue_size"):
        assert seen[f"page_fetcher_{name}"] == 0


def _judge_events(built: Rig, changes: str) -> None:
    """S4-22, S4-24: five failures open it, and from then on it is asked by probes alone, ever more seldom."""
    failures = Counter(told.event["site"] for told in built.told(built.failures) if told.event["type"] == "page_failed")
    assert failures == dict.fromkeys(SICK, 5)
    for host in SICK:
        told = [one.event for one in built.told(changes) if one.event.get("site") == host]
        went_down = [event for event in told if event["type"] == "site_went_down"]
        assert [event["openings"] for event in went_down] == list(range(1, len(went_down) + 1))
        for event in went_down:
            wait = BACKOFFS[min(event["openings"], len(BACKOFFS)) - 1]
            assert wait - 1e-6 <= event["probe_at"] - event["at"] <= wait * 1.1 + 1e-6
        assert [event["alive"] for event in told if event["type"] == "site_probed"].count(True) == 1
        assert [event["type"] for event in told].count("site_came_back") == 1
    assert built.letters() == []
