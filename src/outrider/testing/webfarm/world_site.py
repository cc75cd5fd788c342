"""What is at this target? One site of a world: numbered pages, its robots.txt, and what is special about it.

Page 0 is `/`; the others are spelled in four ways, by their number. Every page links to its children in a tree that
holds them all, to pages that are linked from somewhere before it, and to other sites.
"""

from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Struct

from outrider.testing.webfarm.world_nodes import (
    AtFirst,
    Door,
    Encoding,
    Link,
    Node,
    Page,
    Robots,
    Spelling,
    Spot,
    Status,
    Validator,
)
from outrider.testing.webfarm.world_troubles import Extra

TWIN: Final = "blog."
"""The second host of a site that has two: the same registrable domain, so the same politeness."""

_WORDS: Final = ("harvest", "orchard", "river", "lantern", "meadow", "saddle", "granite", "willow", "copper", "sparrow")
_SPELLINGS: Final = (*[Spelling.ROOTED] * 3, *Spelling, Spelling.ABSOLUTE)
_SIZES: Final = (0.3, 0.6, 1.0, 2.1)
_ENCODINGS: Final[tuple[Encoding, ...]] = ("", "gzip", "", "br", "", "zstd", "gzip", "")
_VALIDATORS: Final[tuple[Validator, ...]] = ("etag", "date", "", "etag")
_MASK: Final = 0xFFFFFFFF


class Around(Protocol):
    """What a site must know of its world."""

    @property
    def links(self) -> int: ...
    @property
    def outward(self) -> int: ...
    @property
    def fan(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def varied(self) -> bool: ...
    @property
    def seed(self) -> int: ...
    @property
    def good(self) -> int: ...

    def host(self, number: int) -> str: ...
    def pages_of(self, number: int) -> int: ...
    def neighbours(self, number: int) -> list[str]: ...


class WorldSite(Struct, frozen=True):
    world: Around
    number: int
    host: str
    pages: int
    extra: Extra

    @property
    def door(self) -> Door | None:
        return self.extra.door

    @property
    def robots_node(self) -> Node:
        """What stands at /robots.txt: many sites have none, and many have one that says nothing."""
        if self.extra.robots is not None:
            return self.extra.robots
        return (Status(404), Robots(), Robots(disallow=("/cgi-bin/",)))[self.number % 3]

    @property
    def robots(self) -> Robots | None:
        """The rules in the end; None when there is no file."""
        node = self.robots_node
        if isinstance(node, AtFirst):
            node = node.then
        return node if isinstance(node, Robots) else None

    @property
    def is_closed(self) -> bool:
        """Can robots.txt never be had? Then nothing may be asked for."""
        node = self.robots_node
        return isinstance(node, Status) and node.code >= 500

    @property
    def crawl_delay(self) -> float:
        return (self.robots and self.robots.crawl_delay) or 0.0

    def is_disallowed(self, target: str) -> bool:
        """The longest rule wins, and of equals the one that allows (RFC 9309 2.2.2); worlds use no wildcards."""
        rules = self.robots
        if rules is None or target == "/robots.txt":
            return False
        closed = max((len(rule) for rule in rules.disallow if target.startswith(rule)), default=-1)
        opened = max((len(rule) for rule in rules.allow if target.startswith(rule)), default=-1)
        return closed > opened

    def node(self, target: str) -> Node | None:
        """None: nothing is there."""
        if target == "/robots.txt":
            return self.robots_node
        special = self.extra.nodes.get(target)
        if special is None and self.extra.endless is not None:
            special = self.extra.endless(target)
        if special is not None:
            return special
        number = number_of(target)
        return self._page(number) if number is not None and number < self.pages else None

    def _page(self, number: int) -> Page:
        world = self.world
        seed = world.seed * 1_000_003 + self.number
        luck = _mixed(seed, number)
        links = tuple(self._links(number, luck))
        if number == 0:
            neighbours = (Link(Spot(host), Spelling.ABSOLUTE) for host in world.neighbours(self.number))
            links = (*links, *self.extra.entries, *neighbours)
        if not world.varied:
            return Page(links, world.size, number, seed, validator="etag")
        return Page(
            links,
            round(world.size * _SIZES[luck % 4]),
            number,
            seed,
            encoding=_ENCODINGS[luck >> 2 & 7],
            validator=_VALIDATORS[luck >> 5 & 3],
            base="/deep/down/here" if luck >> 7 & 15 == 0 else None,
            feed=self.extra.feed if number == 0 else None,
            canonical=luck >> 11 & 3 == 0,
        )

    def _links(self, number: int, luck: int) -> Iterator[Link]:
        world, host, pages = self.world, self.host, self.pages
        first = number * world.fan + 1
        last = min(first + world.fan, pages)
        known = min(max(first, 1), pages)
        varied = world.varied
        for child in range(first, last):
            yield Link(Spot(host, target_of(child)), _SPELLINGS[(child + number) % 10] if varied else Spelling.ROOTED)
        for turn in range(world.links - max(0, last - first) - world.outward):
            luck = (luck * 1_664_525 + 1_013_904_223) & _MASK
            spelling = _SPELLINGS[turn % 10] if varied else Spelling.ROOTED
            # A nofollow link to what others link to freely changes nothing.
            yield Link(Spot(host, target_of((luck >> 8) % known)), spelling, varied and turn == 7)
        for _ in range(world.outward):
            luck = (luck * 1_664_525 + 1_013_904_223) & _MASK
            other = (luck >> 8) % world.good
            page = (luck >> 4) % min(known, world.pages_of(other))
            yield Link(Spot(world.host(other), target_of(page)), Spelling.ABSOLUTE)


def twin_of(site: WorldSite) -> WorldSite | None:
    """The other host of the site, if it has one: it has only what is listed for it."""
    extra = Extra(site.extra.twin)
    return WorldSite(site.world, site.number, TWIN + site.host, 0, extra) if extra.nodes else None


def named(specialty: str | None, number: int) -> str:
    """Hostile sites are called by their trouble, so that a log can be read."""
    word = specialty.replace("_", "-") if specialty else _WORDS[number % len(_WORDS)]
    return f"{word}-{number}.test"


def number_of_host(host: str) -> int | None:
    name = host.removeprefix(TWIN).removesuffix(".test")
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else None


def target_of(number: int) -> str:
    if number == 0:
        return "/"
    match number % 4:
        case 0:
            return f"/n/{number}/"
        case 1:
            return f"/p/{number}"
        case 2:
            return f"/a/b/{number}.html"
        case _:
            return f"/view?id={number}"


def number_of(target: str) -> int | None:
    """The other way round; a page has one spelling."""
    if target == "/":
        return 0
    start = {"/n/": 3, "/p/": 3, "/a/": 5, "/vi": 9}.get(target[:3], 0)
    digits = target[start:].removesuffix("/" if start == 3 else ".html")
    if not (start and digits.isascii() and digits.isdigit() and len(digits) < 16):
        return None
    number = int(digits)
    return number if number and target_of(number) == target else None


def _mixed(seed: int, number: int) -> int:
    mixed = (number * 2_654_435_761 + seed * 40_503 + 12_345) & _MASK
    mixed ^= mixed >> 15
    mixed = (mixed * 2_246_822_519) & _MASK
    return mixed ^ mixed >> 13
