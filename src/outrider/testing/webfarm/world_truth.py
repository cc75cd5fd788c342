"""What must become of every URL of a world? Found by walking its description, never by asking the crawler's own parts.

The rules of the crawl that is judged are `Rules`: scope `any` over `*.test`, robots obeyed, no limit of depth. What
timing decides has a name of its own (`DUPLICATE`, `EITHER`), so that nothing is excused by accident.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from outrider.model.ledger import State
from outrider.model.reason import Reason
from outrider.model.url import Url
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import World
from outrider.testing.webfarm.world_nodes import (
    ENDS,
    AtFirst,
    Door,
    Fault,
    Faulty,
    Link,
    Listing,
    Page,
    Redirect,
    Robots,
    Spot,
    Status,
)
from outrider.testing.webfarm.world_site import WorldSite


class Fate(StrEnum):
    FETCHED = "fetched"
    ALIAS = "alias"
    DUPLICATE = "duplicate"
    """A redirect to a page that is known as well: an alias, or fetched once more under its own name."""
    SKIPPED = "skipped"
    DEAD = "dead"
    SITE_UNREACHABLE = "site_unreachable"
    HOP = "hop"
    """Only walked through by a redirect inside its site: it may be asked for, and need not be in the ledger."""
    EITHER = "either"
    """Fetched, or ended for one of the reasons."""


class Expected(Struct, frozen=True):
    """`gets` is how often the URL may be had with success; `listed`: only a sitemap or a feed leads to it.

    `listing`: it is such a file itself.
    """

    state: Fate
    reasons: frozenset[Reason] = frozenset()
    gets: int = 1
    listed: bool = False
    listing: bool = False

    def allows(self, state: State, reason: Reason | None = None) -> bool:
        """May the ledger say this of the URL, once the crawl is over?"""
        match self.state:
            case Fate.FETCHED:
                return state is State.FETCHED
            case Fate.ALIAS:
                return state is State.ALIAS
            case Fate.DUPLICATE:
                return state in {State.ALIAS, State.FETCHED}
            case Fate.SKIPPED | Fate.SITE_UNREACHABLE:
                return state is State.SKIPPED and reason in self.reasons
            case Fate.DEAD:
                return state is State.DEAD and reason in self.reasons
            case Fate.HOP:
                return state is State.ALIAS
            case Fate.EITHER:
                return state is State.FETCHED or reason in self.reasons
            case _:
                assert_never(self.state)


class Rules(Struct, frozen=True):
    """What the crawl does that is judged; the defaults are those of the `polite` profile with scope `any`."""

    sitemaps: bool = True
    feeds: bool = True
    nofollow: bool = False
    max_redirects: int = 5
    max_url_length: int = 2_000
    max_crawl_delay: float = 300.0
    skip_extensions: tuple[str, ...] = (".pdf", ".xml", ".gz")
    tls: bool = False


FETCHED: Final = Expected(Fate.FETCHED)
_NOBODY: Final = frozenset({Reason.SITE_UNREACHABLE})


def truth(world: World, place: Place, rules: Rules | None = None) -> Mapping[str, Expected]:
    """For every URL that a crawl from the world's seeds comes to know, by its text as served at `place`."""
    rules = rules or Rules()
    walk = _Walk(world, place, rules)
    walk.run(Spot(host) for host in world.seed_hosts)
    return {place.url(spot.host, spot.target, tls=rules.tls): fate for spot, fate in walk.fates()}


class _Task(Struct, frozen=True):
    spot: Spot
    via: tuple[Spot, ...] = ()
    listed: bool = False
    listing: bool = False


class _Walk:
    """Links first, listings afterwards: so it is known what only a listing leads to."""

    def __init__(self, world: World, place: Place, rules: Rules) -> None:
        self._world = world
        self._place = place
        self._rules = rules
        self._queue: deque[_Task] = deque()
        self._listings: deque[_Task] = deque()
        self._proposed: set[Spot] = set()
        self._hops: set[Spot] = set()
        self._met: set[str] = set()
        self._fates: dict[Spot, Expected] = {}
        self._landed: dict[Spot, tuple[Spot, bool]] = {}

    def run(self, seeds: Iterable[Spot]) -> None:
        for spot in seeds:
            self._propose(_Task(spot))
        while self._queue or self._listings:
            if not self._queue:
                # Only now: whatever links alone lead to is known by then.
                self._propose(self._listings.popleft())
                continue
            task = self._queue.popleft()
            self._fates[task.spot] = replace(self._visited(task), listed=task.listed, listing=task.listing)

    def fates(self) -> Iterator[tuple[Spot, Expected]]:
        """With what redirects inside a site add, which nobody knows before the end."""
        more = Counter(final for final, _ in self._landed.values() if final in self._proposed)
        named: set[Spot] = set()
        for asked, (final, listed) in self._landed.items():
            first = final not in self._proposed and final not in named
            self._fates[asked] = replace(self._fates[asked], state=Fate.ALIAS if first else Fate.DUPLICATE)
            if first:
                named.add(final)
                self._fates[final] = Expected(Fate.FETCHED, listed=listed)
        for spot, times in more.items():
            self._fates[spot] = replace(self._fates[spot], gets=1 + times)
        for spot in self._hops - self._fates.keys():
            self._fates[spot] = Expected(Fate.HOP, gets=0)
        yield from self._fates.items()

    def _propose(self, task: _Task) -> None:
        if task.spot not in self._proposed:
            self._proposed.add(task.spot)
            self._queue.append(task)

    def _visited(self, task: _Task) -> Expected:
        here = task.spot
        walked = list(task.via)
        while True:
            site = self._world.site(here.host)
            barred = self._barred(here, site, is_listing=task.listing)
            if barred is not None:
                return barred
            if site is None:
                return _dead(Reason.HTTP_421)
            self._meet(site)
            node = site.node(here.target)
            if isinstance(node, AtFirst):
                node = node.then
            if not isinstance(node, Redirect):
                return self._arrived(node, here, task)
            stop = self._stopped(node, here, walked)
            if stop is not None:
                return _dead(stop)
            there = node.to or here
            walked.append(here)
            if here != task.spot:
                self._hops.add(here)
            if site_of(there.host) != site_of(here.host):
                self._propose(_Task(there, tuple(walked), task.listed))
                return Expected(Fate.ALIAS, gets=0)
            here = there

    def _barred(self, spot: Spot, site: WorldSite | None, *, is_listing: bool) -> Expected | None:
        """What keeps the crawl from asking, or the site from ever answering."""
        rules = self._rules
        if len(self._place.url(spot.host, spot.target, tls=rules.tls)) > rules.max_url_length:
            return _skipped(Reason.URL_TOO_LONG)
        if not is_listing and spot.target.partition("?")[0].endswith(rules.skip_extensions):
            return _skipped(Reason.NON_TEXT_EXTENSION)
        if site is None:
            return None
        door = site.door
        if door is not None and door.is_shut:
            return _unreachable(door)
        if site.is_closed:
            return Expected(Fate.SITE_UNREACHABLE, _NOBODY | {Reason.ROBOTS_UNREACHABLE}, gets=0)
        if site.is_disallowed(spot.target):
            return _skipped(Reason.ROBOTS_DISALLOWED)
        if site.crawl_delay > rules.max_crawl_delay:
            return _skipped(Reason.CRAWL_DELAY_TOO_LONG)
        return None

    def _meet(self, site: WorldSite) -> None:
        """The first page of a host that is had brings its robots.txt, and that its sitemaps."""
        if site.host not in self._met and self._rules.sitemaps and site.robots is not None:
            self._listings += (_Task(spot, listed=True, listing=True) for spot in site.robots.sitemaps)
        self._met.add(site.host)

    def _stopped(self, node: Redirect, here: Spot, walked: list[Spot]) -> Reason | None:
        if node.to is None:
            return Reason.INVALID_REDIRECT
        if node.to in {here, *walked}:
            return Reason.REDIRECT_LOOP
        return Reason.TOO_MANY_REDIRECTS if len(walked) >= self._rules.max_redirects else None

    def _arrived(self, node: Page | Status | Robots | Listing | Faulty | None, here: Spot, task: _Task) -> Expected:
        match node:
            case None:
                return _dead(Reason.HTTP_404)
            case Status(code):
                return _dead(Reason.EMPTY_BODY if code == 204 else Reason.of_status(code))
            case Faulty(Fault.ENDLESS):
                return Expected(Fate.EITHER, ENDS[Fault.ENDLESS])
            case Faulty(fault):
                return Expected(Fate.DEAD, ENDS[fault])
            case Robots():
                return _dead(Reason.UNSUPPORTED_CONTENT_TYPE)
            case Listing(kind, entries):
                for spot in entries:
                    self._propose(_Task(spot, listed=True, listing=kind == "index"))
                return FETCHED
            case Page():
                self._read(node, here, task)
                return FETCHED
            case _:
                assert_never(node)

    def _read(self, page: Page, here: Spot, task: _Task) -> None:
        if here != task.spot:
            self._landed[task.spot] = here, task.listed
        for link in page.links:
            if self._is_followed(link):
                self._propose(_Task(link.to, listed=task.listed))
        if page.feed is not None and self._rules.feeds:
            self._listings.append(_Task(Spot(here.host, page.feed), listed=True, listing=True))

    def _is_followed(self, link: Link) -> bool:
        return self._rules.nofollow or not link.nofollow


@lru_cache(maxsize=65_536)
def site_of(host: str) -> str:
    """The politeness unit that a host belongs to."""
    return Url(f"http://{host}/").site()


def _dead(reason: Reason) -> Expected:
    return Expected(Fate.DEAD, frozenset({reason}))


def _skipped(reason: Reason) -> Expected:
    return Expected(Fate.SKIPPED, frozenset({reason}), gets=0)


def _unreachable(door: Door) -> Expected:
    why = Reason.CONNECT_REFUSED if door.kind == "refused" else Reason.CONNECTION_LOST
    return Expected(Fate.SITE_UNREACHABLE, _NOBODY | {why}, gets=0)
