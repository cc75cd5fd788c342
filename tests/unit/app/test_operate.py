"""A crawl that somebody acts upon: its stores are opened as they are, and its event log with the first event."""

import asyncio
from pathlib import Path

import pytest

from outrider.app.directory import CrawlDirectory
from outrider.app.operate import Sources, directory_sources, open_operated, store_sources
from outrider.errors import ConfigError
from outrider.model.event import SiteOrdered
from outrider.ports import FrontierRules
from outrider.settings import settings_of
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier

ORDERED = SiteOrdered(at=1.0, site="a.org", paused=True, by="a test")


@pytest.fixture
async def home(tmp_path: Path) -> CrawlDirectory:
    url = f"sqlite://{tmp_path}/crawl.db"
    async with open_frontier(url, FrontierRules()), open_records(url):
        return CrawlDirectory(tmp_path)


async def test_events_go_to_the_directory_into_one_file_however_many_tell_at_once(home: CrawlDirectory) -> None:
    settings = settings_of()

    async with open_operated(settings, directory_sources(settings, home)) as place:
        nothing_yet = home.events.exists()
        await asyncio.gather(*(place.events.publish([ORDERED]) for _ in range(5)))

    (file,) = home.events.glob("events-99-*.jsonl")
    assert (nothing_yet, place.has_events, place.has_records) == (False, True, True)
    assert file.read_text().count("site_ordered") == 5


async def test_without_a_place_for_events_they_are_dropped(home: CrawlDirectory) -> None:
    settings = settings_of(frontier=f"sqlite://{home.database}")

    async with open_operated(settings, store_sources(settings)) as place:
        await place.events.publish([ORDERED])
        census = await place.frontier.census()

    assert (place.has_events, place.has_records, census.discovered) == (False, True, 0)
    assert not home.events.exists()


async def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    settings = settings_of()

    with pytest.raises(ConfigError, match=r"holds no crawl\.db"):
        directory_sources(settings, CrawlDirectory(tmp_path))
    with pytest.raises(ConfigError, match="there is no such file"):
        async with open_operated(settings, Sources(f"sqlite://{tmp_path}/other.db")):
            pass
    assert not any(place.exists() for place in (tmp_path / "crawl.db", tmp_path / "other.db"))
