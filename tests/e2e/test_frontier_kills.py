"""No task is lost, no gap is shortened, however the workers die (DESIGN 1: peek, do not pop; acknowledge last)."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.e2e.frontier_kills import INTERVAL, LENT_AT_ONCE, SITES, TASKS, crawl_through_kills
from tests.services import postgres
from tests.services.redis import RedisServer


@contextmanager
def sqlite_file(folder: Path) -> Iterator[str]:
    folder.mkdir()
    yield f"sqlite://{folder}/frontier.db?recent=20"  # so that merges are cut off as well


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    server = RedisServer(folder).start()
    try:
        yield f"{server.url}?buckets=4"  # as on a cluster: an act may be cut off between two of them
    finally:
        server.stop()


@contextmanager
def postgres_server(_: Path) -> Iterator[str]:
    with postgres.running() as server:
        # A worker lives for a fifth of a second on average, and must not spend it on shaking hands.
        yield f"{server.url('kills')}&pool=1&sslmode=disable"


# A durable backend is added by saying how it is had, with a folder of its own, and by which URL.
BACKENDS: dict[str, Callable[[Path], AbstractContextManager[str]]] = {
    "sqlite": sqlite_file,
    "redis": redis_server,
    "postgres": postgres_server,
}
IN_CI, IN_SHORT = 500, 40
PAGES_A_KILL = {"sqlite": 0.5, "redis": 0.4, "postgres": 0.16}
"""Of each site: so many that most kills hit a frontier at work, and that little is left to be crawled in peace."""
SEED = int(os.environ.get("KILLS_SEED", str(random.randrange(1 << 32))))  # noqa: S311 - any will do, and it is printed


@pytest.mark.parametrize("backend", BACKENDS)
async def test_killed_workers_lose_no_task_and_shorten_no_gap(backend: str, tmp_path: Path) -> None:
    """H0-4, H0-5, H2-21, C20, C23."""
    kills = int(os.environ.get("KILLS", str(IN_CI if os.environ.get("CI") == "true" else IN_SHORT)))
    each = max(40, round(kills * PAGES_A_KILL[backend]))
    print(f"{backend}: {kills} kills, KILLS_SEED={SEED}")

    with BACKENDS[backend](tmp_path / backend) as url:
        story = await crawl_through_kills(url, tmp_path, kills=kills, pages=each, seed=SEED)

    pages = SITES * each
    repeated = story.visits.total() - pages
    print(f"{pages} pages, {repeated} repeated, {story.stale} stale, shortest gap {story.shortest_gap:.4f} s")
    print(f"{story.kills_at_work} kills hit a frontier at work")
    census = story.census
    assert (census.discovered, census.fetched, census.pending + census.waiting) == (pages, pages, 0)
    assert census.adds_up
    assert len(story.visits) == pages
    assert set(story.settled.values()) == {1}
    assert repeated <= kills * LENT_AT_ONCE * TASKS + story.stale
    assert story.shortest_gap >= INTERVAL - 1e-6
    for lent in story.tokens.values():
        tokens = [token for token, _ in sorted(lent)]
        assert len(set(tokens)) == len(tokens), "a site was lent twice under one token"
        assert [at for _, at in sorted(lent)] == sorted(at for _, at in lent), "tokens do not grow with time"
