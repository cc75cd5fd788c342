"""Where do the pages lead that others fetched? Events in, contents by their key, links into the frontier.

At least once: an event is done with when all that its page proposes is in the frontier, and never before. Whoever is
killed in between reads some pages again, which proposes what is known. A store that is away is waited for, and nothing
is done with meanwhile; a content that is gone is counted, because nobody can bring it back.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final, Protocol, TypeVar, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from outrider.engine.gate import Answer, Found, Gate
from outrider.engine.waiting import insist
from outrider.errors import InvalidUrl, StoreUnavailable
from outrider.extract.charset import sniff_charset
from outrider.fetch.body import content_type
from outrider.model.event import BugFound, CrawlPaused, CrawlResumed, Event, PageFetched
from outrider.model.ledger import Added
from outrider.model.reason import Reason
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.ports import Clock, Frontier
from outrider.stores.pages import Pages

T = TypeVar("T")

MOST: Final = 64
"""Pages that are taken, and done with, at once."""
_WAIT: Final = 1.0
"""Longest wait for a page before anybody looks whether we are to stop."""
_AT_ONCE: Final = 16 * 1_048_576
"""Bytes of contents in memory, unless a single page has more."""
_LAG_EVERY: Final = 5.0
"""Asking how much waits costs some round trips for each partition."""
_DEEPEST: Final = 1_000_000


@runtime_checkable
class KeptContents(Protocol):
    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """The decoded bytes, in order; None for what is not there (any more)."""
        ...


class ExtractCounts(Struct):
    """Since the start of this process. A page that came again is counted again.

    `malformed` events told of no page that could be read, `missing` pages had no content left, `bugs` we could not
    read. `refused` are links that no rule lets in, those beyond the scope of their page included. `lag` is how many
    events were to come when we last asked.
    """

    pages: int = 0
    missing: int = 0
    malformed: int = 0
    bugs: int = 0
    links: int = 0
    new_urls: int = 0
    refused: int = 0
    lag: int | None = None


class _Proposals(Struct):
    """What some pages propose together. A site's menu is on all of its pages: each URL is kept once."""

    tasks: dict[Url, Task] = {}
    refused: dict[Url, Reason] = {}
    hashes: list[int] = []

    def take(self, found: Found) -> None:
        for task in found.tasks:
            self.tasks.setdefault(task.url, task)
        self.refused.update(found.refused)
        self.hashes += found.hashes


class Extractor:
    """`run` until `stop`. `tell` hears of stores that are away, and of pages that only a bug can explain.

    `paused` says which store we wait for. `asked_at` is when we last asked one: never long ago, unless something hangs.
    """

    def __init__(
        self,
        pages: Pages,
        contents: KeptContents,
        frontier: Frontier,
        gate: Gate,
        clock: Clock,
        tell: Callable[[Sequence[Event]], None],
    ) -> None:
        self._pages = pages
        self._contents = contents
        self._frontier = frontier
        self._gate = gate
        self._clock = clock
        self._tell = tell
        self._counts = ExtractCounts()
        self._stopping = asyncio.Event()
        self._measured_at = float("-inf")
        self.paused = ""
        self.asked_at = clock.now()

    def counts(self) -> ExtractCounts:
        return replace(self._counts, malformed=self._counts.malformed + self._pages.malformed)

    def stop(self) -> None:
        """After the batch that is in hand."""
        self._stopping.set()

    async def run(self, until_idle: float | None = None) -> None:
        """With `until_idle` also until nothing came for so long. Raises what a store raises, unless it is only away."""
        heard_at = self._clock.now()
        while not self._stopping.is_set():
            try:
                came = await self._take_and_follow()
            except StoreUnavailable:
                if self._stopping.is_set():
                    return  # nobody was told that it is done: it comes again
                raise
            now = self._clock.now()
            if came:
                heard_at = now
            elif until_idle is not None and now - heard_at >= until_idle:
                return

    async def _take_and_follow(self) -> bool:
        batch = await self._insist(lambda: self._pages.take(MOST, _WAIT))
        if not batch:
            if self._counts.lag:
                self._measured_at = float("-inf")  # it was true a while ago: nothing came since
            await self._measure()
            return False
        for some in _in_memory_at_once(batch):
            await self._follow(some)
        await self._insist(self._pages.done)
        await self._measure()
        return True

    async def _measure(self) -> None:
        if self._clock.now() - self._measured_at >= _LAG_EVERY:
            self._measured_at = self._clock.now()
            with suppress(StoreUnavailable):  # whoever takes pages waits for it, and says so
                self._counts.lag = await self._pages.lag()

    async def _follow(self, events: Sequence[PageFetched]) -> None:
        keys = [event.cache_key for event in events]
        contents = await self._insist(lambda: self._contents.get_many(keys))
        proposed = _Proposals()
        for event, content in zip(events, contents, strict=True):
            if content is None:
                self._counts.missing += 1
            elif found := self._read(event, content):
                self._counts.pages += 1
                self._count(found)
                proposed.take(found)
            # Reading takes a millisecond, and sometimes fifty: whoever else is here gets a turn.
            await asyncio.sleep(0)
        tasks, refused = list(proposed.tasks.values()), list(proposed.refused.items())
        if tasks or refused:
            answers = await self._insist(lambda: self._frontier.add(tasks, refused))
            self._counts.new_urls += answers.count(Added.NEW)
        self._gate.confirm(proposed.hashes)

    def _read(self, event: PageFetched, content: bytes) -> Found | None:
        try:
            # A topic is open to other programs: what they call a URL is looked at as any other text is.
            url, found_at = Url(event.url), Url(event.final_url)
        except InvalidUrl:
            self._counts.malformed += 1
            return None
        origin = Origin.LISTING if event.origin == Origin.LISTING else Origin.LINK
        task = Task(url, min(max(event.depth, 0), _DEEPEST), origin=origin)
        try:
            charset = event.charset or sniff_charset(content, content_type(event.content_type, b"")[1]).name
            answer = Answer(found_at, content, charset, frozenset(event.directives))
            return self._gate.read_answer(task, answer, self._clock.now())
        except Exception as error:  # noqa: BLE001 - as in `crew`: one page that we choke on must not stop all others
            self._counts.bugs += 1
            trace = "".join(traceback.format_exception(error, limit=-3))
            self._tell([BugFound(at=self._clock.now(), what=f"reading {url}", error=trace, url=url)])
            return None

    def _count(self, found: Found) -> None:
        refused = len(found.refused) + found.beyond
        self._counts.refused += refused
        # A listing has no links of its own: all that it lists is proposed.
        self._counts.links += found.links or len(found.tasks) + refused

    async def _insist(self, act: Callable[[], Awaitable[T]]) -> T:
        """Every act here may be repeated. Raises `StoreUnavailable` only to end, when we are to stop."""

        def asked() -> Awaitable[T]:
            self.asked_at = self._clock.now()
            return act()

        return await insist(asked, self._stopping, self._clock, self._away)

    def _away(self, why: str | None) -> None:
        if why is None:
            self._resume()
        elif not self._stopping.is_set():
            self._pause(f"a store is away: {why}")

    def _pause(self, cause: str) -> None:
        if not self.paused:
            self._tell([CrawlPaused(at=self._clock.now(), cause=cause)])
        self.paused = cause

    def _resume(self) -> None:
        if self.paused:
            self._tell([CrawlResumed(at=self._clock.now(), cause=self.paused)])
            self.paused = ""


def _in_memory_at_once(events: Sequence[PageFetched]) -> Iterator[Sequence[PageFetched]]:
    some: list[PageFetched] = []
    size = 0
    for event in events:
        size += event.content_length
        if some and size > _AT_ONCE:
            yield some
            some, size = [], event.content_length
        some.append(event)
    yield some
