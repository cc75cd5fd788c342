"""All that the dashboard can show and do: one object, asked by its pages and by the API alike.

It only reads, but for `order`, `replay` and `drop`, and these only where the stores take orders. What it shows is a
moment old at most: it looks every two seconds, however many people watch.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from outrider.errors import ConfigError, StoreError
from outrider.model.ledger import Search, SiteLine, State
from outrider.model.order import SiteOrder
from outrider.model.record import Page, PageFilter, PageStatus
from outrider.model.site import Site
from outrider.model.url import Url
from outrider.observe.status_file import is_running, whole_status
from outrider.ops.dead_letters import Wanted, drop, letters, replay
from outrider.ops.orders import Operable, operable, order_site, standing_order
from outrider.ops.retries import with_retries
from outrider.ops.story import Story
from outrider.ops.why import Terms, why
from outrider.ports import BrowsablePages, Clock, EventSink, Records, TakesOrders
from outrider.settings import Loaded
from outrider.stores.none import NoRecords
from outrider.stores.registry import FrontierStore, LooksAtSites
from outrider.web.history import History
from outrider.web.overview import Known, counted_reasons, overview_of, sample_of
from outrider.web.past import past_points
from outrider.web.rows import robots_shown, row_of_site, row_of_visit, trouble_of
from outrider.web.settings_shown import settings_shown
from outrider.web.shapes import (
    Acted,
    LetterPage,
    OrderShown,
    Overview,
    SettingsShown,
    SitePage,
    SiteShown,
    SiteState,
    UrlPage,
)
from outrider.web.site_book import SiteBook, SiteQuery
from outrider.web.story_shapes import StoryShown
from outrider.web.told import story_shown
from outrider.web.troubles import Troubles
from outrider.web.url_book import UrlBook

EVERY: Final = 2.0
_STALE: Final = 3 * EVERY
_VISITS_SHOWN: Final = 20
_ROBOTS_SHOWN: Final = 32 << 10
_LOOK: Final = 20_000


class ReadOnly(ConfigError):
    """Nothing can be changed here."""


class OrderChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be different; what is not given stays as it was. A `delay` of null is the setting's again."""

    paused: bool | UnsetType = UNSET
    excluded: bool | UnsetType = UNSET
    delay: float | UnsetType | None = UNSET


class Sources(Struct, frozen=True):
    """What is looked at, and acted upon; `events` is where an act is told.

    `status` is the file of a crawl that tells of itself, `event_files` the folder of its events.
    """

    frontier: FrontierStore
    records: Records
    events: EventSink
    loaded: Loaded
    terms: Terms
    clock: Clock
    name: str = ""
    status: Path | None = None
    event_files: Path | None = None


@asynccontextmanager
async def open_desk(sources: Sources) -> AsyncIterator["Desk"]:
    """Looks at the stores until the end of the block. Raises `StoreError` where that fails at once."""
    desk = Desk(sources)
    await desk.look()
    watching = asyncio.create_task(desk.watch())
    try:
        yield desk
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await desk.close()


class Desk:
    def __init__(self, sources: Sources) -> None:
        self._from = sources
        self._site_by = sources.loaded.settings.site_by
        self._history = History()
        self._troubles = Troubles(sources.records, self._site_by)
        self._sites = SiteBook(sources.frontier, sources.clock.now, self._troubles.by_site)
        self._urls = UrlBook(sources.frontier, sources.records, self._site_by)
        self._known: Known | None = None
        self._ordered = 0
        self._looked_at = float("-inf")
        self._acts = 0

    @property
    def can_act(self) -> bool:
        return isinstance(self._from.frontier, TakesOrders)

    @property
    def has_records(self) -> bool:
        return not isinstance(self._from.records, NoRecords)

    # ── what is shown ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def overview(self) -> Overview:
        """Raises `StoreError` while the stores cannot be read."""
        known = self._known
        if known is None or self._from.clock.now() - self._looked_at > _STALE:
            known = await self.look()
        shown = overview_of(known, self._history, name=self._from.name, can_act=self.can_act, ordered=self._ordered)
        if shown.is_watched:
            return shown
        return replace(shown, broken=await self._sites.count(SiteState.DOWN, SiteState.PROBED))

    async def sites(self, query: SiteQuery, after: str | None = None, limit: int = 100) -> SitePage:
        return await self._sites.page(query, after, limit)

    async def site(self, key: str) -> SiteShown:
        """As it is now, whether or not it is known."""
        frontier, now = self._from.frontier, self._from.clock.now()
        found = await frontier.look_at(key) if isinstance(frontier, LooksAtSites) else None
        site, held_until = found or (Site(key), None)
        counted = await self._sites.row(key)
        troubles = tuple(map(trouble_of, await self._visits(PageFilter(status=PageStatus.FAILED, site=key))))
        line = SiteLine(
            site,
            pending=0 if counted is None else counted.pending,
            waiting=0 if counted is None else counted.waiting,
            held_until=held_until,
        )
        trouble = troubles[0] if troubles else None if counted is None else counted.trouble
        order = next((one for one in await self._orders() if one.site == key), None)
        return SiteShown(
            at=now,
            is_known=found is not None,
            can_act=self.can_act,
            row=row_of_site(line, order, trouble, now),
            robots=tuple(robots_shown(file, _ROBOTS_SHOWN) for file in site.robots),
            troubles=troubles,
            visits=tuple(map(row_of_visit, await self._visits(PageFilter(site=key)))),
        )

    async def urls(self, search: Search, after: str | None = None, limit: int = 100) -> UrlPage:
        """Raises `ConfigError` for an `after` that is not of this search's making."""
        return await self._urls.page(search, after, limit)

    async def story(self, url: Url) -> StoryShown:
        story = await self._story(url)
        shown = await self.site(story.site.key)
        return story_shown(story, shown.row, can_act=self.can_act, has_records=self.has_records)

    async def letters(
        self,
        search: Search,
        after: str | None = None,
        limit: int = 100,
        *,
        since: float | None = None,
        until: float | None = None,
    ) -> LetterPage:
        """Whatever `search` says of the state, these are dead; `since` and `until` are about the last visit."""
        page = await self._urls.page(replace(search, state=State.DEAD), after, limit)
        rows = {row.url: row for row in page.rows}
        wanted = Wanted(urls=tuple(map(Url.trusted, rows)), since=since, until=until)
        found = []
        if rows:
            async for letter in letters(self._from.frontier, self._from.records, wanted):
                row = rows[str(letter.url)]
                said = letter.error if letter.error and letter.error != letter.reason else letter.detail
                found.append(replace(row, at=letter.last_at, detail=said))
        census = await self._from.frontier.census()
        return LetterPage(
            rows=tuple(found),
            counts=counted_reasons(census.dead),
            total=sum(census.dead.values()),
            can_act=self.can_act,
            after=page.after,
            looked_at=page.looked_at,
        )

    def settings(self) -> SettingsShown:
        return settings_shown(self._from.loaded)

    # ── what is done ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def order(self, site: str, change: OrderChange, by: str) -> OrderShown:
        """The order that is in force now. Raises `ReadOnly` where none are taken."""
        frontier = self._taking_orders()
        before = await standing_order(frontier, site)
        order = SiteOrder(
            site=site,
            paused=before.paused if change.paused is UNSET else change.paused,
            excluded=before.excluded if change.excluded is UNSET else change.excluded,
            delay=before.delay if change.delay is UNSET else change.delay,
            at=self._from.clock.now(),
        )
        await order_site(frontier, self._from.events, order, by)
        self._sites.obey(order)
        self._acted()
        return OrderShown(order.paused, order.excluded, order.delay, order.at)

    async def replay(self, urls: Sequence[Url], by: str) -> Acted:
        """Owe dead letters a visit again, with fresh counts."""
        self._taking_orders()
        done = await replay(self._from, urls, by, at=self._from.clock.now())
        self._acted()
        return Acted(len(urls), done)

    async def drop(self, urls: Sequence[Url], by: str) -> Acted:
        """No more visits of these."""
        self._taking_orders()
        done = await drop(self._from, urls, by, at=self._from.clock.now())
        self._acted()
        return Acted(len(urls), done)

    # ── behind the scenes ─────────────────────────────────────────────────────────────────────────────────────────────

    async def look(self) -> Known:
        """Once. Raises `StoreError`; then whoever asks looks for himself."""
        acts, now = self._acts, self._from.clock.now()
        try:
            known = await self._found()
            ordered = len(await self._orders())
        except StoreError:
            self._known = None
            raise
        if acts == self._acts:
            # Else somebody has acted meanwhile, and must not be shown what was before.
            self._known, self._ordered, self._looked_at = known, ordered, now
        self._history.add(sample_of(known))
        return known

    async def watch(self) -> None:
        """Without end. What fails is shown to whoever asks next, and looked at again."""
        with suppress(StoreError):
            self._history.begin_with(await past_points(self._from.records))
            await self._troubles.look()
        while True:
            await self._from.clock.sleep(EVERY)
            with suppress(StoreError):
                await self.look()
                await self._troubles.look()

    async def close(self) -> None:
        await self._sites.close()

    def _acted(self) -> None:
        """Whoever has just acted is shown what came of it."""
        self._acts += 1
        self._known = None

    async def _found(self) -> Known:
        status = None if self._from.status is None else whole_status(self._from.status)
        running = None if status is None else is_running(status)
        now = self._from.clock.now()
        if status is not None and running is not False:
            return Known(status.progress.at, status.progress.census, progress=status.progress, running=running)
        census = await self._from.frontier.census()
        if status is not None:
            # When it is over, the frontier knows best: what a killed crawl settled last is in no status file.
            return Known(now, census, progress=replace(status.progress, census=census), running=False)
        return Known(now, census, await self._from.records.tally(), running=None)

    async def _visits(self, wanted: PageFilter) -> tuple[Page, ...]:
        """The latest."""
        records = self._from.records
        if not isinstance(records, BrowsablePages):
            return ()
        return (await records.browse_pages(wanted, most=_VISITS_SHOWN, look=_LOOK)).pages

    async def _orders(self) -> list[SiteOrder]:
        return await self._from.frontier.orders() if isinstance(self._from.frontier, TakesOrders) else []

    async def _story(self, url: Url) -> Story:
        sources = self._from
        story = await why(url, sources.frontier, sources.records, sources.terms, sources.clock.now())
        if sources.event_files is None:
            return story
        # Files of events may be long: others are answered meanwhile.
        return await asyncio.to_thread(with_retries, story, sources.event_files)

    def _taking_orders(self) -> Operable:
        if not self.can_act:
            raise ReadOnly("this frontier takes no orders: it can only be looked at")
        return operable(self._from.frontier)


__all__ = ["Desk", "OrderChange", "ReadOnly", "SiteQuery", "Sources", "open_desk"]
