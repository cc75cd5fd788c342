"""Several machines and one Redis: a line that is cut, clocks that are wrong. No pause is shortened, nothing is lost."""

import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec import json
from tests.e2e.crawls import SLACK
from tests.e2e.machines import Fleet, push
from tests.e2e.namespaces import STORE, Networks, networks, redis_within, web_within
from tests.e2e.services import until
from tests.services.redis import RedisServer

from outrider.model.url import Url
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_judge import Judge
from outrider.testing.webfarm.world_server import Served, served

WRONG_BY = {"slow": -120, "fast": 90}
WORLD = World(5, sites=20, pages=500, hostile_share=0.0, spiced=False, varied=False, size=2_000, seeds=20)
DELAY = 0.2
LEASE = 2.0
"""Shorter than a stay at a site, which is 16 pages: so leases are extended, too."""
HELD = 12
"""Sites that one machine holds at most: more than half of them, so that another can take over; not all of them."""
SAME = 20.0
"""Two moments are of the same clock when they are closer than this, however slow a machine is."""


def _urls(web: Served) -> list[str]:
    return sorted(url for url, expected in web.truth().items() if not expected.listing)


# a line that is cut


async def test_a_machine_that_is_cut_off_from_the_store_stops_in_time_and_goes_on_later(tmp_path: Path) -> None:
    """H2-21, H4-8, S4-40: the sites can still be reached from there, but they are another's when the leases end."""
    log = tmp_path / "requests.log"
    with networks("one", "two") as lines, redis_within(lines) as client:
        async with web_within(WORLD, log, lines.name("one"), lines.name("two")) as web:
            fleet = _fleet(tmp_path, web, f"redis://{STORE}:6379/0?timeout=1")
            urls = _urls(web)
            before, after = urls[::2], urls[1::2]
            try:
                one, two = [await fleet.start(name, within=lines.within(name)) for name in ("one", "two")]
                push(client, before)
                await until(lambda: all(map(fleet.fetched, ("one", "two"))), "both are at work", one, two)

                lines.cut("one")
                cut_at = time.monotonic()
                await until(lambda: len(fleet.fetched()) >= len(before), "the other takes over", one, two)
                last_asked_at = max(_asked_at(log, "one"))
                lines.mend("one")
                mended_at = time.monotonic()
                push(client, after)

                await until(lambda: len(fleet.fetched()) >= len(urls), "every page is told of", one, two)
                await until(lambda: _census(lines, fleet)["pending"] == 0, "everything is settled", one, two)
                assert [await machine.stopped() for machine in (one, two)] == [0, 0]
            finally:
                await fleet.close()
            census = _census(lines, fleet)
    # The line breaks in the middle of a lease, which ends at most as much later. What was sent then may just arrive.
    assert cut_at < last_asked_at < cut_at + LEASE + 1
    assert max(_asked_at(log, "one")) > mended_at
    _judge_told(fleet, urls)
    assert Judge(WORLD, web.log()).gaps(DELAY, slack=SLACK) == []
    assert (census["fetched"], census["leased"], census["dead"]) == (len(urls), 0, {})


def _fleet(folder: Path, web: Served, store: str) -> Fleet:
    there = {"hosts": dict(web.hosts), "allow_private": ["127.0.0.0/8"], "allow_ports": [web.port]}
    keys = {"delay": DELAY, "lease": LEASE, "concurrency": HELD}
    return Fleet(folder, frontier=store, contents=store, redis_url=store, **there, **keys)


def _asked_at(log: Path, machine: str) -> list[float]:
    """When it asked something of the web."""
    lines = [json.decode(line) for line in log.with_suffix(".callers").read_bytes().splitlines()]
    return [at for at, caller in lines if caller == machine]


def _census(lines: Networks, fleet: Fleet) -> dict[str, Any]:
    command = [sys.executable, "-m", "outrider", "frontier", "stats", f"redis://{STORE}:6379/0", "--json"]
    command += ["--config", str(fleet.config("two"))]
    told = subprocess.run([*lines.within("server"), *command], check=True, capture_output=True)
    census: dict[str, Any] = json.decode(told.stdout)
    return census


def _judge_told(fleet: Fleet, urls: list[str]) -> None:
    """What was under way when the line was cut comes twice, from the two of them, by the same name."""
    told = fleet.told()
    names = {(event["url"], event["fetch_id"]) for event in told}
    assert {event["url"] for event in told} == set(urls)
    assert len(names) == len(urls)
    again = fleet.fetched("one") & fleet.fetched("two")
    print(f"{len(told)} events of {len(urls)} pages, {len(again)} of them by both")
    per_site = Counter(Url(url).site() for url in again)
    assert max(per_site.values(), default=0) <= LEASE / DELAY + 2


# clocks that are wrong


@pytest.fixture
def shifted(tmp_path: Path) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        why = "no C compiler: a clock that is wrong cannot be built"
        if os.environ.get("CI") == "true":
            pytest.fail(why)
        pytest.skip(why)
    source = Path(__file__).parents[1] / "services" / "shifted_clock.c"
    target = tmp_path / "shifted_clock.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", target, source], check=True)
    return target


def _now(environment: Mapping[str, str]) -> float:
    told = subprocess.run(
        [sys.executable, "-c", "import time; print(time.time())"], env=environment, check=True, capture_output=True
    )
    return float(told.stdout)


async def test_a_wrong_clock_shortens_no_pause_and_outlives_no_lease(
    tmp_path: Path, redis: RedisServer, shifted: Path
) -> None:
    """H4-7, S4-3, S4-40: pauses, leases and the times of events are by the clock of the store."""
    clocks = {name: {"LD_PRELOAD": str(shifted), "SHIFTED_CLOCK": str(by)} for name, by in WRONG_BY.items()}
    for name, environment in clocks.items():
        assert abs(_now(environment) - time.time() - WRONG_BY[name]) < SAME
    async with served(WORLD, log=tmp_path / "requests.log") as web:
        urls = _urls(web)
        fleet = _fleet(tmp_path, web, redis.url)
        try:
            machines = [await fleet.start(name, environment=environment) for name, environment in clocks.items()]

            with redis.client() as client:
                push(client, urls)

            await until(lambda: len(fleet.fetched()) >= len(urls), "every page is told of", *machines)
            assert [await machine.stopped() for machine in machines] == [0, 0]
        finally:
            await fleet.close()
        log = web.log()
    assert all(map(fleet.fetched, clocks))
    assert Judge(WORLD, log).gaps(DELAY, slack=SLACK) == []
    # Who took a lease for longer or shorter than it was would have a page visited twice.
    assert fleet.fetched() == Counter(urls)
    asked_at = {web.url(line.host, line.target): line.at for line in log}
    for event in fleet.told():
        fetched_at = datetime.fromisoformat(event["fetched_at"]).timestamp()
        assert abs(event["at"] - asked_at[event["url"]]) < SAME
        assert abs(fetched_at - asked_at[event["url"]]) < SAME
