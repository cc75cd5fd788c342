"""What a kill left between two steps is not taken for whole when the crawl goes on."""

import time
from pathlib import Path

import pytest

from outrider.app.crawl import open_crawl
from outrider.app.directory import CrawlDirectory
from outrider.app.rules import frontier_rules
from outrider.engine.mates import pages_of
from outrider.engine.story import fetch_id
from outrider.model.capture import Capture
from outrider.model.lease import Lease
from outrider.model.outcome import Hop
from outrider.model.record import Confidence, Page, PageMetadata, PageStatus, Record
from outrider.model.task import Task
from outrider.model.url import Url
from outrider.settings import Settings, settings_of
from outrider.stores.contents import open_contents
from outrider.stores.records import open_records
from outrider.stores.registry import open_frontier

SEED = Url("http://site.test/")
HOP = Url("http://site.test/hop")
ELSEWHERE = Url("http://elsewhere.test/")


@pytest.mark.parametrize(
    ("answered", "chain", "final"),
    [
        (SEED, (), SEED),
        # The page is on record under neither end of what the archive has of it.
        (HOP, (Hop(SEED, 302),), ELSEWHERE),
    ],
)
async def test_a_page_whose_visit_was_not_settled_is_not_counted_as_had(
    tmp_path: Path, answered: Url, chain: tuple[Hop, ...], final: Url
) -> None:
    """Its answer is cut off, for it is fetched again: a limit of pages must not be reached by it."""
    home = CrawlDirectory(tmp_path / "crawl")
    settings = settings_of(contact="crew@example.org")
    with home.held():
        await _killed_before_settling(home, settings, answered, chain, final)

        async with open_crawl(settings, [SEED], home, shown=lambda _: None) as crawling:
            tally = await crawling.records.tally()
            [record] = await crawling.records.find(SEED)

        assert crawling.mended is not None
        assert crawling.mended.cut == 1
        assert (pages_of(tally), tally.bytes) == (0, 0)
        assert record.page is not None
        assert record.page.metadata.status is PageStatus.FAILED
        assert record.page.metadata.content_key is None
        assert "owed" in (record.page.metadata.error or "")


async def _killed_before_settling(
    home: CrawlDirectory, settings: Settings, answered: Url, chain: tuple[Hop, ...], final: Url
) -> None:
    """Leased, archived and on record, as after a kill in the middle of `Finisher`."""
    home.remember(settings, [SEED])
    async with (
        open_frontier(f"sqlite://{home.database}", frontier_rules(settings)) as frontier,
        open_records(f"sqlite://{home.database}") as records,
        open_contents(f"warc://{home.archive}?indexes={home.indexes}") as contents,
    ):
        await frontier.add([Task(SEED)])
        [lease] = (await frontier.lease(sites=1, tasks=1, seconds=60)).leases
        name = _name(lease, frontier.rules.identity.seed)
        body = b"<p>a page</p>"
        capture = Capture(name, answered, time.time(), 200, (("Content-Type", "text/html"),), body, chain=chain)
        [key] = await contents.put([capture])
        await records.write([Record(_page(name, key, len(body), final))])
    assert list(home.archive.glob("*.open"))


def _name(lease: Lease, secret: int) -> str:
    return fetch_id(lease.tasks[0], secret)


def _page(name: str, key: str, size: int, final: Url) -> Page:
    return Page(
        fetch_id=name,
        scan_id="",
        url=str(SEED),
        status_code=200,
        load_time=1,
        metadata=PageMetadata(
            status=PageStatus.FETCHED,
            final_url=str(final),
            content_type="text/html",
            content_length=size,
            redirect_count=0,
            robots_blocked=False,
            confidence=Confidence.HIGH,
            skip_content_extraction=False,
            fetched_at="2026-01-01T00:00:00.000Z",
            wire_length=size,
            content_key=key,
        ),
    )
