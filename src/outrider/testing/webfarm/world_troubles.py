"""What is special about a site of a world? Each function below is one specialty: nodes, the links to them, a door.

`SPICES` belong to sites that mean well, `TROUBLES` to hostile ones. A new one is a new function in one of the two
tables; the truth, the server and the judge read what it returns and need not know it.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct

from outrider.testing.webfarm.world_nodes import (
    AtFirst,
    Door,
    Fault,
    Faulty,
    Link,
    Listing,
    Node,
    Page,
    Redirect,
    Robots,
    Spelling,
    Spot,
    Status,
)

HUGE_ROBOTS: Final = 520_000
LONGEST_URL: Final = 2_000


class Scene(Struct, frozen=True):
    """What a specialty may build on. `far` is another good site, `shut` a dead one; `pause` scales every wait."""

    host: str
    seed: int
    far: str
    shut: str | None
    pause: float
    trap: int

    def page(self, number: int, links: Iterable[Link] = ()) -> Page:
        return Page((Link(Spot(self.host)), *links), 1_200, number, self.seed)

    def link(self, target: str, spelling: Spelling = Spelling.ROOTED, *, nofollow: bool = False) -> Link:
        return Link(Spot(self.host, target), spelling, nofollow)


class Extra(Struct, frozen=True):
    """`entries` are the links that the first page has to it; `endless` makes up nodes that no table could hold.

    `twin` is what a second host of the site has.
    """

    nodes: Mapping[str, Node] = {}
    entries: tuple[Link, ...] = ()
    robots: Node | None = None
    door: Door | None = None
    feed: str | None = None
    twin: Mapping[str, Node] = {}
    endless: Callable[[str], Node | None] | None = None


Specialty: TypeAlias = Callable[[Scene], Extra]


def _linked(scene: Scene, nodes: Mapping[str, Node], *entries: str) -> Extra:
    return Extra(nodes, tuple(scene.link(target) for target in entries or nodes))


# Sites that mean well.


def nothing(scene: Scene) -> Extra:  # noqa: ARG001  nothing depends on where
    return Extra()


def redirects(scene: Scene) -> Extra:
    """Every code to a page that no link reaches, to one that is known, to one that is missing, and to other sites."""
    codes = (301, 302, 303, 307, 308)
    nodes: dict[str, Node] = {}
    for code in codes:
        nodes[f"/r/{code}"] = Redirect(code, Spot(scene.host, f"/r/end/{code}"))
        nodes[f"/r/end/{code}"] = scene.page(code)
    nodes["/r/known"] = Redirect(301, Spot(scene.host))
    nodes["/r/missing"] = Redirect(302, Spot(scene.host, "/r/nobody"))
    nodes["/r/far"] = Redirect(301, Spot(scene.far))
    if scene.shut is not None:
        nodes["/r/shut"] = Redirect(307, Spot(scene.shut, "/r/from/" + scene.host))
    return _linked(scene, nodes, *(target for target in nodes if not target.startswith("/r/end/")))


def chains(scene: Scene) -> Extra:
    """Five hops are walked, the sixth is one too many; loops and broken Locations end at once."""
    nodes: dict[str, Node] = {}
    for name, hops in (("/c/five", 5), ("/c/six", 6)):
        stations = [name, *(f"{name}/{hop}" for hop in range(1, hops + 1))]
        for here, there in pairwise(stations):
            nodes[here] = Redirect(302, Spot(scene.host, there))
        nodes[stations[-1]] = scene.page(hops)
    nodes["/c/loop"] = Redirect(301, Spot(scene.host, "/c/loop/1"))
    nodes["/c/loop/1"] = Redirect(301, Spot(scene.host, "/c/loop"))
    nodes["/c/self"] = Redirect(302, Spot(scene.host, "/c/self"))
    nodes["/c/nowhere"] = Redirect(302)
    nodes["/c/invalid"] = Redirect(302, raw="http://[not an address")
    nodes["/c/scheme"] = Redirect(302, raw="ftp://files.test/")
    entries = ("/c/five", "/c/six", "/c/loop", "/c/self", "/c/nowhere", "/c/invalid", "/c/scheme")
    return _linked(scene, nodes, *entries)


def disallowed(scene: Scene) -> Extra:
    """A closed subtree with one open page in it, and a redirect that leads into the closed part."""
    nodes: dict[str, Node] = {
        "/private/": scene.page(1, [scene.link("/private/deeper")]),
        "/private/open": scene.page(2),
        "/private/a?b=c": scene.page(3),
        "/into": Redirect(302, Spot(scene.host, "/private/by-redirect")),
        "/private/by-redirect": scene.page(4),
    }
    extra = _linked(scene, nodes, "/private/", "/private/open", "/private/a?b=c", "/into")
    return Extra(extra.nodes, extra.entries, Robots(("/private/",), ("/private/open",)))


def twins(scene: Scene) -> Extra:
    """Two hosts, one site: what one sends to the other is still a hop inside the site."""
    other = "blog." + scene.host
    twin: dict[str, Node] = {"/": scene.page(1, [Link(Spot(other, "/post"))]), "/post": scene.page(2)}
    twin["/landing"] = scene.page(3)
    nodes: dict[str, Node] = {"/blog": Redirect(301, Spot(other, "/landing"))}
    return Extra(nodes, (scene.link("/blog"), Link(Spot(other), Spelling.ABSOLUTE)), twin=twin)


def unhurried(scene: Scene) -> Extra:
    return Extra(robots=Robots(crawl_delay=0.3 * scene.pause))


def listed(scene: Scene) -> Extra:
    """An index of sitemaps, one of them zipped; the pages they list are linked from nowhere."""
    hidden = [f"/hidden/{number}" for number in range(6)]
    spots = tuple(Spot(scene.host, target) for target in hidden)
    nodes: dict[str, Node] = {target: scene.page(number) for number, target in enumerate(hidden)}
    nodes["/sitemap-one.xml"] = Listing("urlset", spots[:3])
    nodes["/sitemap-two.xml.gz"] = Listing("urlset", (*spots[3:], Spot(scene.host)), zipped=True)
    both = Spot(scene.host, "/sitemap-one.xml"), Spot(scene.host, "/sitemap-two.xml.gz")
    nodes["/sitemap.xml"] = Listing("index", both)
    return Extra(nodes, robots=Robots(sitemaps=(Spot(scene.host, "/sitemap.xml"),)))


def fed(scene: Scene) -> Extra:
    news = [f"/news/{number}" for number in range(4)]
    nodes: dict[str, Node] = {target: scene.page(number) for number, target in enumerate(news)}
    nodes["/feed.xml"] = Listing("rss", tuple(Spot(scene.host, target) for target in news))
    return Extra(nodes, feed="/feed.xml")


def unwanted(scene: Scene) -> Extra:
    """What is there and is no page, or is not there; and what no request should be spent on."""
    nodes: dict[str, Node] = {
        "/missing": Status(404),
        "/gone": Status(410),
        "/forbidden": Status(403),
        "/no-content": Status(204),
        "/blob": Faulty(Fault.BLOB),
        "/empty": Faulty(Fault.EMPTY),
        "/binary": Faulty(Fault.BINARY),
        "/paper.pdf": Faulty(Fault.BLOB),
        "/" + "long" * (LONGEST_URL // 4): Status(404),
    }
    return _linked(scene, nodes)


def shy(scene: Scene) -> Extra:
    """A page that only a nofollow link leads to."""
    return Extra({"/shy": scene.page(1)}, (scene.link("/shy", nofollow=True),))


def verbose(scene: Scene) -> Extra:
    """A robots.txt of half a megabyte, with a rule at its top."""
    return Extra(
        {"/closed": scene.page(1)}, (scene.link("/closed"),), Robots(disallow=("/closed",), padding=HUGE_ROBOTS)
    )


def spelled(scene: Scene) -> Extra:
    """One page, linked in every way there is."""
    return Extra({"/one/page": scene.page(1)}, tuple(scene.link("/one/page", how) for how in Spelling))


def broken_page(scene: Scene) -> Extra:
    """One page fails for ever while the others are fine."""
    return _linked(scene, {"/error": Status(500), "/mislabelled": Faulty(Fault.MISLABELLED)})


# Hostile ones.


def dead(scene: Scene) -> Extra:  # noqa: ARG001  nothing depends on where
    return Extra(door=Door("dead"))


def refused(scene: Scene) -> Extra:  # noqa: ARG001  nothing depends on where
    return Extra(door=Door("refused"))


def outage(scene: Scene) -> Extra:  # noqa: ARG001  nothing depends on where
    return Extra(door=Door("requests", times=4))


def blackout(scene: Scene) -> Extra:
    return Extra(door=Door("seconds", seconds=2.0 * scene.pause))


def busy(scene: Scene) -> Extra:
    return Extra(door=Door("busy", times=1, retry_after=max(1, round(scene.pause))))


def flaky(scene: Scene) -> Extra:
    """Some pages fail once."""
    nodes: dict[str, Node] = {f"/flaky/{number}": AtFirst(1, 503, scene.page(number)) for number in range(3)}
    return _linked(scene, nodes)


def late_robots(scene: Scene) -> Extra:
    """No robots.txt at first, so nothing may be asked; then it forbids a page."""
    rules = AtFirst(2, 503, Robots(disallow=("/closed",)))
    return Extra({"/closed": scene.page(1)}, (scene.link("/closed"),), rules)


def no_robots(scene: Scene) -> Extra:  # noqa: ARG001  nothing depends on where
    return Extra(robots=Status(500))


def too_slow(scene: Scene) -> Extra:  # noqa: ARG001  nothing depends on where
    return Extra(robots=Robots(crawl_delay=86_400.0))


def calendar(scene: Scene) -> Extra:
    """A day leads to the next, `trap` times; a world with a larger number never seems to end."""

    def day(target: str) -> Node | None:
        number = target.removeprefix("/calendar/")
        if (
            number == target
            or not number.isdecimal()
            or not 0 <= int(number) < scene.trap
            or str(int(number)) != number
        ):
            return None
        ahead = [scene.link(f"/calendar/{int(number) + step}", Spelling.RELATIVE) for step in (1, 2)]
        return scene.page(int(number), [link for link in ahead if int(link.to.target[10:]) < scene.trap])

    return Extra(entries=(scene.link("/calendar/0"),), endless=day)


def echo(scene: Scene) -> Extra:
    """A relative link that ever leads deeper, until the URL is too long."""
    segment = "again-and-again-and-again-and-again-and-again-and-again/"

    def deeper(target: str) -> Node | None:
        depth, rest = divmod(len(target) - len("/echo/"), len(segment))
        if rest or target != "/echo/" + segment * depth:
            return None
        return scene.page(depth, [scene.link(target + segment, Spelling.RELATIVE)])

    return Extra(entries=(scene.link("/echo/"),), endless=deeper)


def bombs(scene: Scene) -> Extra:
    return _linked(scene, {"/bomb": Faulty(Fault.BOMB), "/headers": Faulty(Fault.HEADER_BOMB)})


def endless_page(scene: Scene) -> Extra:
    return _linked(scene, {"/endless": Faulty(Fault.ENDLESS)})


def slow(scene: Scene) -> Extra:
    return _linked(scene, {"/dribble": Faulty(Fault.DRIBBLE), "/silence": Faulty(Fault.SILENCE)})


def liar(scene: Scene) -> Extra:
    faults = (Fault.GARBAGE, Fault.RESET, Fault.CUT, Fault.BROKEN_CHUNKS)
    return _linked(scene, {f"/{fault}": Faulty(fault) for fault in faults})


SPICES: Final[tuple[Specialty, ...]] = (
    redirects,
    disallowed,
    listed,
    unwanted,
    chains,
    fed,
    unhurried,
    broken_page,
    spelled,
    shy,
    verbose,
    twins,
    nothing,
)
TROUBLES: Final[tuple[Specialty, ...]] = (
    dead,
    busy,
    outage,
    bombs,
    flaky,
    refused,
    calendar,
    liar,
    late_robots,
    slow,
    echo,
    no_robots,
    blackout,
    endless_page,
    too_slow,
)
