"""A web of any size with known truth: a pure description, from a seed, of many sites under `*.test`.

Nothing is stored: site k follows from the world and k, and what is at a target of it from the site and the target. The
server (`world_server`) plays the description, the truth (`world_truth`) walks it, the judge (`world_judge`) holds a log
against it. Sites 0 … good-1 mean well and link to each other as a tree, so that one seed reaches all of them; the
hostile ones come after and are linked from the good ones.

    python -m outrider.testing.webfarm.world --preset demo --seed 7
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from outrider.testing.webfarm.world_site import TWIN, WorldSite, named, number_of_host, twin_of
from outrider.testing.webfarm.world_troubles import SPICES, TROUBLES, Scene, Specialty, nothing

HERE: Final = "127.0.0.1"
NOBODY: Final = "127.0.0.2"
"""Where the sites are that refuse every connection: an address of this machine at which the port is not open."""

_SITES_A_SITE_LINKS_TO: Final = 8


class World(Struct, frozen=True):
    """`pages` are those of the good sites together, about; `huge` is what the first of them has beyond its share.

    A page has `links` links, `outward` of them to other sites and up to `fan` to pages that no earlier page links to.
    `varied`: sizes, encodings, validators and spellings differ. `spiced`: good sites have specialties. `pause` scales
    every wait of the troubles, `trap` is how many pages a trap has. `seeds` sites are where a crawl starts.
    """

    seed: int = 0
    sites: int = 20
    pages: int = 150
    huge: int = 0
    hostile_share: float = 0.3
    links: int = 10
    outward: int = 2
    fan: int = 4
    size: int = 6_000
    varied: bool = True
    spiced: bool = True
    pause: float = 1.0
    trap: int = 40
    seeds: int = 1

    def __post_init__(self) -> None:
        if self.sites < 1 or not 0 <= self.hostile_share < 1 or self.good < 1:
            raise ValueError("a world needs a site that means well")
        if self.links < self.outward + 1 or self.fan < 1:
            raise ValueError("a page needs a link of its own")

    @property
    def good(self) -> int:
        """How many sites mean well."""
        return self.sites - round(self.sites * self.hostile_share)

    @property
    def is_steady(self) -> bool:
        """Does the same request always get the same answer? Only then may several processes serve it."""
        return self.good == self.sites

    @property
    def hosts(self) -> Iterator[str]:
        return (self.host(number) for number in range(self.sites))

    @property
    def seed_hosts(self) -> list[str]:
        return [self.host(number) for number in range(min(self.seeds, self.good))]

    @property
    def addresses(self) -> dict[str, tuple[str, ...]]:
        """What a crawler must be told in place of the DNS."""
        hostile = map(self.host, range(self.good, self.sites))
        refused = {host: (NOBODY,) for host in hostile if host.startswith("refused-")}
        return {"*.test": (HERE,), **refused}

    def host(self, number: int) -> str:
        return named(self._specialty(number).__name__ if number >= self.good else None, number)

    def site(self, host: str) -> WorldSite | None:
        """None for a name that is not of this world."""
        number = number_of_host(host)
        if number is None or number >= self.sites or self.host(number) != host.removeprefix(TWIN):
            return None
        site = _site(self, number)
        return site if site.host == host else twin_of(site)

    def pages_of(self, number: int) -> int:
        """A few sites have most of the pages, as everywhere."""
        if number >= self.good:
            return 3
        mean = max(1.0, self.pages / self.good)
        share = (0.25, 0.5, 0.75, 2.5)[(number + self.seed) % 4] if self.varied else 1.0
        return max(1, round(mean * share)) + (self.huge if number == 0 else 0)

    def neighbours(self, number: int) -> list[str]:
        """The sites whose first page the first page of this one links to."""
        if number >= self.good:
            return []
        first = number * _SITES_A_SITE_LINKS_TO + 1
        tree = range(first, min(first + _SITES_A_SITE_LINKS_TO, self.good))
        wild = range(self.good + number, self.sites, self.good)
        return [self.host(other) for other in (*tree, *wild)]

    def _specialty(self, number: int) -> Specialty:
        if number >= self.good:
            return TROUBLES[(number - self.good) % len(TROUBLES)]
        return SPICES[number % len(SPICES)] if self.spiced else nothing

    def _made(self, number: int) -> WorldSite:
        host = self.host(number)
        far = self.host((number + 1) % self.good)
        shut = self.host(self.good) if self.good < self.sites else None
        scene = Scene(host, self.seed * 1_000_003 + number, far, shut, self.pause, self.trap)
        return WorldSite(self, number, host, self.pages_of(number), self._specialty(number)(scene))


@lru_cache(maxsize=4_096)
def _site(world: World, number: int) -> WorldSite:
    return world._made(number)  # noqa: SLF001  the cache of that method, which a frozen value cannot hold


def small(seed: int = 0) -> World:
    """Twenty sites and about two hundred URLs: for tests that take seconds."""
    return World(seed, trap=12)


def demo(seed: int = 0) -> World:
    """Every kind of trouble, many times over; a polite crawl with `SWIFT` settings is done in half a minute."""
    return World(seed, sites=300, pages=2_000, hostile_share=0.2, links=14)


def hostile(seed: int = 0) -> World:
    """Three sites of ten mean harm."""
    return World(seed, sites=200, pages=1_400, hostile_share=0.3)


def unfair(seed: int = 0) -> World:
    """One huge site and a thousand small ones: does anyone starve?"""
    return World(seed, 1_001, pages=4_000, huge=20_000, hostile_share=0.0, spiced=False, size=2_000, seeds=40)


def plain(seed: int = 0) -> World:
    """For benches: good pages only, 35 KB with 50 links each, nine of ten links to what is known already."""
    return World(
        seed,
        sites=1_000,
        pages=200_000,
        hostile_share=0.0,
        links=50,
        outward=10,
        fan=5,
        size=35_000,
        varied=False,
        spiced=False,
        seeds=1_000,
    )


def vast(seed: int = 0) -> World:
    """A million URLs on ten thousand sites, in small pages."""
    return World(
        seed, 10_000, pages=1_000_000, hostile_share=0.0, links=12, size=1_000, varied=False, spiced=False, seeds=100
    )


PRESETS: Final[Mapping[str, Callable[[int], World]]] = {
    "small": small,
    "demo": demo,
    "hostile": hostile,
    "unfair": unfair,
    "plain": plain,
    "vast": vast,
}

SWIFT: Final[Mapping[str, object]] = {
    "scope": "any",
    "delay": 0.05,
    "slowest": 1.0,
    "timeout": 2.0,
    "first_byte_timeout": 1.0,
    "idle_timeout": 1.0,
    "max_body": 1_048_576,
    "max_decoded": 2_097_152,
    "retry_backoff": 0.1,
    "retry_wait_cap": 2.0,
    "revisit_backoff": 0.2,
    "revisit_cap": 1.0,
    "robots_failure_ttl": 0.5,
    "breaker_threshold": 3,
    "breaker_backoff": 0.2,
    "breaker_max_backoff": 1.0,
    "give_up_after": 15.0,
    "give_up_probes": 5,
}
"""Settings under which every trouble of a world is over, or given up, within half a minute; not for the real web."""


def with_waits(world: World, pause: float) -> World:
    """The same world with longer or shorter outages, delays and Retry-Afters."""
    return replace(world, pause=pause)


if __name__ == "__main__":
    from outrider.testing.webfarm.world_server import main

    main()
