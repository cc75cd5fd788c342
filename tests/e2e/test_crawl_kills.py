"""However a crawl is killed, and however often: the same command goes on, and loses nothing (DESIGN 1)."""

import os
import random
from collections import Counter
from pathlib import Path

from tests.e2e.crawl_kills import as_heard, endure
from tests.e2e.crawls import HAD, SLACK, Crawl, Left, farm

from outrider.cli.exit_codes import ExitCode
from outrider.testing.webfarm.world import SWIFT, World
from outrider.testing.webfarm.world_judge import Judge, differences

DELAY = float(str(SWIFT["delay"]))
IN_CI, IN_SHORT = 50, 10
KILLS = int(os.environ.get("CRAWL_KILLS", str(IN_CI if os.environ.get("CI") == "true" else IN_SHORT)))
SEED = int(os.environ.get("CRAWL_KILLS_SEED", str(random.randrange(1 << 32))))  # noqa: S311 - any will do, and it is printed
LIMIT = 150


async def test_kills_of_the_whole_crawl_lose_no_page_and_shorten_no_pause(tmp_path: Path) -> None:
    """H0-4, H2-21, C23: as many crawls, one after the other, as it takes to be killed so often."""
    luck = random.Random(SEED)  # noqa: S311 - repeatable on purpose
    left_over = KILLS
    crawls = 0
    while left_over:
        crawls += 1
        folder = tmp_path / str(crawls)
        folder.mkdir()
        left_over -= await _killed(folder, luck, left_over)
    print(f"CRAWL_KILLS={KILLS} CRAWL_KILLS_SEED={SEED}: {crawls} crawls")


async def _killed(folder: Path, luck: random.Random, kills: int) -> int:
    """One crawl to its end; how often it was killed."""
    world = World(luck.randrange(1000), sites=26, pages=700, hostile_share=0.3, trap=12, pause=0.5)
    print(f"CRAWL_KILLS_SEED={SEED}: {world}")
    async with farm(world, folder) as web:
        crawl = web.crawl(workers=luck.choice((1, 1, 2)))

        endured = await endure(web, crawl, luck, kills)

        left = await crawl.left()
        print(f"{len(endured.kills)} kills, {len(left.had)} pages, {len(web.served.log())} requests")
        assert endured.ended.code == ExitCode.OK, endured.ended.errors
        truth = web.served.truth()
        assert differences(truth, left.ledger) == []
        judge = Judge(world, as_heard(web.served.log(), endured.kills))
        assert judge.gaps(DELAY, slack=SLACK) == []
        assert judge.disallowed_requests() == []
        assert judge.unasked_robots() == []
        assert judge.fetched_more_than_once(truth, web.served.place, more=len(endured.kills)) == {}
        assert left.census.adds_up
        assert left.census.is_finished
        assert left.census.leased == 0
        assert left.census.discovered == len(left.ledger)
        assert left.told("bug_found") == []
        assert await left.audited() == []
        _judge_archive(left)
    return len(endured.kills)


async def test_a_limit_of_pages_is_exact_through_kills(tmp_path: Path) -> None:
    """H2-22: never more on record, not for a moment, and just as many at the end."""
    luck = random.Random(SEED)  # noqa: S311 - repeatable on purpose
    world = World(luck.randrange(1000), sites=14, pages=900, hostile_share=0.0, spiced=False)
    print(f"CRAWL_KILLS_SEED={SEED}: {world}")
    async with farm(world, tmp_path) as web:
        crawl = web.crawl(delay=0.2)

        endured = await endure(web, crawl, luck, max(4, KILLS // 5), "--max-pages", str(LIMIT))

        left = await crawl.left()
        print(f"{len(endured.kills)} kills, on record after each: {endured.pages}")
        assert endured.ended.code == ExitCode.OK, endured.ended.errors
        assert endured.ended.summary
        assert endured.ended.summary["finish"] == "max_pages"
        assert max(endured.pages, default=0) <= LIMIT
        assert len(left.had) == LIMIT
        assert left.census.adds_up
        assert left.census.fetched == LIMIT
        assert Judge(world, web.served.log()).gaps(0.2, slack=SLACK) == []
        assert await left.audited() == []
        _judge_archive(left)


async def test_a_crawl_that_is_finished_stays_finished(tmp_path: Path) -> None:
    async with farm(World(3, sites=2, pages=10, hostile_share=0.0), tmp_path) as web:
        crawl = web.crawl()
        first = await crawl.run()
        asked = len(web.served.log())

        again = await crawl.run()

        assert (first.code, again.code) == (ExitCode.OK, ExitCode.OK)
        assert len(web.served.log()) == asked
        assert _finish(again.summary) == "finished"
        await _still_whole(crawl)


async def _still_whole(crawl: Crawl) -> None:
    left = await crawl.left()
    assert left.census.is_finished
    _judge_archive(left)


def _finish(summary: dict[str, object] | None) -> object:
    return (summary or {}).get("finish")


def _judge_archive(left: Left) -> None:
    """One record for each owed visit, and its answer listed once; what a kill left between may lie there unlisted."""
    archived = left.archived()
    had = Counter(page.url for page in left.had)
    kept = [page for page in left.pages if page.metadata.content_key]
    assert max(had.values(), default=1) == 1
    assert max(Counter(page.fetch_id for page in left.pages).values(), default=1) == 1
    assert sorted(archived.listed) == sorted(page.fetch_id for page in kept)
    assert set(archived.fetch_ids) == set(archived.listed)
    for page in kept:
        capture = left.capture(page)
        assert capture is not None
        assert capture.fetch_id == page.fetch_id
        if page.metadata.status in HAD:
            assert str(capture.url) == page.metadata.final_url
