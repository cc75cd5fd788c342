"""Where do the pages lead that others fetched? Nothing is done with before its links are in the frontier."""

import asyncio
import gzip
from collections.abc import Sequence

import pytest
from tests.unit.engine.wrapped import Acts, WrappedFrontier

from outrider.app.extract import extract_rules
from outrider.app.rules import frontier_rules
from outrider.engine import extractor as extractors
from outrider.engine.extractor import ExtractCounts, Extractor
from outrider.engine.gate import Answer, Found, Gate
from outrider.errors import ConfigError, StoreError
from outrider.model.event import BugFound, CrawlPaused, CrawlResumed, Event, PageFetched
from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.task import Origin, Task
from outrider.model.url import Url
from outrider.settings import settings_of
from outrider.stores.memory.frontier import MemoryFrontier
from outrider.testing.clock import FakeClock

PAGE = "http://example.com/folder/page"


class TakenPages:
    """A topic with one reader. What is taken and not done with comes again when a new reader begins."""

    def __init__(self, clock: FakeClock, acts: Acts) -> None:
        self._clock = clock
        self._acts = acts
        self.events: list[PageFetched] = []
        self.taken = 0
        self.committed = 0
        self.malformed = 0

    async def take(self, most: int, seconds: float) -> list[PageFetched]:
        self._acts.begin("take")
        some = self.events[self.taken : self.taken + most]
        self.taken += len(some)
        if not some:
            await self._clock.sleep(seconds)
        return some

    async def done(self) -> None:
        self._acts.begin("done")
        self.committed = self.taken

    async def lag(self) -> int:
        self._acts.begin("lag")
        return len(self.events) - self.committed


class KeptBytes(dict[str, bytes]):
    def __init__(self, acts: Acts) -> None:
        super().__init__()
        self._acts = acts
        self.asked: list[int] = []

    async def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        self._acts.begin("get")
        self.asked.append(len(keys))
        return [self.get(key) for key in keys]


class Scene:
    def __init__(self, **keys: object) -> None:
        settings = settings_of(**{"profile": "service", **keys})
        self.clock = FakeClock(1_000.0)
        self.acts = Acts()
        self.pages = TakenPages(self.clock, self.acts)
        self.contents = KeptBytes(self.acts)
        self.memory = MemoryFrontier(frontier_rules(settings), self.clock)
        self.gate = Gate(extract_rules(settings), self.memory.rules.identity)
        self.told: list[Event] = []
        self.heard = asyncio.Event()
        frontier = WrappedFrontier(self.memory, self.acts)
        self.extractor = Extractor(self.pages, self.contents, frontier, self.gate, self.clock, self.hear)

    def hear(self, events: Sequence[Event]) -> None:
        self.told += events
        self.heard.set()

    def fetched(self, url: str, content: str | bytes | None, **fields: object) -> None:
        """One more page was fetched; without `content` it is in the cache no more."""
        data = content.encode() if isinstance(content, str) else content
        key = f"webpage:{Url(url).sha256}"
        if data is not None:
            self.contents[key] = data
        whole = {
            "at": 1.0,
            "url": Url(url),
            "requested_url": Url(url),
            "final_url": Url(url),
            "site": Url(url).site(),
            "status_code": 200,
            "content_type": "text/html",
            "content_length": len(data or b""),
            "content_hash": "",
            "fetched_at": "",
            "cache_key": key,
            **fields,
        }
        self.pages.events.append(PageFetched(**whole))  # type: ignore[arg-type]  # fields by name, as the test wants

    async def extract(self) -> ExtractCounts:
        async with asyncio.timeout(20):
            await self.extractor.run(until_idle=3.0)
        return self.extractor.counts()

    async def urls(self, state: State = State.PENDING) -> set[str]:
        return {entry.url async for entries in self.memory.entries() for entry in entries if entry.state is state}

    async def task(self, url: str) -> Task:
        entry = await self.memory.find(Url(url))
        assert entry is not None
        assert entry.task is not None
        return entry.task


async def test_links_of_a_page_are_owed_a_visit_one_step_further() -> None:
    scene = Scene()
    scene.fetched(PAGE, "<a href=a>a</a><a href=/b#part>b</a><a href=http://example.com/c>c</a>", depth=3)

    counts = await scene.extract()

    assert await scene.urls() == {"http://example.com/folder/a", "http://example.com/b", "http://example.com/c"}
    task = await scene.task("http://example.com/b")
    assert (task.depth, task.origin, task.parent) == (4, Origin.LINK, PAGE)
    assert (counts.pages, counts.links, counts.new_urls, counts.refused) == (1, 3, 3, 0)
    assert scene.pages.committed == 1


async def test_links_are_relative_to_where_the_page_was_found() -> None:
    """C10: the event tells both ends of the redirects."""
    scene = Scene(scope="host")
    scene.fetched(PAGE, "<a href=a>a</a>", final_url=Url("http://www.example.com/there/"))

    await scene.extract()

    assert await scene.urls() == {"http://www.example.com/there/a"}
    assert (await scene.task("http://www.example.com/there/a")).parent == PAGE


@pytest.mark.parametrize(
    ("content", "directives"),
    [
        ("<a href=/a rel='noopener nofollow'>a</a>", ()),
        ("<meta name=robots content=nofollow><a href=/a>a</a>", ()),
        ("<meta name=OttoBot content=none><a href=/a>a</a>", ()),
        ("<a href=/a>a</a>", ("nofollow", "noindex")),
    ],
)
async def test_what_asks_not_to_be_followed_is_not(content: str, directives: tuple[str, ...]) -> None:
    scene, heedless = Scene(), Scene(respect_nofollow=False)
    for each in (scene, heedless):
        each.fetched(PAGE, content, directives=directives)

        await each.extract()

    assert await scene.urls() == set()
    assert await heedless.urls() == {"http://example.com/a"}


async def test_canonical_and_feeds_are_proposed_and_feeds_only_where_they_are_wanted() -> None:
    content = (
        "<link rel=canonical href=/true><link rel=alternate type=application/rss+xml href=/feed.xml><a href=/a>a</a>"
    )
    scene, plain = Scene(), Scene(feeds=False)
    for each in (scene, plain):
        each.fetched(PAGE, content, depth=1)

        await each.extract()

    assert await scene.urls() == {f"http://example.com/{name}" for name in ("true", "feed.xml", "a")}
    feed = await scene.task("http://example.com/feed.xml")
    assert (feed.origin, feed.depth) == (Origin.LISTING, 1)
    assert await plain.urls() == {"http://example.com/true", "http://example.com/a"}


@pytest.mark.parametrize("packed", [False, True])
async def test_a_listing_is_read_as_one(packed: bool) -> None:  # noqa: FBT001 - a column of the table
    names = "http://www.sitemaps.org/schemas/sitemap/0.9"
    sitemap = f"<urlset xmlns='{names}'><url><loc>http://example.com/p</loc></url></urlset>".encode()
    index = f"<sitemapindex xmlns='{names}'><sitemap><loc>http://example.com/s.xml</loc></sitemap></sitemapindex>"
    scene = Scene()
    scene.fetched("http://example.com/sitemap.xml", gzip.compress(sitemap) if packed else sitemap, origin="listing")
    scene.fetched("http://example.com/index.xml", index, origin="listing", depth=2)

    counts = await scene.extract()

    page, further = await scene.task("http://example.com/p"), await scene.task("http://example.com/s.xml")
    assert (page.origin, page.depth) == (Origin.SITEMAP, 1)
    assert (further.origin, further.depth) == (Origin.LISTING, 2)
    assert (counts.links, counts.new_urls) == (2, 2)


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("text/html; charset=windows-1251", "<a href='/п'>x</a>".encode("cp1251")),
        ("text/html", "<meta charset=windows-1251><a href='/п'>x</a>".encode("cp1251")),
        (None, "<a href='/п'>x</a>".encode()),
    ],
)
async def test_the_character_set_is_decided_as_a_visit_decides_it(content_type: str | None, content: bytes) -> None:
    scene = Scene()
    scene.fetched(PAGE, content, content_type=content_type)

    await scene.extract()

    assert await scene.urls() == {"http://example.com/%D0%BF"}


async def test_scope_is_measured_from_the_page_and_a_link_beyond_it_says_nothing_of_its_url() -> None:
    """Else a link from elsewhere would keep a page from being visited that its own site leads to."""
    scene = Scene()
    scene.fetched(PAGE, "<a href=http://other.test/x>x</a><a href=/doc.zip>z</a>")
    scene.fetched("http://other.test/", "<a href=/x>x</a>")

    counts = await scene.extract()

    assert await scene.urls() == {"http://other.test/x"}
    refused = await scene.memory.find(Url("http://example.com/doc.zip"))
    assert refused is not None
    assert (refused.state, refused.reason) == (State.SKIPPED, Reason.NON_TEXT_EXTENSION)
    assert (counts.refused, counts.new_urls) == (2, 1)


async def test_a_broad_crawl_goes_anywhere() -> None:
    scene = Scene(scope="any")
    scene.fetched(PAGE, "<a href=http://other.test/x>x</a>")

    await scene.extract()

    assert await scene.urls() == {"http://other.test/x"}


def test_a_scope_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match="a single page leads nowhere"):
        extract_rules(settings_of(scope="page"))


async def test_a_content_that_is_gone_is_counted_and_the_others_are_read() -> None:
    scene = Scene()
    scene.fetched("http://example.com/gone", None)
    scene.fetched("http://example.com/never-kept", None, cache_key="")
    scene.fetched(PAGE, "<a href=/a>a</a>")

    counts = await scene.extract()

    assert (counts.pages, counts.missing) == (1, 2)
    assert await scene.urls() == {"http://example.com/a"}
    assert scene.pages.committed == 3


async def test_an_event_about_no_url_is_malformed_and_the_others_are_read() -> None:
    scene = Scene()
    scene.fetched(PAGE, "<a href=/a>a</a>", final_url=Url.trusted("javascript:alert(1)"))
    scene.fetched("http://example.com/deep", "<a href=/b>b</a>", depth=10**30)
    scene.pages.malformed = 2

    counts = await scene.extract()

    assert (counts.malformed, counts.pages) == (3, 1)
    assert await scene.urls() == {"http://example.com/b"}


async def test_a_page_that_we_choke_on_is_told_of_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    read = Gate.read_answer

    def choke(gate: Gate, task: Task, answer: Answer, at: float) -> Found:
        if answer.content == b"bone":
            raise RecursionError("too deep")
        return read(gate, task, answer, at)

    monkeypatch.setattr(Gate, "read_answer", choke)
    scene.fetched("http://example.com/bad", "bone")
    scene.fetched(PAGE, "<a href=/a>a</a>")

    counts = await scene.extract()

    (bug,) = scene.told
    assert isinstance(bug, BugFound)
    assert (bug.url, "too deep" in bug.error) == ("http://example.com/bad", True)
    assert (counts.bugs, counts.pages, scene.pages.committed) == (1, 1, 2)
    assert await scene.urls() == {"http://example.com/a"}


async def test_each_link_of_many_pages_is_proposed_once_and_known_ones_are_not_asked_about() -> None:
    scene = Scene()
    for number in range(3 * extractors.MOST):
        scene.fetched(f"http://example.com/{number}", "<a href=/menu>m</a>")

    counts = await scene.extract()

    assert (counts.pages, counts.links, counts.new_urls) == (192, 192, 1)
    assert scene.acts.done.count("add") == 1
    assert [act for act in scene.acts.done if act not in {"take", "lag"}] == [
        "get",
        "add",
        "done",
        "get",
        "done",
        "get",
        "done",
    ]


async def test_many_large_pages_are_not_in_memory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extractors, "_AT_ONCE", 250)
    scene = Scene()
    for number, size in enumerate((100, 100, 100, 900, 10, 10)):
        scene.fetched(f"http://example.com/{number}", "x" * size)

    counts = await scene.extract()

    assert scene.contents.asked == [2, 1, 1, 2]
    assert counts.pages == 6
    assert scene.acts.done.count("done") == 1


@pytest.mark.parametrize("act", ["take", "get", "add", "done"])
async def test_a_store_that_is_away_is_waited_for_and_nothing_is_done_with_meanwhile(act: str) -> None:
    scene = Scene()
    scene.fetched(PAGE, "<a href=/a>a</a>")
    scene.acts.away[act] = 9

    counts = await scene.extract()

    assert await scene.urls() == {"http://example.com/a"}
    assert (counts.new_urls, scene.pages.committed) == (1, 1)
    acts = scene.acts.done
    assert acts.index("add") < acts.index("done")
    assert [type(event) for event in scene.told] == [CrawlPaused, CrawlResumed]
    assert scene.extractor.paused == ""


async def test_how_much_is_to_come_is_asked_now_and_then_and_is_never_waited_for() -> None:
    scene = Scene()
    for number in range(3 * extractors.MOST):
        scene.fetched(f"http://example.com/{number}", None)
    scene.acts.away["lag"] = 1

    counts = await scene.extract()
    async with asyncio.timeout(20):
        await scene.extractor.run(until_idle=6.0)

    assert (counts.lag, counts.missing, scene.extractor.counts().lag) == (None, 192, 0)
    assert scene.acts.done.count("lag") == 1
    assert scene.told == []


async def test_when_nothing_more_comes_it_is_known_at_once_that_nothing_is_to_come() -> None:
    scene = Scene()
    lag = scene.pages.lag

    async def lag_before_the_last() -> int:
        return await lag() + 7 * (scene.acts.done.count("lag") == 1)

    scene.pages.lag = lag_before_the_last  # type: ignore[method-assign]  # others publish while we ask
    scene.fetched(PAGE, None)

    assert (await scene.extract()).lag == 0


async def test_an_add_whose_answer_is_lost_is_repeated_and_adds_nothing_twice() -> None:
    scene = Scene()
    scene.fetched(PAGE, "<a href=/a>a</a>")
    scene.acts.late["add"] = 1

    await scene.extract()

    assert scene.acts.done.count("add") == 2
    assert (await scene.memory.census()).discovered == 1


async def test_what_is_not_in_the_frontier_is_not_remembered_as_proposed() -> None:
    scene = Scene()
    scene.fetched(PAGE, "<a href=/a>a</a>")
    scene.acts.broken.add("add")
    with pytest.raises(StoreError, match="add is broken"):
        await scene.extract()
    scene.acts.broken.clear()
    assert (scene.pages.committed, await scene.urls()) == (0, set())

    scene.pages.taken = scene.pages.committed
    await scene.extract()

    assert await scene.urls() == {"http://example.com/a"}


async def test_stop_finishes_the_batch_in_hand_and_takes_no_other() -> None:
    scene = Scene()
    for number in range(3 * extractors.MOST):
        scene.fetched(f"http://example.com/{number}", f"<a href=/to/{number}>x</a>")
    add = scene.memory.add

    async def add_and_stop(tasks: Sequence[Task], refused: Sequence[tuple[Url, Reason]] = ()) -> object:
        scene.extractor.stop()
        return await add(tasks, refused)

    scene.memory.add = add_and_stop  # type: ignore[assignment,method-assign]  # the moment at which the signal comes

    async with asyncio.timeout(20):
        await scene.extractor.run()

    assert scene.pages.committed == extractors.MOST
    assert len(await scene.urls()) == extractors.MOST


async def test_stop_does_not_wait_for_a_store_that_is_away() -> None:
    """H4-4: nothing sleeps through a shutdown. What was not done with comes again."""
    scene = Scene()
    scene.fetched(PAGE, "<a href=/a>a</a>")
    scene.acts.away["add"] = 1_000_000
    running = asyncio.create_task(scene.extractor.run())
    await scene.heard.wait()

    scene.extractor.stop()
    async with asyncio.timeout(20):
        await running

    assert scene.pages.committed == 0
