"""A web of any size that is stored nowhere: page n of a site follows from n, and so does all that can be reached.

Page 0 is `/`, page n is `/p/n`. Every page links to `/`, to its children in a tree that holds every page, and to some
pages at random; so whoever reaches one page of a site can reach them all, and a referee can list the truth without
crawling for it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from outrider.testing.webfarm.behaviours import HTML
from outrider.testing.webfarm.kinds import Behaviour, Instant, Place
from outrider.testing.webfarm.wire import Asked, Reply, render

_WORDS = ("harvest", "orchard", "river", "lantern", "meadow", "saddle", "granite", "willow", "copper", "sparrow")


class GeneratedSite(Struct, frozen=True):
    """`outward` links a page go to `neighbours`, in turn; `extra` paths (a robots.txt, a trap) come first."""

    pages: int
    links: int
    size: int
    seed: int
    neighbours: tuple[str, ...] = ()
    outward: int = 0
    extra: Mapping[str, Behaviour] = {}

    def get(self, target: str, /) -> Behaviour | None:
        extra = self.extra.get(target)
        if extra is not None:
            return extra
        number = number_of(target)
        return GeneratedPage(self, number) if number is not None and number < self.pages else None

    def inward(self, number: int) -> list[int]:
        """The pages of this site that page `number` links to."""
        own = max(self.links - self.outward, 2)
        fan = self._fan
        first = number * fan + 1
        targets = [0, *range(first, min(first + fan, self.pages))]
        mixed = (number * 2_654_435_761 + self.seed * 40_503 + 12_345) & 0xFFFFFFFF
        for _ in range(own - len(targets)):
            mixed = (mixed * 1_664_525 + 1_013_904_223) & 0xFFFFFFFF
            targets.append((mixed >> 8) % self.pages)
        return targets

    def abroad(self, number: int) -> list[str]:
        """The hosts whose first page page `number` links to."""
        if not self.neighbours:
            return []
        start = number * self.outward
        return [self.neighbours[turn % len(self.neighbours)] for turn in range(start, start + self.outward)]

    @property
    def paths(self) -> Iterator[str]:
        return (path_of(number) for number in range(self.pages))

    @property
    def all_abroad(self) -> Iterable[str]:
        """The hosts that some page of this site links to: pages take the neighbours in turn."""
        return islice(self.neighbours, self.pages * self.outward)

    @property
    def _fan(self) -> int:
        return max(1, (self.links - self.outward) // 4)


class GeneratedPage(Instant, frozen=True):
    site: GeneratedSite
    number: int

    def reply(self, asked: Asked, place: Place) -> Reply:
        site, number = self.site, self.number
        etag = f'"{site.seed}-{number}"'
        if asked.header("If-None-Match") == etag:
            return render(304, {"ETag": etag})
        lines = [f'<li><a href="{path_of(target)}">page {target}</a>' for target in site.inward(number)]
        lines += [f'<li><a href="{place.url(host, tls=asked.tls)}">{host}</a>' for host in site.abroad(number)]
        anchors = "\n".join(lines)
        top = f"<!doctype html><title>Page {number}</title><h1>Page {number}</h1><ul>\n{anchors}\n</ul><p>".encode()
        rest = max(0, site.size - len(top))
        start = number * 97 % 4096
        return render(200, {"Content-Type": HTML, "ETag": etag}, top + prose(site.size)[start : start + rest])


def generated(
    pages: int = 1000,
    links: int = 50,
    size: int = 35_000,
    seed: int = 0,
    *,
    neighbours: Iterable[str] = (),
    outward: int = 0,
    extra: Mapping[str, Behaviour] | None = None,
) -> GeneratedSite:
    """A site of `pages` pages of `size` bytes (more only where the links alone need more) with `links` links each."""
    if pages < 1 or links < 2 or outward > links - 2:
        raise ValueError("a site needs a page, a page two links of its own")
    return GeneratedSite(pages, links, size, seed, tuple(neighbours), outward, extra or {})


def farm_of(
    sites: int,
    pages_each: int = 1000,
    links: int = 50,
    size: int = 35_000,
    seed: int = 0,
    *,
    outward: int = 2,
    extra: Mapping[str, Behaviour] | None = None,
) -> dict[str, GeneratedSite]:
    """`site0.test`, `site1.test` …: a ring in which each site links to the next ones, so that one seed reaches all."""
    hosts = [f"site{number}.test" for number in range(sites)]
    near = range(1, min(sites, 1 + max(1, outward) * 4))
    return {
        host: generated(
            pages_each,
            links,
            size,
            seed + number,
            neighbours=[hosts[(number + step) % sites] for step in near],
            outward=outward,
            extra=extra,
        )
        for number, host in enumerate(hosts)
    }


def reachable(
    sites: Mapping[str, GeneratedSite], seeds: Iterable[str], place: Place, *, tls: bool = False
) -> Iterator[str]:
    """The truth: the URL of every page that a crawl from the first pages of `seeds` must find, each once."""
    known = list(dict.fromkeys(seeds))
    for host in known:  # grows while it is walked
        site = sites[host]
        yield from (place.url(host, path, tls=tls) for path in site.paths)
        known += [other for other in site.all_abroad if other in sites and other not in known]


def path_of(number: int) -> str:
    return f"/p/{number}" if number else "/"


def number_of(path: str) -> int | None:
    """None for a path that no page has, such as another spelling of a number."""
    if path == "/":
        return 0
    digits = path.removeprefix("/p/")
    known = digits is not path and digits.isascii() and digits.isdigit() and not digits.startswith("0")
    return int(digits) if known and len(digits) < 16 else None


@lru_cache(maxsize=8)
def prose(size: int) -> bytes:
    """Prose of no meaning that compresses about as well as prose; every page of that size takes a slice of it."""
    mixed, text, length = 1, [], 0
    while length < size + 4096:
        mixed = (mixed * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        text.append(_WORDS[(mixed >> 16) % len(_WORDS)])
        length += len(text[-1]) + 1
    return " ".join(text).encode()[: size + 4096]
