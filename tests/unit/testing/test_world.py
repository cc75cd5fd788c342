"""A world is a value: the same from the same seed, whole, and as large as one likes."""

from itertools import islice

import pytest
from msgspec.structs import replace

from outrider.model.url import Url
from outrider.settings.load import load
from outrider.testing.webfarm.kinds import Place
from outrider.testing.webfarm.world import (
    HERE,
    NOBODY,
    PRESETS,
    SWIFT,
    World,
    demo,
    plain,
    small,
    unfair,
    vast,
    with_waits,
)
from outrider.testing.webfarm.world_answers import href
from outrider.testing.webfarm.world_nodes import Link, Page, Spelling, Spot
from outrider.testing.webfarm.world_site import number_of, target_of

PLACE = Place((HERE,), 8080, 8443)


def page(world: World, number: int, target: str) -> Page:
    site = world.site(world.host(number))
    assert site is not None
    node = site.node(target)
    assert isinstance(node, Page)
    return node


@pytest.mark.parametrize("preset", PRESETS)
def test_the_same_seed_makes_the_same_world(preset: str) -> None:
    first, second, other = PRESETS[preset](7), PRESETS[preset](7), PRESETS[preset](8)

    assert first == second
    assert [page(first, number, "/") for number in range(5)] == [page(second, number, "/") for number in range(5)]
    assert page(first, 1, "/") != page(other, 1, "/")


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 999_999])
def test_a_page_has_one_spelling(number: int) -> None:
    target = target_of(number)

    assert number_of(target) == number
    assert number_of(target + "0/x") is None
    assert number_of("/p/0") is None
    assert number_of(target.replace(str(number), f"0{number}")) in {None, 0}


def test_a_name_that_is_not_of_the_world_has_no_site() -> None:
    world = small(7)

    for host in ("elsewhere.test", "harvest-1.test", "harvest-20.test", "harvest-00.test", "blog.harvest-0.test", ""):
        assert world.site(host) is None, host


def test_a_site_may_have_two_hosts() -> None:
    world = small(7)

    twins = [host for host in world.hosts if world.site(f"blog.{host}")]

    assert twins
    assert Url(f"http://blog.{twins[0]}/").site() == Url(f"http://{twins[0]}/").site()


@pytest.mark.parametrize("spelling", Spelling)
@pytest.mark.parametrize("start", ["/", "/p/1", "/a/b/2.html", "/n/4/", "/deep/down/here"])
@pytest.mark.parametrize("target", ["/", "/p/5", "/n/8/", "/view?id=7"])
def test_however_a_link_is_spelled_it_means_its_target(spelling: Spelling, start: str, target: str) -> None:
    link = Link(Spot("river-2.test", target), spelling)

    text = href(link, start, PLACE, tls=False)

    assert Url(PLACE.url("river-2.test", start)).resolve(text) == PLACE.url("river-2.test", target)


def test_nine_of_ten_links_of_the_bench_lead_to_what_is_known() -> None:
    world = replace(plain(1), sites=20, pages=4_000)
    known: set[Spot] = {Spot(world.host(number)) for number in range(world.sites)}
    links = fresh = 0

    # All sites at once, as a crawl does.
    for target in map(target_of, range(30)):
        for number in range(20):
            found = page(world, number, target).links
            links += len(found)
            new = {link.to for link in found} - known
            fresh += len(new)
            known |= new

    assert links >= 50 * 600
    assert 0.85 < 1 - fresh / links < 0.97


def test_a_vast_world_costs_nothing_before_it_is_looked_at() -> None:
    world = vast(3)

    last = page(world, 9_999, target_of(99))

    assert sum(map(world.pages_of, range(world.sites))) == 1_000_000
    assert last.links
    assert list(islice(world.hosts, 2)) == ["harvest-0.test", "orchard-1.test"]


def test_an_unfair_world_has_one_site_with_most_of_the_pages() -> None:
    world = unfair(0)

    rest = sum(map(world.pages_of, range(1, world.sites)))

    assert world.pages_of(0) > 4 * rest
    assert world.sites == 1_001


def test_refusing_sites_have_an_address_of_their_own() -> None:
    world = demo(7)

    addresses = world.addresses

    assert addresses.pop("*.test") == (HERE,)
    assert set(addresses.values()) == {(NOBODY,)}
    for host in addresses:
        site = world.site(host)
        assert site is not None
        assert site.door is not None
        assert site.door.kind == "refused"


def test_a_world_needs_a_site_and_a_page_a_link() -> None:
    with pytest.raises(ValueError, match="means well"):
        World(sites=0)
    with pytest.raises(ValueError, match="means well"):
        World(hostile_share=1.0)
    with pytest.raises(ValueError, match="link of its own"):
        World(links=2, outward=2)


def test_the_swift_settings_are_settings() -> None:
    settings = load(flags=dict(SWIFT)).settings

    assert settings.delay == SWIFT["delay"]
    assert with_waits(small(1), 2.0).pause == 2.0
