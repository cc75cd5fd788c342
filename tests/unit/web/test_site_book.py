"""A bounded snapshot of all sites: sorted, filtered, turned page by page, and obedient at once."""

from collections.abc import AsyncIterator, Sequence

import pytest

from outrider.errors import ConfigError, StoreError
from outrider.model.ledger import Search, SiteLine, Slice
from outrider.model.order import SiteOrder
from outrider.model.reason import Reason
from outrider.model.site import Breaker, BreakerState, Pace, Site
from outrider.model.site import Trouble as SiteTrouble
from outrider.testing.clock import FakeClock
from outrider.web import site_book
from outrider.web.shapes import SiteState, Trouble
from outrider.web.site_book import SiteBook, SiteQuery

LINES = [
    SiteLine(Site("idle.test", fetched=9)),
    SiteLine(Site("queued.test"), pending=5),
    SiteLine(Site("down.test", breaker=Breaker(BreakerState.OPEN, 5, probe_at=1_030.0)), waiting=7),
    SiteLine(Site("probed.test", breaker=Breaker(BreakerState.HALF_OPEN, 5))),
    SiteLine(Site("busy.test"), pending=1, held_until=1_020.0),
    SiteLine(Site("expired.test"), pending=1, held_until=999.0),
    SiteLine(Site("slowed.test", not_before=1_009.0, pace=Pace(1.0, 4.0)), pending=2),
    SiteLine(Site("aside.test", set_aside=True)),
    SiteLine(Site("excluded.test", excluded=True), pending=1),
]
STATES = {
    "idle.test": SiteState.IDLE,
    "queued.test": SiteState.QUEUED,
    "down.test": SiteState.DOWN,
    "probed.test": SiteState.PROBED,
    "busy.test": SiteState.BUSY,
    "expired.test": SiteState.QUEUED,
    "slowed.test": SiteState.SLOWED,
    "aside.test": SiteState.SET_ASIDE,
    "excluded.test": SiteState.EXCLUDED,
}


class Surveyed:
    """A frontier of which only the sites matter."""

    def __init__(self, lines: Sequence[SiteLine]) -> None:
        self.lines = list(lines)
        self.surveys = 0
        self.breaks = False

    async def browse(self, search: Search, after: str | None = None, *, most: int = 100, look: int = 1) -> Slice:
        raise NotImplementedError(search, after, most, look)

    async def survey(self) -> AsyncIterator[list[SiteLine]]:
        self.surveys += 1
        if self.breaks:
            raise StoreError("gone")
        for line in self.lines:
            yield [line]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_000.0)


@pytest.fixture
def frontier() -> Surveyed:
    return Surveyed(LINES)


@pytest.fixture
def book(frontier: Surveyed, clock: FakeClock) -> SiteBook:
    return SiteBook(frontier, clock.now, dict)


async def test_every_state_is_told_from_what_is_known(book: SiteBook) -> None:
    page = await book.page(SiteQuery(), None, 100)

    assert {row.key: row.state for row in page.rows} == STATES
    assert next(row for row in page.rows if row.key == "down.test").breaker.probe_at == 1_030.0
    assert sum(one.count for one in page.states) == len(LINES)


@pytest.mark.parametrize("sort", [*site_book.SORTS, *(f"-{name}" for name in site_book.SORTS)])
async def test_pages_in_any_order_hold_every_site_once(book: SiteBook, sort: str) -> None:
    found: list[str] = []
    after: str | None = None
    for _ in LINES:
        page = await book.page(SiteQuery(sort), after, 2)
        found += [row.key for row in page.rows]
        after = page.after
        if after is None:
            break

    assert sorted(found) == sorted(STATES)
    if sort.removeprefix("-") == "name":
        assert found == sorted(STATES, reverse=sort.startswith("-"))


async def test_sites_are_found_by_state_and_a_part_of_the_name(book: SiteBook) -> None:
    by_state = await book.page(SiteQuery(state=SiteState.QUEUED), None, 100)
    by_text = await book.page(SiteQuery(text="OW"), None, 100)

    assert {row.key for row in by_state.rows} == {"queued.test", "expired.test"}
    assert [row.key for row in by_text.rows] == ["down.test", "slowed.test"]
    assert (by_text.found, by_text.known) == (2, len(LINES))


async def test_an_order_shows_at_once(book: SiteBook, frontier: Surveyed) -> None:
    await book.page(SiteQuery(), None, 1)

    book.obey(SiteOrder("queued.test", paused=True))
    book.obey(SiteOrder("unknown.test", paused=True))

    paused = await book.page(SiteQuery(state=SiteState.PAUSED), None, 100)
    assert [row.key for row in paused.rows] == ["queued.test"]
    assert frontier.surveys == 1


async def test_a_snapshot_is_renewed_while_the_one_before_is_shown(
    book: SiteBook, frontier: Surveyed, clock: FakeClock
) -> None:
    await book.page(SiteQuery(), None, 1)
    frontier.lines.append(SiteLine(Site("new.test")))

    clock.advance(100.0)
    before = await book.page(SiteQuery(), None, 1)
    await book.settled()
    after = await book.page(SiteQuery(), None, 1)

    assert (before.known, after.known, frontier.surveys) == (len(LINES), len(LINES) + 1, 2)


async def test_a_store_that_breaks_is_told_to_whoever_asks_next(
    book: SiteBook, frontier: Surveyed, clock: FakeClock
) -> None:
    await book.page(SiteQuery(), None, 1)
    frontier.breaks = True

    clock.advance(100.0)
    await book.page(SiteQuery(), None, 1)
    await book.settled()

    with pytest.raises(StoreError, match="gone"):
        await book.page(SiteQuery(), None, 1)


async def test_more_sites_than_are_looked_through_are_cut_off_and_that_is_said(
    book: SiteBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_book, "MOST_SITES", 4)

    page = await book.page(SiteQuery(), None, 100)

    assert (page.known, page.is_cut) == (4, True)


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "\u0661", "9" * 10])
async def test_a_place_of_nobody_is_refused(book: SiteBook, after: str) -> None:
    with pytest.raises(ConfigError, match="not of this list's making"):
        await book.page(SiteQuery(), after, 1)


@pytest.mark.parametrize(
    ("page_failed_at", "shown"), [(None, ""), (900.0, ""), (989.5, "http://a/"), (995.0, "http://a/")]
)
async def test_the_last_trouble_is_of_a_page_or_of_the_whole_site(
    clock: FakeClock, page_failed_at: float | None, shown: str
) -> None:
    frontier = Surveyed([SiteLine(Site("a.test", trouble=SiteTrouble(Reason.CONNECT_REFUSED, 990.0)))])
    found = {} if page_failed_at is None else {"a.test": Trouble("http://a/", page_failed_at, "http_500")}

    page = await SiteBook(frontier, clock.now, lambda: found).page(SiteQuery(), None, 1)

    assert page.rows[0].trouble is not None
    assert page.rows[0].trouble.url == shown


async def test_a_frontier_that_cannot_be_looked_through_has_no_sites_to_show(clock: FakeClock) -> None:
    page = await SiteBook(object(), clock.now, dict).page(SiteQuery(), None, 10)

    assert (page.rows, page.known) == ((), 0)
