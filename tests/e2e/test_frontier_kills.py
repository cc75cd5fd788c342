"""No task is lost, no gap is shortened, however the workers die (DESIGN 1: peek, do not pop; acknowledge last)."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.frontier_kills import INTERVAL, LENT_AT_ONCE, SITES, TASKS, crawl_through_kills

# A durable backend is added by saying how its URL is made from a folder of its own.
BACKENDS: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite://{folder}/frontier.db",
}
KILLS = int(os.environ.get("KILLS", "500" if os.environ.get("CI") == "true" else "60"))
SEED = int(os.environ.get("KILLS_SEED", str(random.randrange(1 << 32))))  # noqa: S311 - any will do, and it is printed


@pytest.mark.parametrize("backend", BACKENDS)
async def test_killed_workers_lose_no_task_and_shorten_no_gap(backend: str, tmp_path: Path) -> None:
    """H0-4, H0-5, H2-21, C20, C23."""
    print(f"{backend}: {KILLS} kills, KILLS_SEED={SEED}")

    story = await crawl_through_kills(BACKENDS[backend](tmp_path), tmp_path, kills=KILLS, seed=SEED)

    pages = SITES * max(60, KILLS)
    repeated = story.visits.total() - pages
    print(f"{pages} pages, {repeated} repeated, {story.stale} stale, shortest gap {story.shortest_gap:.4f} s")
    print(f"{story.kills_at_work} kills hit a frontier at work")
    census = story.census
    assert (census.discovered, census.fetched, census.pending + census.waiting) == (pages, pages, 0)
    assert census.adds_up
    assert len(story.visits) == pages
    assert set(story.settled.values()) == {1}
    assert repeated <= KILLS * LENT_AT_ONCE * TASKS + story.stale
    assert story.shortest_gap >= INTERVAL - 1e-6
    for lent in story.tokens.values():
        tokens = [token for token, _ in sorted(lent)]
        assert len(set(tokens)) == len(tokens), "a site was lent twice under one token"
        assert [at for _, at in sorted(lent)] == sorted(at for _, at in lent), "tokens do not grow with time"
