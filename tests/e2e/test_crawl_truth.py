"""A crawl of a web whose truth is known ends with exactly that truth on record, and was polite all the way."""

from collections import Counter
from pathlib import Path

import pytest
from tests.e2e.crawls import HAD, SLACK, Farm, Left, farm

from outrider.cli.exit_codes import ExitCode
from outrider.model.record import PageStatus
from outrider.testing.webfarm.world import SWIFT, World, small
from outrider.testing.webfarm.world_judge import Judge, differences
from outrider.testing.webfarm.world_truth import Rules

DELAY = float(str(SWIFT["delay"]))
WORLDS = {
    "small": small(7),
    # Every kind of trouble there is, once.
    "troubled": World(11, sites=28, pages=60, hostile_share=15 / 28, trap=8, pause=0.5),
}


@pytest.mark.parametrize("listings", [True, False], ids=["listings", "links alone"])
@pytest.mark.parametrize("world", WORLDS)
async def test_a_crawl_finds_the_truth_and_asks_politely(world: str, listings: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a column of the table
    """C14, C23, C24, H2-13, H2-22: the ledger closes, nothing is fetched twice, robots.txt and every pause are kept."""
    async with farm(WORLDS[world], tmp_path) as web:
        crawl = web.crawl(sitemaps=listings, feeds=listings)

        ended = await crawl.run()

        left = await crawl.left()
        assert ended.code == ExitCode.OK, ended.errors
        assert ended.summary
        assert ended.summary["finish"] == "finished"
        assert differences(web.served.truth(Rules(sitemaps=listings, feeds=listings)), left.ledger) == []
        _judge_requests(web, Rules(sitemaps=listings, feeds=listings))
        _judge_ledger(left)
        _judge_archive(left)
        assert await left.audited() == []


def _judge_requests(web: Farm, rules: Rules) -> None:
    judge = Judge(web.served.world, web.served.log())
    assert judge.disallowed_requests() == []
    assert judge.unasked_robots() == []
    assert judge.gaps(DELAY, slack=SLACK) == []
    assert judge.fetched_more_than_once(web.served.truth(rules), web.served.place) == {}
    # A file that was had is believed for a day, and goes with the site from worker to worker.
    robots = Counter(line.host for line in web.served.log() if line.target == "/robots.txt" and 0 < line.status < 429)
    assert {host: times for host, times in robots.items() if times > 1} == {}


def _judge_ledger(left: Left) -> None:
    census = left.census
    assert census.adds_up
    assert census.is_finished
    assert census.leased == census.stale == 0
    assert census.discovered == len(left.ledger)
    assert left.told("bug_found") == []
    assert left.told("worker_vanished") == []


def _judge_archive(left: Left) -> None:
    """Every answer is in the archive, under the key that its record names, and in the index."""
    archived = left.archived()
    kept = [page for page in left.pages if page.metadata.content_key]
    assert max(Counter(page.fetch_id for page in left.pages).values()) == 1
    assert sorted(page.fetch_id for page in kept) == sorted(archived.fetch_ids) == sorted(archived.listed)
    assert all(page.metadata.content_key for page in left.pages if page.metadata.status in HAD)
    for page in kept:
        capture = left.capture(page)
        assert capture is not None
        assert capture.fetch_id == page.fetch_id
        if page.metadata.status is PageStatus.FETCHED:
            assert (str(capture.url), capture.status) == (page.metadata.final_url, page.status_code)
            assert len(capture.body) == page.metadata.wire_length
