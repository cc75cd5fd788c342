"""A store URL is taken apart, and nothing in it is guessed."""

import pytest

from outrider.errors import ConfigError
from outrider.ports import FrontierRules
from outrider.stores.place import Place, with_option
from outrider.stores.registry import open_frontier


def test_a_place_knows_its_parts() -> None:
    place = Place("redis://me:s%40cret@host.example:6380/2?pool=20&mode=b")

    assert (place.scheme, place.host, place.port, place.path) == ("redis", "host.example", 6380, "/2")
    assert (place.user, place.password) == ("me", "s@cret")
    assert place.number("pool", 5) == 20
    assert place.text("mode", "a", ("a", "b")) == "b"
    assert place.number("absent", 7) == 7
    place.end()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://me:secret@h:1/2?x=1", "redis://me:***@h:1/2?x=1"),
        ("redis://:secret@h", "redis://:***@h"),
        ("sqlite:///tmp/a.db", "sqlite:///tmp/a.db"),
        ("sqlite:a.db", "sqlite:a.db"),
        ("memory:", "memory:"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert str(Place(url)) == shown


def test_what_is_wrong_is_said_with_the_way_out() -> None:
    with pytest.raises(ConfigError, match="not a store URL"):
        Place("redis://h:port/")
    with pytest.raises(ConfigError, match="pool='many'; expected a whole number from 1 up"):
        Place("redis://h?pool=many").number("pool", 5)
    with pytest.raises(ConfigError, match="mode='c'; expected a or b"):
        Place("redis://h?mode=c").text("mode", "a", ("a", "b"))
    place = Place("redis://h?pol=5")
    place.number("pool", 5)
    with pytest.raises(ConfigError, match="no such option: pol; it knows pool"):
        place.end()


def test_an_unknown_scheme_names_those_known() -> None:
    with pytest.raises(ConfigError, match=r"no frontier is named by mongo:; there are memory:, .*sqlite:"):
        open_frontier("mongo://h", FrontierRules())
    with pytest.raises(ConfigError, match="no frontier is named by nothing:"):
        open_frontier("crawl.db", FrontierRules())


def test_a_cluster_is_named_by_several_hosts() -> None:
    place = Place("kafka://me:s,cret@a.example:1,b.example,[::1]:3/pages")

    assert place.hosts == (("a.example", 1), ("b.example", None), ("::1", 3))
    assert (place.user, place.password, place.path) == ("me", "s,cret", "/pages")
    assert with_option(place.url, "group", "a b") == f"{place.url}?group=a%20b"
    assert str(place) == "kafka://me:***@a.example:1,b.example,[::1]:3/pages"


def test_who_wants_one_host_does_not_get_the_first_of_several() -> None:
    with pytest.raises(ConfigError, match="expected one host, not 2"):
        _ = Place("redis://:secret@a.example,b.example/0").host
