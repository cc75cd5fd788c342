"""A whole crawl inside your own program: `async for page in outrider.crawl(["https://…"], contact=…): …`

One process, one event loop, the same stores and the same directory as `outrider crawl`. A page is handed over once
everything about it is written and settled. Whoever takes long over a page slows the crawl down: nothing piles up.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from inspect import isawaitable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from outrider.app.crawl import Hooks, open_crawl
from outrider.app.directory import CrawlDirectory
from outrider.app.seeds import seed_of
from outrider.client import Fetch
from outrider.engine.finish import Finish
from outrider.engine.finisher import Finished
from outrider.engine.supervisor import Supervisor
from outrider.errors import ConfigError
from outrider.model.event import Event
from outrider.model.ledger import Census
from outrider.model.outcome import Fetched
from outrider.model.progress import Counts
from outrider.model.url import Url
from outrider.settings import Settings, load

_WAITING: Final = 100
"""Pages that may wait for a slow reader of `crawl`."""


class CrawledPage(Fetch, frozen=True):
    """What `Client.fetch` gives, and what the crawl knows besides: how it came here, and where the page leads."""

    depth: int = 0
    parent: Url | None = None
    title: str | None = None
    links: tuple[Url, ...] = ()

    def __repr__(self) -> str:
        what = self.error or repr(self.title or f"{len(self.content)} bytes")
        return f"<CrawledPage {self.status} {self.url} {what}>"

    @property
    def fetch_id(self) -> str:
        """The visit's name in records, events and archive. A visit that a crash repeated has the same one."""
        return self.visit.id


class CrawlResult(Struct, frozen=True):
    """`finish` is why it ended. `directory` is None when everything was written to a temporary one."""

    finish: str
    census: Census
    counts: Counts
    directory: Path | None


class Crawl:
    """Settings are given by name, as in `outrider.toml`; environment and file count too, unless `settings` is given.

    `on_page` sees each page, with `every_visit` also what failed, moved or was skipped; `on_event` sees all events.
    Both may be coroutines, which are waited for. What a hook raises ends the crawl and is raised by `run`; nothing is
    lost then, and the same call goes on in the same directory.
    """

    def __init__(
        self,
        seeds: Iterable[str],
        *,
        directory: str | Path | None = None,
        on_page: Callable[[CrawledPage], Awaitable[None] | None] | None = None,
        on_event: Callable[[Event], Awaitable[None] | None] | None = None,
        every_visit: bool = False,
        settings: Settings | None = None,
        **given: object,
    ) -> None:
        self._seeds = [seed_of(seed) for seed in ([seeds] if isinstance(seeds, str) else seeds)]
        if settings is not None and given:
            raise ConfigError(f"settings and {', '.join(sorted(given))} are both given; put everything into one")
        self._settings = settings or load(flags=given).settings
        if self._settings.workers not in {None, 1}:
            raise ConfigError(f"workers = {self._settings.workers}: a crawl inside a program runs in one process")
        self._directory = None if directory is None else Path(directory)
        self._on_page = on_page
        self._on_event = on_event
        self._every_visit = every_visit
        self._supervisor: Supervisor | None = None
        self._stops = 0

    async def run(self) -> CrawlResult:
        """Until nothing is owed, a limit is reached, or `stop` is called.

        Raises `ConfigError` for what cannot be begun, `StoreError` for a store that is broken, and whatever a hook
        raised.
        """
        async with AsyncExitStack() as stack:
            where = self._directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outrider-")))
            home = CrawlDirectory(where)
            stack.enter_context(home.held())
            hooks = Hooks(self._take, self._tell if self._on_event is not None else None)
            opening = open_crawl(self._settings, self._seeds, home, shown=lambda _: None, hooks=hooks)
            crawling = await stack.enter_async_context(opening)
            self._supervisor, self._stops = crawling.supervisor, 0
            try:
                last = await self._supervisor.run()
            finally:
                self._supervisor = None
            return CrawlResult(last.finish or "", last.census, last.counts, self._directory)

    def stop(self, *, now: bool = False) -> None:
        """Finish what is under way, then end; with `now`, give it up: it stays owed. Again changes nothing."""
        if self._supervisor is not None:
            for _ in range(self._stops, 2 if now else 1):
                self._stops += 1
                self._supervisor.drain(Finish.INTERRUPTED)

    async def _take(self, item: Finished) -> None:
        if self._on_page is None or item.haul is None or item.task is None:
            return
        visit = item.haul.visit
        if not self._every_visit and not isinstance(visit.outcome, Fetched):
            return
        record, facts = item.record, item.found.facts if item.found else None
        page = CrawledPage(
            visit,
            item.haul.content,
            record.page if record else None,
            record.evidence if record else (),
            depth=item.task.depth,
            parent=item.task.parent,
            title=facts.title if facts else None,
            links=facts.links if facts else (),
        )
        answer = self._on_page(page)
        if isawaitable(answer):
            await answer

    async def _tell(self, events: Sequence[Event]) -> None:
        if self._on_event is None:
            return
        for event in events:
            answer = self._on_event(event)
            if isawaitable(answer):
                await answer


async def crawl(
    seeds: Iterable[str],
    *,
    directory: str | Path | None = None,
    every_visit: bool = False,
    settings: Settings | None = None,
    **given: object,
) -> AsyncGenerator[CrawledPage, None]:
    """The pages of a crawl, as they are settled. Leaving the loop ends the crawl: what is under way stays owed.

    The arguments and what is raised are those of `Crawl`.
    """
    pages: asyncio.Queue[CrawledPage] = asyncio.Queue(_WAITING)
    has_left = asyncio.Event()

    async def hand_over(page: CrawledPage) -> None:
        if not has_left.is_set():
            await pages.put(page)

    arguments: dict[str, Any] = {**given, "settings": settings}
    whole = Crawl(seeds, directory=directory, on_page=hand_over, every_visit=every_visit, **arguments)
    running = asyncio.create_task(whole.run())
    try:
        while True:
            getting = asyncio.ensure_future(pages.get())
            await asyncio.wait([getting, running], return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                getting.cancel()
                break
            yield getting.result()
        await running
        while not pages.empty():
            yield pages.get_nowait()
    finally:
        has_left.set()
        whole.stop(now=True)
        while not running.done():
            # Whoever waits to hand over a page must not wait for ever.
            while not pages.empty():
                pages.get_nowait()
            await asyncio.wait([running], timeout=0.05)
        if not running.cancelled():
            running.exception()
