"""A schedule's lists are read when they have changed, and not kept for ever; a store that is away may be waited for."""

import os
from pathlib import Path

import pytest

from outrider.app.schedule import Lists, Target, open_scheduler
from outrider.app.sources import Schedule, read_schedule
from outrider.errors import ConfigError, StoreUnavailable
from outrider.policy.schedule import Kind, Source
from outrider.settings import settings_of
from outrider.testing.clock import FakeClock

PAGE = Source(Kind.URL, "https://example.org/")
SEEDS = Source(Kind.SEEDS, "seeds.txt")
NOWHERE = "redis://:pass-word@127.0.0.1:1"


@pytest.fixture
def schedule(tmp_path: Path) -> Schedule:
    (tmp_path / "seeds.txt").write_text("https://example.org/1\n")
    return Schedule("news", (SEEDS, PAGE), str(tmp_path))


async def test_a_list_is_read_again_when_its_file_has_changed(schedule: Schedule, tmp_path: Path) -> None:
    lists = Lists(schedule, FakeClock())
    first, again = await lists.read(SEEDS), await lists.read(SEEDS)
    (tmp_path / "seeds.txt").write_text("https://example.org/1\nhttps://example.org/2\n")

    changed = await lists.read(SEEDS)

    assert first is again
    assert (first.edition.total, changed.edition.total) == (1, 2)
    assert first.edition.digest != changed.edition.digest


async def test_a_file_that_was_only_touched_is_the_same_list(schedule: Schedule, tmp_path: Path) -> None:
    lists = Lists(schedule, FakeClock())
    first = await lists.read(SEEDS)
    os.utime(tmp_path / "seeds.txt", ns=(5, 5))

    touched = await lists.read(SEEDS)

    assert first.edition.digest == touched.edition.digest
    assert touched.edition.written_at == 5


async def test_a_list_that_nobody_asks_for_is_forgotten(schedule: Schedule) -> None:
    clock = FakeClock()
    lists = Lists(schedule, clock)
    first = await lists.read(SEEDS)

    clock.advance(100.0)
    await lists.read(PAGE)

    assert await lists.read(SEEDS) is not first


async def test_a_list_that_is_gone_is_said_so(schedule: Schedule, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").unlink()

    with pytest.raises(ConfigError, match="the seeds cannot be read: No such file"):
        await Lists(schedule, FakeClock()).read(SEEDS)


async def test_a_store_that_is_away_is_an_error_at_the_start(schedule: Schedule) -> None:
    target = Target(settings_of(redis_url=NOWHERE), Path("sources.yaml"))

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        async with open_scheduler(target, schedule, print):
            pass
    assert "pass-word" not in str(target)


async def test_one_file_has_one_scheduler_when_a_frontier_is_fed(tmp_path: Path) -> None:
    file = tmp_path / "sources.toml"
    file.write_text("[[sources]]\nurl = 'example.org'\n")
    target = Target(settings_of(), file, f"sqlite://{tmp_path}/frontier.db")

    async with open_scheduler(target, read_schedule(file), print) as scheduler:
        await scheduler.run(once=True)
        with pytest.raises(ConfigError, match="another scheduler is at work"):
            async with open_scheduler(target, read_schedule(file), print):
                pass

    assert scheduler.counts.urls_enqueued == 1
